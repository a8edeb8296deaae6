"""Draw the ratios of a comparison with their intervals, with a row for each configuration."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from netlimits.analysis import wording
from netlimits.analysis.comparisons.verdicts import band
from netlimits.charts._colours import BLUE, GREY, ORANGE, VERMILION
from netlimits.charts._labels import heading, log_axis
from netlimits.charts._style import blank, style
from netlimits.metrics import metric

MOST = 30
"""Maximum number of configurations to draw; the table has all configurations."""

NARROW = 5
"""Ratio of the axis' ends below which the logarithmic axis has ticks at equal differences."""

_LOOKS = {
    "better": (BLUE, "^"),
    "worse": (VERMILION, "v"),
    "same": (GREY, "s"),
    "differ": (ORANGE, "D"),
}


def ratios(table: pd.DataFrame, of: str, threshold: float, title: str) -> Figure | None:
    """Draw the ratios of the metric `of` in a comparison; return None if it has no ratio."""
    part = table[(table["metric"] == of) & table["ratio"].notna() & (table["ratio"] > 0)]
    rows = part.to_dict("records")[:MOST]
    if not rows:
        return None
    factors = table.attrs["factors"]
    names = [", ".join(wording.phrases([row[n] for n in factors], factors)) for row in rows]
    with style():
        figure, (axes,) = blank(6.8, 1.3 + 0.3 * len(rows), 1)
        axes.axvspan(*band(metric(of).better, threshold), color=GREY, alpha=0.15, lw=0)
        axes.axvline(1, color=GREY, lw=0.8)
        for place, row in enumerate(rows):
            _mark(axes, place, row)
        axes.set_yticks(range(len(rows)), [name or "all runs" for name in names])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xscale("log")
        low, high = _limits(rows, threshold)
        axes.set_xlim(low, high)
        log_axis(axes.xaxis)
        if high / low < NARROW:
            axes.xaxis.set_major_locator(MaxNLocator(7))
        axes.set_xlabel(f"{metric(of).title}: ratio with interval (above 1 is better)")
        more = f" · {len(part) - MOST} more in the table" if len(part) > MOST else ""
        differ = " ◆ sessions differ" if any(r["verdict"] == "differ" for r in rows) else ""
        marks = f"▲ better ▼ worse ■ same ○ unclear{differ}"
        heading(axes, title, f"{marks}{more}")
    return figure


def _mark(axes: Axes, place: int, row: Mapping[Hashable, Any]) -> None:
    color, marker = _LOOKS.get(row["verdict"], (GREY, "o"))
    if not math.isnan(row["low"]):
        axes.plot([row["low"], row["high"]], [place, place], color=color, lw=1.5)
    unclear = row["verdict"] not in _LOOKS
    axes.plot(
        [row["ratio"]], [place], marker, color=color, mfc="white" if unclear else color, ms=6, ls=""
    )


def _limits(rows: list[dict[Hashable, Any]], threshold: float) -> tuple[float, float]:
    """Return the limits of the x-axis.

    The axis shows all ratios between 1/1000 and 1000, and at least twice the threshold on both
    sides of 1. A wide interval is cut off at 1/5 and at 5 times its ratio.
    """
    ends = [1 - 2 * threshold, 1 + 2 * threshold]
    for row in rows:
        ends.append(row["ratio"])
        if not math.isnan(row["low"]):
            ends += [max(row["low"], row["ratio"] / 5), min(row["high"], row["ratio"] * 5)]
    low, high = max(min(ends), 1e-3), min(max(ends), 1e3)
    return low * 0.97, high * 1.03
