"""The chart of runs in the order of the plan: a point for each run, a curve for each series."""

from __future__ import annotations

import pandas as pd

from netlimits import charts

FRAME = pd.DataFrame(
    {"run": [3, 1, 2, 4], "offloads": ["on", "on", "off", "off"], "throughput_mbps": [9, 8, 5, 4]}
)


def test_runs_are_drawn_in_order():
    (axes,) = charts.run_order(FRAME, "throughput", "offloads").axes
    drawn = {tuple(line.get_xdata()): tuple(line.get_ydata()) for line in axes.lines}
    assert drawn == {(1, 3): (8, 9), (2, 4): (5, 4)}
    assert axes.get_xlabel() == "Run"
    assert axes.get_ylabel() == "Throughput (Mbit/s)"


def test_a_frame_without_run_numbers_keeps_its_order():
    table = charts.KINDS["run_order"].alternative(FRAME.drop(columns="run"), {"of": "throughput"})
    assert table["run"].tolist() == [1, 2, 3, 4]
