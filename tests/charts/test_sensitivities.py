"""The chart of sensitivities: one bar a resource, a panel a workload, its state beside it."""

from __future__ import annotations

import pandas as pd
import pytest

from netlimits import charts
from netlimits.errors import DataError

TABLE = pd.DataFrame(
    [("tcp", "sender CPU", 0.9, 0.7, 1.1, "proven"), ("tcp", "streams", 0.1, -9.0, 9.0, "open"),
     ("rr", "round trip", 0.0, -0.1, 0.1, "ruled out")],
    columns=["workload", "resource", "sensitivity", "low", "high", "state"],
)  # fmt: skip


def test_a_panel_a_workload_and_a_bar_with_its_state_a_resource():
    figure = charts.sensitivities(TABLE)
    tcp, rr = figure.axes
    assert [label.get_text() for label in tcp.get_yticklabels()] == ["sender CPU", "streams"]
    assert [bar.get_width() for bar in tcp.patches] == [0.9, 0.1]
    assert {"proven", "open"} <= {text.get_text() for text in tcp.texts}
    assert (tcp.get_ylabel(), rr.get_ylabel()) == ("tcp", "rr")
    low, high = tcp.get_xlim()
    assert high - low < 4  # an interval of few blocks does not dwarf the bars


def test_a_frame_that_cannot_be_drawn_is_an_error():
    runs = pd.DataFrame({"run": [1], "status": ["ok"], "throughput_mbps": [9.0]})
    with pytest.raises(DataError, match=r"no column is called resource, sensitivity.*nl\.sens"):
        charts.sensitivities(runs)
    with pytest.raises(DataError, match="no resource was changed"):
        charts.sensitivities(TABLE[:0])
