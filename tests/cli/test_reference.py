"""What `netlimits describe` tells is what the program goes by, and all of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from click.testing import CliRunner
from folders import EXAMPLE

import netlimits as nl
from netlimits import charts
from netlimits.cli.describe import describe
from netlimits.cli.figures import figures
from netlimits.cli.shared import reference
from netlimits.cli.table import table
from netlimits.errors import InputError
from netlimits.experiment import resolution, schema
from netlimits.experiment.around_schema import AROUND
from netlimits.metrics import METRICS
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS


def call(*words: object, columns: int = 100) -> str:
    outcome = CliRunner().invoke(describe, [str(w) for w in words], env={"COLUMNS": str(columns)})
    if outcome.exception:
        raise outcome.exception
    return outcome.output


def test_what_it_tells_needs_no_pandas() -> None:
    code = "import sys, netlimits.cli.shared.reference; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def keys(part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key at any depth of a schema."""
    for name, deeper in part.get("properties", {}).items():
        yield name, deeper
        yield from keys(deeper)
    for branch in part.get("anyOf", ()):
        yield from keys(branch)
    for keyword in ("additionalProperties", "items"):
        if isinstance(part.get(keyword), Mapping):
            yield from keys(part[keyword])


PARTS = {
    **{s.name: s.schema for s in SETTINGS},
    **{t.name: schema.with_common_options(t.schema) for t in TOOLS},
    **AROUND,
}


@pytest.mark.parametrize("name", PARTS)
def test_every_key_of_a_setting_or_tool_is_told_with_its_default(name: str) -> None:
    rows = {
        row[0].rpartition(".")[2]: row
        for section in reference.described(name)
        if section.head == reference.OPTION
        for row in section.rows
    }
    for key, part in keys(PARTS[name]):
        assert key in rows
        if "default" in part:
            assert rows[key][2] == str(part["default"]).replace("False", "false").replace(
                "True", "true"
            )
        for value in part.get("enum", ()):
            assert str(value) in rows[key][1]


def test_every_key_of_an_experiment_is_told() -> None:
    (whole, *_) = reference.described("experiment")
    told = {row[0] for row in whole.rows}
    assert told >= set(schema.structure()["properties"]) - {"report"}
    assert {"repeat.replicates", "repeat.order", "repeat.seed", "pace.rate"} <= told
    assert {"settings[].roles", "settings[].when", "bulk.streams"} <= told
    printed = call("experiment")
    for name in (*(s.name for s in SETTINGS), *(t.name for t in TOOLS), *charts.KINDS):
        assert f"\n{name} " in printed


def test_every_option_of_a_chart_is_told_with_its_functions_default() -> None:
    for kind in charts.CHARTS:
        (section,) = [s for s in reference.described(kind.name) if s.title == f"chart {kind.name}"]
        assert [row[0] for row in section.rows] == list(kind.options)
    told = {row[0]: row[2] for row in reference.described("spread")[0].rows}
    assert told == {
        "of": "throughput", "by": "send_size", "series": "", "bound_mbps": "", "title": "",
        "pool": "",
    }  # fmt: skip
    assert [row[0] for row in reference.described("charts")[0].rows] == [*charts.KINDS]


def test_every_column_of_results_csv_is_told() -> None:
    campaign = nl.open(EXAMPLE)
    factors = resolution.names(campaign.experiment)
    for column in campaign.frame().columns:
        bare = column.removeprefix("netperf_")
        if column not in factors and bare in {m.column for m in METRICS} | set(reference.IDENTITY):
            assert reference.described(bare)
    assert "µs CPU/KiB" in call("local_sd")
    assert "µs CPU/KiB" in call("local_sd_us_per_kib")


def test_everything_can_be_described_and_fits_the_terminal() -> None:
    for topic in reference.topics():
        for section in reference.described(topic):
            assert section.rows, topic
            assert all(len(row) == len(section.head) for row in section.rows)
    for topic in ("experiment", "netperf", "settings", "checks", "hosts", "offload"):
        for columns in (80, 132):
            assert max(map(len, call(topic, columns=columns).splitlines())) <= columns, topic


def test_a_name_that_is_several_things_is_told_as_each() -> None:
    assert [s.title for s in reference.described("packet_rate")] == ["chart packet_rate", "metric"]


def test_a_class_of_limits_says_what_proves_it() -> None:
    (section,) = reference.described("path-cap")
    assert section.rows == (
        ("path-cap", "A cap on the path", "a second stream; 0.85 to 1.05 times the throughput "
         "proves it"),
    )  # fmt: skip
    assert section.rows[0] in reference.described("verdicts")[0].rows
    assert "(by hand)" in call("cpu-quota")


def test_what_was_meant_is_said() -> None:
    with pytest.raises(InputError, match="'percentile' to describe; did you mean percentiles"):
        reference.described("percentile")
    with pytest.raises(InputError, match="there are experiment, hosts, settings"):
        reference.described("zzzz")


def test_programs_get_json() -> None:
    assert "qdisc" in json.loads(call("--json"))
    (section,) = json.loads(call("mtu", "--json"))
    assert section["rows"][0][1].startswith("whole number from 68")
    assert "percentiles" in call()


@pytest.mark.parametrize("command", [table, figures])
def test_of_list_prints_the_metrics_of_these_results(command: Any) -> None:
    printed = (
        CliRunner().invoke(command, [str(EXAMPLE), "--of", "list"], env={"COLUMNS": "160"}).output
    )
    first, _, *rows = printed.splitlines()
    assert first == "metrics here"
    frame = nl.open(EXAMPLE).frame()
    listed = [row.split()[1] for row in rows]
    assert "local_sd_us_per_kib" in listed
    assert set(listed) <= set(frame.columns)
    assert [m.column for m in METRICS if m.column in frame] == [
        c for c in listed if "netperf" not in c
    ]
