"""The chart of runs over time: panels, a line for each end, runs behind their median, the strip."""

from __future__ import annotations

import pandas as pd
import pytest

from netlimits import charts
from netlimits.errors import DataError


def frame(*runs: int) -> pd.DataFrame:
    """Runs of which the sender was limited by its window from second 1 on."""
    rows = []
    for run in runs or (1,):
        for place in range(1, 11):
            time = 0.2 * place
            common = {"run": run, "time_s": time, "interval_s": 0.2}
            limit = "receive window" if time > 1 else ""
            rows += [
                {**common, "end": "local", "role": "sender", "rtt_us": 1000.0 * run,
                 "cpu_user_pct": 5.0, "cpu_system_pct": 20.0, "limited_by": limit},
                {**common, "end": "remote", "role": "receiver", "throughput_mbps": 10.0 * run,
                 "limited_by": ""},
            ]  # fmt: skip
    table = pd.DataFrame(rows)
    table.attrs = {"changes": [(1.0, 20.0, 10.0)], "clock_error_s": 0.0}
    return table


def test_each_panel_is_drawn_above_the_strip():
    figure = charts.timeline(frame(), of=["throughput", "rtt", "cpu"])
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["Throughput\n(Mbit/s)", "Round-trip time\n(ms)", "CPU time\n(% of all)", ""]
    assert figure.axes[-1].get_xlabel() == "Time since the first data (s)"
    (line,) = [each for each in figure.axes[1].lines if len(each.get_xdata()) > 2]
    assert set(line.get_ydata()) == {1.0}


def test_seconds_are_shaded_by_what_limited_them():
    strip = charts.timeline(frame(), of="throughput").axes[-1]
    assert [text.get_text() for text in strip.get_legend().get_texts()] == ["receive window"]
    shaded = [bar.get_extents() for each in strip.collections for bar in each.get_paths()]
    assert min(box.x0 for box in shaded) == pytest.approx(1.0)
    assert [tick.get_text() for tick in strip.get_yticklabels()] == ["receiver", "sender"]


def test_a_change_of_throughput_is_marked():
    figure = charts.timeline(frame(), of="throughput")
    (mark,) = [each for each in figure.axes[0].lines if set(each.get_xdata()) == {1.0}]
    assert mark.get_linestyle() == "--"
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert any("from 1.0 s on 10 instead of 20 Mbit/s" in text for text in texts)


def test_several_runs_are_faint_behind_their_median():
    figure = charts.timeline(frame(1, 2, 3), of="throughput")
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    assert [line.get_alpha() for line in drawn] == [0.3, 0.3, 0.3, None]
    assert set(drawn[-1].get_ydata()) == {20.0}


def test_what_cannot_be_drawn_is_an_error():
    with pytest.raises(DataError, match="run 7 does not exist"):
        charts.timeline(frame(), run=7)
    with pytest.raises(DataError, match="have no drops"):
        charts.timeline(frame(), of="drops")
