from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import netlimits as nl
from netlimits.analysis.history import history, last_changes
from netlimits.errors import DataError


def runs(levels: list[float], length: int = 64, column: str = "throughput_mbps") -> pd.DataFrame:
    """Three runs of each campaign; the campaigns stand in the frame in reverse order of time."""
    chance = np.random.default_rng(len(levels))
    rows = [
        {
            "campaign": f"night-{day:02d}",
            "started": pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(days=day),
            "length": length,
            column: level * (1 + 0.01 * chance.standard_normal()),
        }
        for day, level in enumerate(levels)
        for _ in range(3)
    ]
    return pd.DataFrame(rows[::-1])


def test_a_step_is_reported_in_its_configuration_with_its_direction():
    frame = pd.concat([runs([1000] * 10 + [900] * 10), runs([500] * 20, length=8192)])
    table = history(frame, "throughput")
    (change,) = table[table["verdict"] != ""].to_dict("records")
    assert (change["length"], change["campaign"], change["verdict"]) == (64, "night-10", "worse")
    assert change["change_pct"] == pytest.approx(-10, abs=0.7)
    assert table[table["length"] == 64]["campaign"].tolist() == [
        f"night-{n:02d}" for n in range(20)
    ]
    assert last_changes(table)["verdict"].tolist() == ["worse"]


def test_lower_is_better_where_it_is_and_a_later_change_is_the_last():
    table = history(runs([10] * 10 + [12] * 8 + [9] * 8, column="local_sd_us_per_kib"), "local_sd")
    assert table["verdict"][lambda v: v != ""].tolist() == ["worse", "better"]
    assert last_changes(table)["verdict"].tolist() == ["better"]


def test_a_change_below_the_threshold_is_none():
    frame = runs([1000] * 15 + [980] * 15)
    assert (history(frame, "throughput")["verdict"] == "").all()
    assert (history(frame, "throughput", threshold=0.01)["verdict"] != "").sum() == 1


def test_errors_say_what_is_missing():
    with pytest.raises(DataError, match="a column 'campaign'"):
        history(runs([1] * 6).drop(columns="campaign"))
    frame = runs([1000] * 8)
    with pytest.raises(DataError, match="threshold"):
        history(frame, threshold=3)


def test_the_chart_has_a_line_for_each_level_and_names_the_change():
    chart = nl.charts.history(runs([1000] * 10 + [900] * 10), of="throughput")
    (axes,) = chart.axes
    assert axes.get_ylabel() == "Mbit/s"
    texts = [text.get_text() for text in axes.texts]
    assert any("night-10" in text for text in texts)
    assert len([line for line in axes.lines if len(line.get_xdata()) == 2]) >= 2
