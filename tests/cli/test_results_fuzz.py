"""`table` and `figures` with any options, over real archives and tables: never a traceback.

The archives are those that the notebooks open, one of every file of published data, and frames
whose factors are called as our own columns are. Whatever is asked for ends in output or in one of
our errors.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import recorded

from netlimits.charts import KINDS
from netlimits.cli.figures import figures
from netlimits.cli.table import table
from netlimits.errors import NetlimitsError
from netlimits.reproduce import published

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
OURS = ["n", "metric", "value", "low", "high", "statistic", "mean", "var", "median", "runs", "min"]
METRICS = [
    *("throughput", "local_sd", "remote_sd", "highest_average", "mean_latency", "retransmits"),
    *("local_cpu_util", "LOCAL_SD", "segments_per_ack", "throughput_mbps", "protocol", "", "n"),
    *("transaction_rate", "local_send_throughput", "netperf_local_sd", "elapsed_time"),
]
FACTORS = [
    *("transport", "send_size", "protocol", "offloads", "mtu", "tool", "run", "config", "status"),
    *("block", "started", "throughput_mbps", "segments_per_ack", "tso", "nothing", "reason"),
    *OURS,
]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders and files of runs: campaigns, published tables, and a table with our own names."""
    base = tmp_path_factory.mktemp("archives")
    folders = []
    for name in ("example-campaign", "example-campaign-mtu1500"):
        shutil.copytree(ROOT / "notebooks" / name, base / name)
        folders.append(base / name)
    folders.append(recorded(base / "recorded", failed=[1]).path)
    folders.append(recorded(base / "failed", failed=[1, 2, 3, 4]).path)
    for name in ("udp-send-size", "packets-per-second", "ack-overhead", "turin-lengths"):
        path = base / f"{name}.csv"
        published.table(name).to_csv(path, index=False)
        folders.append(path)
    rows = [
        {**{name: (place + row) % 3 for place, name in enumerate(OURS)}, "send_size": 64 << row % 3,
         "throughput_mbps": 100.0 + row, "local_sd_us_per_kib": 1.0 / (1 + row)}
        for row in range(12)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(base / "ours.csv", index=False)
    (base / "empty.csv").write_text("mtu,throughput_mbps\n")
    (base / "words.csv").write_text("mtu,throughput_mbps\n1500,fast\n9000,\n")
    return [*folders, base / "ours.csv", base / "empty.csv", base / "words.csv"]


def options(*named: tuple[str, list[str], int]) -> st.SearchStrategy[list[str]]:
    """Words of a command line: each option up to so many times."""
    parts = [
        st.lists(st.sampled_from(values), max_size=most).map(
            lambda chosen, option=option: [w for value in chosen for w in (option, value)]
        )
        for option, values, most in named
    ]
    return st.tuples(*parts).map(lambda lists: [word for words in lists for word in words])


def ends_well(command, argv: list[str]) -> None:
    outcome = CliRunner().invoke(command, argv)
    plt.close("all")
    if outcome.exception and not isinstance(outcome.exception, NetlimitsError | SystemExit):
        raise AssertionError(f"{argv}: {outcome.exception!r}") from outcome.exception


SOME = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TABLE = options(
    ("--of", METRICS, 3),
    ("--rows", FACTORS, 1),
    ("--columns", FACTORS, 2),
    ("--pool", FACTORS, 2),
    ("--improvement", ["8192 over 1024", "1 over 0", "on over off", "a over a", "x"], 1),
    ("--window", ["0.5", "2", "99"], 1),
    ("--format", ["text", "csv", "json", "html", "markdown"], 1),
)
CHART = options(
    ("--chart", list(KINDS), 1),
    ("--of", METRICS, 2),
    ("--series", FACTORS, 2),
    ("--pool", FACTORS, 2),
    ("--window", ["0.5", "99"], 1),
    ("--run", ["1", "3", "99"], 1),
)


@SOME
@given(where=st.integers(0, 10), words=TABLE, flag=st.booleans())
def test_any_table_is_made_or_refused_in_words(archives, where, words, flag):
    ends_well(table, [str(archives[where]), *words, *(["--intervals"] if flag else [])])


@SOME
@given(where=st.integers(0, 10), words=CHART)
def test_any_chart_is_drawn_or_refused_in_words(archives, tmp_path_factory, where, words):
    out = str(tmp_path_factory.mktemp("charts"))
    ends_well(figures, [str(archives[where]), "--out", out, "--format", "svg", *words])


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("form", ["text", "csv"])
def test_a_factor_may_be_called_as_a_column_of_ours(archives, name, form):
    ours = str(archives[8])
    pool = [word for other in [*OURS, "send_size"] if other != name for word in ("--pool", other)]
    words = [ours, "--of", "throughput", "--rows", name, *pool, "--format", form]
    outcome = CliRunner().invoke(table, words)
    assert outcome.exit_code == 0, outcome.exception


def test_the_options_that_were_seen_to_break_it(archives, tmp_path):
    example = str(archives[0])
    for words in (["--rows", "transport"], ["--columns", "send_size"], ["--rows", "offloads"]):
        outcome = CliRunner().invoke(table, [example, *words])
        assert outcome.exit_code == 0, (words, outcome.exception)
    ends_well(figures, [example, "--chart", "acks", "--of", "throughput", "--out", str(tmp_path)])
