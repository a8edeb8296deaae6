"""Chart of searches: the load of each trial, and the bounds of the highest load that holds."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from netlimits.analysis import frames, wording
from netlimits.analysis.statistics.search import BLOCK, limits, searched, trials
from netlimits.charts._colours import BLUE, GREY, VERMILION
from netlimits.charts._labels import heading, log_axis
from netlimits.charts._style import Chart, blank, style

_DOUBLED = 2.0
"""Ratio of the highest load to the lowest above which the y-axis of a panel is logarithmic."""


def search(frame: pd.DataFrame, title: str | None = None) -> Chart:
    """Draw the load of each trial of searches, and whether the load held.

    Each configuration has a panel with the trials of its searches in order.

    Args:
        frame: Frame with a row for each trial (`campaign.frame()`).
        title: Title of the chart, instead of a standard title.

    Returns:
        A panel for each configuration: the load over the number of the trial.

    Raises:
        DataError: No run is a trial of a search.
    """
    table = trials(frame)
    of = searched(frame)
    keys = list(table.columns[: list(table.columns).index(BLOCK)])
    results = list(limits(frame))
    parts = frames.groups(table, keys)
    with style():
        figure, panels = blank(6.8, 1.1 + 2.2 * len(parts), len(parts))
        for axes, (key, part) in zip(panels, parts, strict=True):
            _panel(axes, part, of)
            for about, bounds in results:
                if all(about[name] == value for name, value in zip(keys, key, strict=True)):
                    for load, colour in ((bounds.held, BLUE), (bounds.missed, VERMILION)):
                        if load is not None:
                            axes.axhline(load, color=colour, linewidth=0.8, linestyle=":")
            named = (f"{wording.name(n)} {wording.text(v)}" for n, v in zip(keys, key, strict=True))
            axes.set_ylabel("\n".join([wording.title(of), *named]))
        panels[-1].set_xlabel("Trial")
        heading(
            panels[0],
            title or f"The highest {wording.name(of)} that holds",
            "dotted: the highest load that held, and the lowest above it that did not",
        )
        _legend(panels[0])
    return figure


def _panel(axes: Axes, part: pd.DataFrame, of: str) -> None:
    """Draw the trials of a configuration, with a line through the trials of each search."""
    for _, runs in frames.groups(part, [BLOCK]):
        axes.plot(runs["trial"], runs[of], color=GREY, linewidth=0.6, zorder=1)
    for held, marker, colour in ((True, "o", BLUE), (False, "x", VERMILION)):
        those = part[part["held"] == held]
        axes.plot(those["trial"], those[of], marker, color=colour, zorder=2)
    if part[of].max() > _DOUBLED * part[of].min():
        axes.set_yscale("log")
        log_axis(axes.yaxis)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _legend(axes: Axes) -> None:
    marks = [
        Line2D([], [], marker=marker, color=colour, linestyle="", label=label)
        for label, marker, colour in (("held", "o", BLUE), ("did not hold", "x", VERMILION))
    ]
    axes.legend(handles=marks, loc="upper right")
