"""Exported figures, read by parsers that are not ours."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from folders import EXAMPLE, hostile
from hypothesis import given
from hypothesis import strategies as st
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import netlimits as nl
from netlimits.cli import COMMANDS
from netlimits.cli.export import export
from netlimits.export import FORMATS
from netlimits.export.base import Runs
from netlimits.metrics import IDENTITY, METRICS


def exported(folder: Path, form: str) -> str:
    outcome = CliRunner().invoke(export, [str(folder), "--format", form])
    if outcome.exception:
        raise outcome.exception
    return outcome.output


def gauges(text: str) -> dict[str, dict[int, float]]:
    """Metric -> run -> value."""
    return {
        family.name: {int(s.labels["run"]): s.value for s in family.samples}
        for family in text_string_to_metric_families(text)
    }


def test_the_command_offers_every_format() -> None:
    assert f"[{'|'.join([*FORMATS, 'parquet'])}]" in CliRunner().invoke(export, ["--help"]).output
    assert "export" in COMMANDS


def test_the_commands_help_imports_no_pandas() -> None:
    code = "import sys; import netlimits.cli.export; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_figure_comes_back_from_every_format() -> None:
    frame = nl.open(EXAMPLE).frame().set_index("run")
    columns = [m.column for m in METRICS if m.column in frame]
    parsed = gauges(exported(EXAMPLE, "openmetrics"))
    lines = [parse_line(line) for line in exported(EXAMPLE, "influx").splitlines()]
    tree = json.loads(exported(EXAMPLE, "json"))
    assert len(lines) == len(tree["runs"]) == len(frame) == 18
    for run, row in frame.iterrows():
        (line,) = [point for point in lines if point["tags"]["run"] == str(run)]
        (entry,) = [item for item in tree["runs"] if item["run"] == run]
        for column in columns:
            if math.isnan(row[column]):
                assert run not in parsed[f"netlimits_{column}"]
                assert column not in line["fields"]
                assert column not in entry["figures"]
                continue
            assert parsed[f"netlimits_{column}"][int(str(run))] == row[column]
            assert line["fields"][column] == row[column]
            assert entry["figures"][column] == row[column]
        assert line["tags"]["transport"] == entry["factors"]["transport"] == row["transport"]
        assert line["time"] == pytest.approx(row["started"].timestamp() * 1e9, abs=1e3)


def test_units_stand_where_each_format_has_them() -> None:
    families = {f.name: f for f in text_string_to_metric_families(exported(EXAMPLE, "openmetrics"))}
    assert families["netlimits_local_sd_us_per_kib"].unit == "us_per_kib"
    assert "µs CPU/KiB" in families["netlimits_local_sd_us_per_kib"].documentation
    assert families["netlimits_throughput_mbps"].unit == "mbps"
    metrics = json.loads(exported(EXAMPLE, "json"))["metrics"]
    assert metrics["local_sd_us_per_kib"] == {
        "name": "local_sd",
        "title": "Send service demand",
        "unit": "µs CPU/KiB",
        "better": "lower",
    }


def test_a_run_that_failed_is_told_and_has_no_figure(tmp_path: Path) -> None:
    folder = hostile(tmp_path / "results").path
    text = exported(folder, "openmetrics")
    parsed = gauges(text)
    assert [run for run, ok in parsed["netlimits_run_ok"].items() if not ok] == [6, 12]
    assert set(parsed["netlimits_throughput_mbps"]) == set(range(1, 13)) - {6, 12}
    lines = [parse_line(line) for line in exported(folder, "influx").splitlines()]
    failed = [line for line in lines if line["fields"]["status"] == "failed"]
    assert len(lines) == 12
    assert [line["tags"]["run"] for line in failed] == ["6", "12"]
    assert all("<script>" in line["fields"]["reason"] for line in failed)
    for form in FORMATS:
        assert not {"\x1b", "\x07", "\0", "\u202e"} & set(exported(folder, form))


TEXT = st.text(min_size=1, max_size=20)


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT, TEXT.filter(lambda name: name not in IDENTITY))
def test_any_text_is_one_label_of_one_run(values: list[str], name: str, factor: str) -> None:
    if factor in {m.column for m in METRICS}:
        return
    frame = pd.DataFrame(
        {factor: values, "throughput_mbps": [float(n) for n in range(len(values))]}
    )
    runs = Runs(name, frame, [factor])
    text = "".join(FORMATS["openmetrics"](runs))
    (ok, throughput) = text_string_to_metric_families(text)
    assert len(ok.samples) == len(throughput.samples) == len(values)
    assert [s.value for s in throughput.samples] == frame["throughput_mbps"].tolist()
    lines = "".join(FORMATS["influx"](runs)).split("\n")[:-1]
    assert [parse_line(line)["fields"]["throughput_mbps"] for line in lines] == [
        s.value for s in throughput.samples
    ]
    tree = json.loads("".join(FORMATS["json"](runs)))
    assert [list(run["factors"].values()) for run in tree["runs"]] == [[v] for v in values]
