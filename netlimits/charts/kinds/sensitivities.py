"""Chart of the sensitivity of throughput to each resource, with a panel for each workload."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlimits.charts._colours import BLUE, GREY, VERMILION
from netlimits.charts._labels import heading
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError

_COLOURS = {"proven": VERMILION, "ruled out": BLUE, "open": GREY}
_NEEDED = ("resource", "sensitivity", "low", "high", "state")
SHOWN = (-1.0, 2.0)
"""Range of the x-axis, where bars and intervals are cut off.

The interval of a sensitivity from only two blocks may reach from -20 to 20.
"""


def sensitivities(frame: pd.DataFrame, title: str | None = None) -> Chart:
    """Draw the sensitivity of throughput to each resource, with its 95 % interval.

    Each workload has a panel. If a sensitivity is near 1, the resource limits the data rate. If it
    is near 0, the resource does not.

    Args:
        frame: The frame that `nl.sensitivities` returned.
        title: Title of the chart, instead of a standard title.

    Returns:
        A panel for each workload: a row for each resource, over Δ ln throughput / Δ ln resource.

    Raises:
        DataError: The frame has other columns, or no resource was changed.
    """
    if lacking := [name for name in _NEEDED if name not in frame.columns]:
        raise DataError(
            f"no column is called {', '.join(lacking)}; draw the frame that `nl.sensitivities` "
            "returns for a campaign or its runs"
        )
    if frame.empty:
        raise DataError("no resource was changed: there are no sensitivities to draw")
    keys = list(frame.columns[: list(frame.columns).index("resource")])
    parts = list(frame.groupby(keys, sort=False)) if keys else [((), frame)]
    with style():
        figure, panels = blank(6.8, 0.9 + sum(0.45 + 0.3 * len(part) for _, part in parts),
                               len(parts))  # fmt: skip
        for axes, (key, part) in zip(panels, parts, strict=True):
            _panel(axes, part, ", ".join(map(str, key)))
        panels[-1].set_xlabel("Δ ln throughput / Δ ln resource")
        heading(
            panels[0],
            title or "How throughput follows each resource",
            "1: the resource limits; 0: it does not; lines: 95 % intervals, cut off at the edges",
        )
    return figure


def _panel(axes: Axes, part: pd.DataFrame, name: str) -> None:
    """Draw a workload: a bar for each resource, with its state (proven, ruled out or open)."""
    places = np.arange(len(part))[::-1]
    values = part["sensitivity"].clip(*SHOWN)
    colours = [_COLOURS[state] for state in part["state"]]
    axes.barh(places, values, 0.6, color=colours)
    axes.hlines(places, part["low"].clip(*SHOWN), part["high"].clip(*SHOWN), color="#222222", lw=1)
    for place, state, colour in zip(places, part["state"], colours, strict=True):
        axes.annotate(state, (1, place), xycoords=("axes fraction", "data"), xytext=(4, 0),
                      textcoords="offset points", va="center", color=colour)  # fmt: skip
    axes.set_yticks(places, list(part["resource"]))
    axes.set_xlim(*SHOWN)
    axes.set_ylim(-0.6, len(part) - 0.4)
    for at in (0, 1):
        axes.axvline(at, color=GREY, linewidth=0.8, linestyle="-" if at == 0 else ":")
    axes.grid(axis="y", visible=False)
    axes.set_ylabel(name)
