from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from netlimits.archive import reader
from netlimits.cli.explain import explain
from netlimits.cli.figures import figures
from netlimits.cli.table import table
from netlimits.errors import DataError, InputError
from netlimits.reproduce import published

REPORT = (
    {
        "table": "summary",
        "of": ["throughput", "local_sd"],
        "rows": "send_size",
        "improvement": "8192 over 1024",
    },
    {"chart": "percentiles", "of": "throughput", "series": ["send_size"], "title": "Rates"},
    {"chart": "percentiles", "of": "local_sd", "series": ["send_size"]},
)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign's folder whose frame is the report's UDP table."""
    opened = SimpleNamespace(
        frame=lambda columns=None, coded=False: published.table("udp-send-size"),
        experiment=SimpleNamespace(report=REPORT),
        large=False,
        left=lambda frame: (0, 12),
        path=tmp_path,
    )
    monkeypatch.setattr(reader, "open", lambda path: opened)
    return tmp_path


def call(command: object, *words: object) -> Result:
    outcome = CliRunner().invoke(command, [str(w) for w in words])  # type: ignore[arg-type]
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome


def test_the_tables_that_the_experiment_names_are_printed(results: Path) -> None:
    printed = call(table, results).output
    assert "improvement, 8192 over 1024   4.35" in printed
    assert "Send service demand" in printed


def test_options_replace_what_the_experiment_says(results: Path) -> None:
    printed = call(table, results, "--of", "remote_sd", "--intervals").output
    assert "Receive service demand" in printed
    assert "Throughput" not in printed
    assert "improvement" in printed
    assert "[" in printed


def test_a_comparison_of_a_value_that_no_run_has_is_an_error(results: Path) -> None:
    with pytest.raises(DataError, match="send_size has no value '1023'; its values are"):
        call(table, results, "--improvement", "send_size=8192 over 1023")


def test_a_chart_that_cannot_be_drawn_does_not_stop_the_others(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = reader.open(results)
    broken = {"chart": "percentiles", "of": "transaction_rate"}
    opened.experiment.report = (broken, *REPORT)
    outcome = call(figures, results, "--format", "png")
    assert outcome.exit_code == 1
    assert "not drawn: chart percentiles: " in outcome.output
    assert (results / "figures").stat().st_mode & 0o077 == 0, "as all that a campaign leaves"
    assert (results / "figures" / "percentiles-throughput.png").exists()
    assert (results / "figures" / "percentiles-local_sd.png").exists()
    opened.experiment.report = (broken,)
    with pytest.raises(DataError, match="chart percentiles"):
        call(figures, results)


def test_a_file_is_written_and_named(results: Path) -> None:
    out = results / "table.json"
    assert call(table, results, "--format", "json", "--out", out).output == f"{out}\n"
    assert json.loads(out.read_text())["rows"][0]["metric"] == "throughput_mbps"
    with pytest.raises(InputError, match="there is no folder"):
        call(table, results, "--out", results / "no" / "t.txt")


@pytest.mark.long
def test_the_charts_that_the_experiment_names_are_drawn_and_named(results: Path) -> None:
    printed = call(figures, results).output.split()
    expected = [
        results / "figures" / f"percentiles-{of}.{form}"
        for of in ("throughput", "local_sd")
        for form in ("png", "svg")
    ]
    assert printed == [str(path) for path in expected]
    assert all(path.stat().st_size > 1000 for path in expected)


def test_of_draws_a_chart_each_with_the_experiment_s_series(results: Path) -> None:
    out = results / "elsewhere"
    words = ["--of", "remote_sd", "--of", "throughput", "--format", "svg", "--out", out]
    printed = call(figures, results, *words).output.split()
    assert printed == [str(out / f"percentiles-{of}.svg") for of in ("remote_sd", "throughput")]


def test_a_table_of_the_reader_s_own_needs_no_options(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("mtu,throughput_mbps\n1500,941.4\n9000,990.0\n")
    assert (
        call(table, path).output == call(table, path, "--of", "throughput", "--rows", "mtu").output
    )
    assert "941" in call(table, path).output
    call(figures, path, "--of", "throughput", "--series", "mtu", "--format", "svg")
    assert (tmp_path / "figures" / "percentiles-throughput.svg").is_file()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere"], "nowhere: there is no such folder or file"),
        (["runs.csv", "--chart", "zzz"], "no chart is called 'zzz'; known: percentiles, spread"),
    ],
)
def test_wrong_input_is_one_line(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text("mtu,throughput_mbps\n1500,941.4\n")
    with pytest.raises(DataError, match=complaint):
        call(figures, *words)


def test_the_kinds_of_chart_are_listed(tmp_path: Path) -> None:
    lines = call(figures, tmp_path, "--chart", "list").output.splitlines()
    assert lines[0].split()[0] == "percentiles"


def test_runs_without_an_outcome_are_counted(results: Path, monkeypatch: pytest.MonkeyPatch):
    opened = reader.open(results)
    opened.left = lambda frame: (2, 8)
    printed = call(table, results).output
    assert f"netlimits: 2 of 8 runs have no outcome: netlimits status {results}" in printed


def test_an_infinite_figure_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("size,throughput_mbps\n1,9\n1,inf\n1,10\n")
    for command in (figures, table):
        with pytest.raises(DataError, match="throughput_mbps is infinite in"):
            call(command, path, "--of", "throughput")


def test_words_in_disturbed_pct_are_no_share(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("size,throughput_mbps,disturbed_pct\n1,9,none\n1,11,4\n1,10,none\n")
    for words in ((figures, "--pool", "disturbed_pct"), (table,)):
        result = call(words[0], path, "--of", "throughput", *words[1:])
        assert result.exit_code == 0, result.exception
    assert "1 of 3 runs had other traffic on their link, up to 4 %" in result.output
    assert call(explain, path).exit_code == 0


@pytest.mark.long
def test_what_is_loaded_is_gone_through_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("size,throughput_mbps\n1,9\n1,11\n")
    code = (
        "import atexit, gc, os, sys\n"
        "from pathlib import Path\n"
        "atexit.register(lambda: print(gc.get_freeze_count() - before > 10_000))\n"
        "from netlimits.cli.shared.results import opened\n"
        "opened(Path(sys.argv[1]))\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 50_000)\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'])\n"
        "before = gc.get_freeze_count()\n"
        "import matplotlib.figure\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    ran = subprocess.run(
        [sys.executable, "-c", code, path], env=environment, capture_output=True, check=True
    )
    assert ran.stdout.decode().split() == ["True", "True", "1", "True"]


def test_names_may_stand_in_one_option_with_commas(results: Path) -> None:
    apart = call(table, results, "--of", "remote_sd", "--of", "throughput").output
    assert call(table, results, "--of", "remote_sd, throughput").output == apart
    folder = results / "drawn"
    call(figures, results, "--of", "throughput,local_sd", "--format", "png", "--out", folder)
    assert {path.name for path in folder.iterdir()} == {
        "percentiles-throughput.png",
        "percentiles-local_sd.png",
    }


def test_a_campaign_that_is_no_duet_leaves_its_report_s_side_out(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = call(table, results).output
    monkeypatch.setitem(REPORT[0], "columns", "side")
    assert call(table, results).output == plain
