"""Exported figures, read by parsers that are not ours."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from folders import EXAMPLE, hostile
from hypothesis import given
from hypothesis import strategies as st
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from recorded import rewritten

import netlimits as nl
from netlimits.cli import COMMANDS
from netlimits.cli.export import export
from netlimits.errors import DataError
from netlimits.export import FORMATS, OF_PROFILES, SECOND_FILES
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
    for form in (name for name in FORMATS if name not in ("otava", *OF_PROFILES)):
        assert not {"\x1b", "\x07", "\0", "\u202e"} & set(exported(folder, form))


TEXT = st.text(min_size=1, max_size=20)


@pytest.mark.long
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


def nights(count: int) -> Runs:
    """Two configurations over some nights."""
    rows = [
        {
            "campaign": f"night-{night}",
            "started": pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(days=night),
            "size": size,
            "throughput_mbps": 100.0 * size + night,
            "local_sd_us_per_kib": 1.5,
        }
        for night in range(count)
        for size in (1, 2)
    ]
    return Runs("nightly", pd.DataFrame(rows), ["campaign", "size"])


def test_otava_gets_a_row_for_each_campaign_and_a_test_for_each_configuration() -> None:
    runs = nights(3)
    table = pd.read_csv(io.StringIO("".join(FORMATS["otava"](runs))))
    assert table["time"].tolist()[0] == "2026-01-01 00:00:00 +0000"
    assert table["campaign"].tolist() == ["night-0", "night-1", "night-2"]
    assert table["throughput_mbps size=2"].tolist() == [200, 201, 202]
    _, config = SECOND_FILES["otava"]
    tests = yaml.safe_load("".join(config(runs, "x.csv")))["tests"]
    assert list(tests) == ["size=1", "size=2"]
    test = tests["size=2"]
    assert (test["type"], test["file"], test["time_column"]) == ("csv", "x.csv", "time")
    assert test["metrics"]["local_sd"] == {"column": "local_sd_us_per_kib size=2", "direction": -1}
    assert {m["column"] for t in tests.values() for m in t["metrics"].values()} <= {*table.columns}


def test_otava_needs_times_and_a_configuration_in_all_campaigns() -> None:
    runs = nights(2)
    with pytest.raises(DataError, match="the time of its runs is unknown"):
        list(FORMATS["otava"](Runs("x", runs.frame.drop(columns="started"), runs.factors)))
    apart = runs.frame[
        runs.frame["size"] == runs.frame["campaign"].map({"night-0": 1, "night-1": 2})
    ]
    with pytest.raises(DataError, match="no configuration with a metric is in all campaigns"):
        list(FORMATS["otava"](Runs("x", apart, runs.factors)))


def test_opensearch_gets_an_action_and_a_document_for_each_run(tmp_path: Path) -> None:
    out = tmp_path / "runs.ndjson"
    told = CliRunner().invoke(export, [str(EXAMPLE), "--format", "opensearch", "--out", str(out)])
    assert told.output.splitlines() == [str(out), str(tmp_path / "runs.template.json")]
    assert out.read_bytes().endswith(b"\n")
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    actions, documents = lines[::2], lines[1::2]
    frame = nl.open(EXAMPLE).frame().set_index("run")
    assert len(documents) == len(frame)
    assert len({action["index"]["_id"] for action in actions}) == len(frame)
    template = json.loads((tmp_path / "runs.template.json").read_text())
    properties = template["template"]["mappings"]["properties"]
    assert actions[0]["index"]["_index"].startswith(template["index_patterns"][0].rstrip("*"))
    for document in documents:
        row = frame.loc[document["run"]]
        assert document["figures"]["throughput_mbps"] == row["throughput_mbps"]
        assert (document["throughput"], document["tputMetric"]) == (row["throughput_mbps"], "Mb/s")
        assert document["timestamp"].startswith(row["started"].isoformat()[:19])
        assert (document["driver"], document["messageSize"]) == ("netperf", row["send_size"])
        numbers = {n for n, v in document.items() if isinstance(v, int) and n != "shared_kernel"}
        assert numbers <= {*properties}, "whole numbers of fields without a type may be fractions"


def test_documents_of_several_campaigns_have_ids_of_their_own_whatever_else_is_exported(
    tmp_path: Path,
) -> None:
    folders = [shutil.copytree(EXAMPLE, tmp_path / name) for name in ("a", "b")]
    for folder in folders[1:]:
        rewritten_id(folder)
    both = CliRunner().invoke(export, [*map(str, folders), "--format", "opensearch"]).output
    alone = CliRunner().invoke(export, [str(folders[1]), "--format", "opensearch"]).output

    def ids(text: str) -> list[str]:
        return [json.loads(line)["index"]["_id"] for line in text.splitlines()[::2]]

    assert len(set(ids(both))) == 36
    assert ids(both)[18:] == ids(alone)


def rewritten_id(folder: Path) -> None:
    """Give a copy of a campaign an id of its own, as another campaign would have."""
    path = folder / "campaign.json"
    before = path.read_bytes()
    after = re.sub(rb'"id": "[0-9a-f]{32}"', b'"id": "' + b"7" * 32 + b'"', before)
    path.write_bytes(after)
    digests = [hashlib.sha256(text).hexdigest().encode() for text in (before, after)]
    rewritten(folder, lambda body: body.replace(*digests))


def test_profiles_are_folded_stacks_or_speedscopes_document() -> None:
    stacks = {"sender": {"p;main;f_[k]": 3, "p;main": 1}, "receiver": {"q;f_[k]": 2}}
    runs = Runs("x", pd.DataFrame(), (), stacks=stacks)
    assert "".join(FORMATS["folded"](runs)).splitlines() == [
        "sender;p;main 1", "sender;p;main;f_[k] 3", "receiver;q;f_[k] 2",
    ]  # fmt: skip
    document = json.loads("".join(FORMATS["speedscope"](runs)))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    first, second = document["profiles"]
    assert [[names[n] for n in sample] for sample in first["samples"]] == [
        ["p", "main", "f_[k]"], ["p", "main"],
    ]  # fmt: skip
    assert (first["weights"], first["endValue"], second["name"]) == ([3, 1], 4, "receiver")
