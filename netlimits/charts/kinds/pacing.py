"""Chart of constant-bitrate runs: accuracy of the pacing, and service demand by send size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import frames, wording
from netlimits.analysis.pacing import paced
from netlimits.analysis.pacing import pacing as pacing_frame
from netlimits.analysis.pacing import ratios as ratios_frame
from netlimits.analysis.statistics import intervals
from netlimits.analysis.statistics.intervals import ENOUGH
from netlimits.analysis.summary import means, summary
from netlimits.charts._colours import GREY, KNOWN
from netlimits.charts._labels import heading, heading_of_panels
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError
from netlimits.metrics import metric

SIDES = (("local_sd", "sender"), ("remote_sd", "receiver"))
"""Metrics of service demand, each with the side that it belongs to if the client sends.

If the client receives, the sides are swapped.
"""


def pacing(
    frame: pd.DataFrame,
    requested: str | float | None = None,
    of: str | None = None,
    size: str = "send_size",
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw the accuracy of the pacing, and the service demand of both sides, by send size.

    The left panel shows each run's deviation from the requested rate in percent. If a size has six
    runs or more, it also shows the mean with its 95 % interval. The right panel shows the mean
    service demand of each side. Its bars have 95 % intervals if every size has six runs or more.
    Otherwise dots show the runs.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        requested: Requested rate of user data: "1G" or a number in bit/s. By default it is the only
            rate of the runs, or 1 Gbit/s if they have no column `pace_mbps`.
        of: Metric with the sender's rate, by default the one that fits the runs' direction.
        size: Factor with the send size in bytes.
        title: Title of the chart, instead of a standard title.
        pool: Factors that may differ within a size.

    Returns:
        Two panels side by side over the send size in bytes: deviation in percent, and service
        demand in µs/KiB.

    Raises:
        DataError: A column is missing, no run has a service demand, or no run has the rate
            `requested`. Or `requested` is None and the runs have several rates. Or runs of a size
            differ in a factor that is not in `pool`.
    """
    frame, ((size,), pooled) = frames.resolve(frame, size, pool)
    of = of or frames.sent(frame)
    table = pacing_frame(frame, requested, of, size, pooled)
    runs, requested_mbps = paced(frame, requested)
    with style():
        figure, (rates, costs) = blank(7.6, 3.9, 1, 2)
        _rates(rates, runs, frames.column(frame, of).column, size, requested_mbps)
        _costs(costs, runs, size, pooled)
        marks = Marks.from_frame(frame, [size])
        labels = [marks.label(wording.text(value), (value,)) for value in table[size]]
        marks.key(figure)
        for axes in (rates, costs):
            axes.set_xticks(range(len(labels)), labels)
            axes.set_xlim(-0.6, len(labels) - 0.4)
            axes.set_xlabel(wording.title(size))
            axes.grid(axis="x", visible=False)
        worst = float(np.abs(table[["achieved_min", "achieved_max"]] - 1).max(axis=None))
        by = sorted(runs["paced_by"].dropna().unique()) if "paced_by" in runs.columns else []
        how = f", paced by {' and '.join(by)}" if by else ""
        heading(rates, "", f"within {100 * worst:.2g} % of {requested_mbps:,.10g} Mbit/s{how}")
        heading_of_panels(figure, title or "The same bit rate in other packets")
    return figure


def _rates(axes: Axes, runs: pd.DataFrame, column: str, size: str, requested_mbps: float) -> None:
    """Draw the left panel: each run's deviation from the requested rate in percent."""
    furthest = 0.0
    for place, (_, part) in enumerate(frames.groups(runs, [size])):
        off = 100 * (part[column].to_numpy(dtype=float) / requested_mbps - 1)
        across = place + np.linspace(-0.25, 0.25, len(off)) if len(off) > 1 else np.array([place])
        axes.plot(across, off, "o", color=KNOWN["sender"], alpha=0.85)
        furthest = max(furthest, float(np.abs(off).max()))
        interval = intervals.mean(off)
        if len(off) >= ENOUGH:
            axes.errorbar(
                place + 0.32,
                interval.value,
                interval.high - interval.value,
                fmt="_",
                color="#222222",
            )
            furthest = max(furthest, abs(interval.low), abs(interval.high))
    axes.axhline(0, color=GREY, linewidth=1)
    axes.set_ylim(-1.25 * furthest or -1, 1.25 * furthest or 1)
    axes.set_ylabel("Achieved minus requested (%)")


def _costs(axes: Axes, frame: pd.DataFrame, size: str, pool: Sequence[str]) -> None:
    """Draw the right panel: the mean service demand of each side at each size.

    The legend has the ratio of service demand between the smallest and the largest size.
    """
    here = set(frames.measured(frame))
    sides = [side for _, side in SIDES]
    if frames.direction(frame) == "recv":
        sides.reverse()
    named = zip((name for name, _ in SIDES), sides, strict=True)
    measured_sides = [(name, side) for name, side in named if {name, f"netperf_{name}"} & here]
    for place, (name, side) in enumerate(measured_sides):
        table = means(summary(frame, name, size, pool=pool))
        ratio = 1.0
        if len(table) > 1:
            ratios = ratios_frame(frame, of=[name], size=size, pool=pool)["value"]
            ratio = float(ratios.iloc[0]) if len(ratios) else np.nan
        x = np.arange(len(table)) + 0.36 * (place - (len(measured_sides) - 1) / 2)
        errors = [table["value"] - table["low"], table["high"] - table["value"]]
        enough = bool((table["n"] >= ENOUGH).all())
        axes.bar(
            x,
            table["value"],
            0.34,
            color=KNOWN[side],
            yerr=errors if enough else None,
            error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#222222"},
            label=f"{side}: ratio {ratio:.1f}",
            hatch="//" if side == "receiver" else "",
            edgecolor="white",
            linewidth=0,
        )
        if not enough:
            column = frames.column(frame, name).column
            for at, (_, part) in zip(x, frames.groups(frame, [size]), strict=True):
                axes.plot([at] * len(part), part[column], "o", color="#222222", ms=3)
    if not measured_sides:
        raise DataError("no run has a service demand per KiB, which the right panel shows")
    axes.set_ylabel(f"Service demand ({metric('local_sd').unit})")
    axes.set_ylim(0, 1.25 * axes.get_ylim()[1])  # leave room for the legend above the bars
    axes.legend(loc="upper right")
    sizes = [wording.text(value) for value in table[size]]
    ratio_of = f"; ratio: {sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else ""
    shown = "95 % intervals" if enough else "dots: runs"
    heading(axes, "", f"Lower is better; {shown}{ratio_of}")
