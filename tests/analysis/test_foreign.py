"""Any table as a frame of runs: metrics, units and factors by the names that others gave them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import netlimits as nl
from netlimits.errors import DataError, InputError

ROWS = [("1K", 100.0, 10.0), ("1K", 102.0, 11.0), ("8K", 940.0, 41.5), ("8K", 938.0, 42.0)]


def table(**more: object) -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=["size", "Mbit/s down", "cpu"]).assign(**more)


def test_a_foreign_table_becomes_a_frame_that_analyses_and_charts_take(tmp_path: Path):
    table().to_csv(tmp_path / "x.csv", index=False)
    metrics = {"Mbit/s down": "throughput", "cpu": "local_cpu"}
    frame = nl.read_csv(tmp_path / "x.csv", metrics=metrics)
    assert list(frame.columns) == ["size", "throughput_mbps", "local_cpu_pct"]
    summary = nl.summary(frame, of=["throughput", "local_cpu"], rows="size")
    means = summary[summary["statistic"] == "mean"] if "statistic" in summary else summary
    assert 101.0 in means["value"].tolist()
    assert nl.charts.percentiles(frame, of="throughput", series="size").axes
    compared = nl.compare(frame, frame.assign(throughput_mbps=frame["throughput_mbps"] * 2))
    assert compared["ratio"].round(6).tolist()[:2] == [2.0, 2.0]


def test_columns_that_are_neither_are_named_in_one_warning_and_left_out():
    frame = table(comment=["a", "b", "c", "d"], at=[1.5, 2.25, 3.1, 4.7], note="x")
    with pytest.warns(UserWarning, match="neither metric nor factor: cpu, comment, at;") as told:
        read = nl.read_csv(frame, metrics={"Mbit/s down": "throughput"})
    assert len(told) == 1
    assert list(read.columns) == ["size", "note", "throughput_mbps"]
    ignored = nl.read_csv(
        frame,
        metrics={"Mbit/s down": "throughput"},
        factors=["size"],
        ignore=["comment", "at", "note", "cpu"],
    )
    assert list(ignored.columns) == ["size", "throughput_mbps"]


@pytest.mark.parametrize(
    ("column", "values", "units", "expected"),
    [
        ("Gbit/s down", [0.5, 9.4], {}, [500.0, 9400.0]),
        ("rate (MB/s)", [10, 20], {}, [80.0, 160.0]),
        ("bits_per_second", [1e9, 2e9], {}, [1000.0, 2000.0]),
        ("rate", [1, 2], {"rate": "Gbit/s"}, [1000.0, 2000.0]),
        ("rate", [1, 2], {}, [1.0, 2.0]),
        ("rate", ["9.41 Gbits/sec", "850 Mbits/sec"], {}, [9410.0, 850.0]),
    ],
)
def test_units_are_those_of_the_argument_the_name_or_the_values(column, values, units, expected):
    frame = pd.DataFrame({"size": [1, 1], column: values})
    read = nl.read_csv(frame, metrics={column: "throughput"}, units=units)
    assert read["throughput_mbps"].tolist() == pytest.approx(expected)


def test_own_metrics_have_their_title_unit_and_direction_everywhere():
    load = nl.Metric("page_load", title="Page load time", unit="ms", better="lower")
    frame = pd.DataFrame({"browser": ["a", "a", "b", "b"], "plt [s]": [1.0, 1.1, 2.0, 2.1]})
    read = nl.read_csv(frame, metrics={"plt [s]": load})
    assert read["page_load_ms"].tolist() == [1000.0, 1100.0, 2000.0, 2100.0]
    chart = nl.charts.bars(read, of="page_load", series="browser")
    assert chart.axes[0].get_xlabel() == "Page load time (ms)"
    compared = nl.compare(read, read.assign(page_load_ms=read["page_load_ms"] / 2), "page_load")
    assert (compared["ratio"] > 1).all(), "lower is better"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metrics": {"Mbit down": "throughput"}}, InputError, "did you mean Mbit/s down"),
        ({"metrics": {"cpu": "thruput"}}, InputError, "no metric is called 'thruput'"),
        ({"metrics": {}}, DataError, "no column is a metric"),
        ({"metrics": {"size": "throughput"}}, DataError, "row 1: throughput must be a number"),
        (
            {"metrics": {"cpu": "throughput", "Mbit/s down": "throughput"}},
            InputError,
            "several columns are throughput",
        ),
        (
            {"metrics": {"cpu": "local_cpu"}, "factors": ["cpu"]},
            InputError,
            "cpu is named in metrics and in factors",
        ),
        (
            {"metrics": {"cpu": "local_cpu"}, "units": {"cpu": "Mbit/s"}},
            InputError,
            "'Mbit/s' cannot be converted to %",
        ),
        (
            {"metrics": {"cpu": "local_cpu"}, "units": {"cpu": "furlongs"}},
            InputError,
            "no unit is called 'furlongs'",
        ),
    ],
)
def test_errors_name_the_column_and_what_to_do(arguments, error, message):
    with pytest.raises(error, match=message):
        nl.read_csv(table(), **arguments)


def test_columns_called_as_ours_keep_our_meaning_only_if_they_have_it():
    frame = table(run=[1, 2, 1, 2], status="PASS")
    with pytest.warns(UserWarning, match="cpu"):
        read = nl.read_csv(frame, metrics={"Mbit/s down": "throughput"})
    assert list(read.columns) == ["size", "run_", "status_", "throughput_mbps"]
    frame = table(run=[1, 2, 3, 4], status=["ok", "ok", "failed", "ok"])
    with pytest.warns(UserWarning, match="cpu"):
        read = nl.read_csv(frame, metrics={"Mbit/s down": "throughput"})
    assert list(read.columns) == ["run", "status", "size", "throughput_mbps"]
    assert len(nl.analysis.frames.usable(read)) == 3


def test_a_rate_below_zero_is_refused():
    with pytest.raises(DataError, match="row 2: -1: a rate cannot be below 0"):
        nl.read_csv(pd.DataFrame({"a": [1, -1]}), metrics={"a": "throughput"})


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([20, -9659], "column c, row 2: -9659: CPU cannot be below 0 %"),
        ([120, 20], "column c, row 1: 120: CPU of a machine cannot exceed 100 %"),
        (["20 %", "-3 %"], "column c, row 2: -3: CPU cannot be below 0 %"),
    ],
)
def test_cpu_outside_its_range_is_refused(values: list[object], problem: str):
    with pytest.raises(DataError, match=problem):
        nl.read_csv(pd.DataFrame({"c": values}), metrics={"c": "local_cpu"})
