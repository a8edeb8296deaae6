"""Boxes and bars: one for each level, whose name is a word."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from netlimits import charts
from netlimits.errors import DataError


def runs(idle: float = 10.0, busy: float = 20_000.0) -> pd.DataFrame:
    rows = [
        {"load": load, "status": "ok", "latency_p99_us": level * share}
        for load, level in (("idle", idle), ("both", busy))
        for share in (0.9, 1.0, 1.0, 1.1, 1.2)
    ]
    return pd.DataFrame(rows)


def test_boxes_hold_the_middle_half_and_every_run_on_an_axis_of_decades() -> None:
    chart = charts.boxes(runs(), "latency_p99", "load")
    (axes,) = chart.axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["both", "idle"]
    box = axes.patches[0]
    assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((20_000, 22_000))
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert sorted(dots[1].get_xdata()) == pytest.approx([9, 10, 10, 11, 12])
    assert charts.boxes(runs(idle=15_000), "latency_p99", "load").axes[0].get_xscale() == "linear"


def test_bars_reach_from_zero_to_the_mean_with_its_interval() -> None:
    chart = charts.bars(runs(), "latency_p99", "load", title="Busy")
    (axes,) = chart.axes
    both, idle = axes.patches
    assert (both.get_x(), both.get_width()) == pytest.approx((0, 20_800))
    assert idle.get_width() == pytest.approx(10.4)
    assert axes.get_title(loc="left") == "Busy"
    table = charts.KINDS["bars"].alternative(runs(), {"of": "latency_p99", "series": "load"})
    first = table.iloc[0]
    assert (first["load"], first["n"], first["mean"]) == ("both", 5, pytest.approx(20_800))
    deviation = np.std(20_000 * np.array([0.9, 1, 1, 1.1, 1.2]), ddof=1)
    half = 2.7764 * deviation / 5**0.5  # Student's t of four degrees of freedom
    assert first["high"] - first["mean"] == pytest.approx(half, rel=1e-4)


def test_one_level_alone_is_no_comparison() -> None:
    with pytest.raises(DataError, match="series: name a factor"):
        charts.bars(runs().drop(columns="load"), "latency_p99")
    assert charts.boxes(runs().query("load == 'idle'"), "latency_p99").axes
