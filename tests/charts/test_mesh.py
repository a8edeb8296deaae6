"""The charts of a mesh: what they draw, and what their heading names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from netlimits import charts
from netlimits.experiment.mesh.pairs import mesh


def frame(slow: str = "") -> pd.DataFrame:
    chance = np.random.default_rng(3)
    rows = [
        (
            sender,
            receiver,
            block,
            900 * chance.lognormal(0, 0.02) * (0.6 if receiver == slow else 1),
        )
        for block in range(1, 7)
        for sender, receiver in mesh({"hosts": 10}).pairs
    ]
    return pd.DataFrame(rows, columns=["sender", "receiver", "block", "throughput_mbps"])


def texts(chart) -> str:
    return " ".join(text.get_text() for axes in chart.axes for text in axes.texts)


def test_each_pair_is_a_cell_at_its_sender_and_receiver():
    chart = charts.mesh_links(frame(slow="hosts-4"))
    (image,) = chart.axes[0].images
    cells = np.ma.filled(image.get_array(), np.nan)
    assert cells.shape == (10, 10)
    assert np.isfinite(cells).sum() == 45
    column = cells[:, 3]
    assert (column[np.isfinite(column)] < -25).all()
    assert "outliers: hosts-4 as receiver" in texts(chart).replace("\n", " ")


@pytest.mark.long
def test_an_outlier_of_the_hosts_has_a_ring():
    chart = charts.mesh_hosts(frame(slow="hosts-4"))
    rings = [line for line in chart.axes[0].lines if line.get_markerfacecolor() == "none"]
    assert sum(len(line.get_xdata()) for line in rings) == 1
    assert "no outliers" in texts(charts.mesh_hosts(frame()))
