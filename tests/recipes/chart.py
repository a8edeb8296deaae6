"""A bar for each run, and a level that a toy would reach."""

from __future__ import annotations

import pandas as pd

from netlimits.analysis import frames
from netlimits.charts._labels import heading
from netlimits.charts._style import Chart, blank, style


def toybars(
    frame: pd.DataFrame,
    of: str = "throughput",
    toy_level: float | None = None,
    title: str | None = None,
) -> Chart:
    """A metric's runs as bars.

    Raises DataError when the metric is not there.
    """
    metric = frames.column(frame, of)
    with style():
        figure, (axes,) = blank()
        axes.bar(range(len(frame)), frame[metric.column], label=metric.label)
        if toy_level is not None:
            axes.axhline(toy_level)
        heading(axes, title or "Toys")
    return figure


def numbers(frame: pd.DataFrame, of: str = "throughput") -> pd.DataFrame:
    """The table beside it."""
    return frame[[frames.column(frame, of).column]]
