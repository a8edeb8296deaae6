"""Chart of a metric over several campaigns, with a panel for each configuration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import frames, wording
from netlimits.analysis.history import CAMPAIGN, THRESHOLD
from netlimits.analysis.history import history as history_frame
from netlimits.analysis.statistics.changes import ENOUGH
from netlimits.charts._colours import BLUE, GREY, VERMILION
from netlimits.charts._labels import heading, thousands
from netlimits.charts._style import Chart, blank, style

PANELS = 8
"""Maximum number of configurations to draw. Configurations with a change come first."""

TICKS = 8
"""Maximum number of campaigns with a label on the x-axis."""


def history(
    frame: pd.DataFrame,
    of: str = "throughput",
    series: str | Sequence[str] = (),
    threshold: float = THRESHOLD,
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw a metric over several campaigns, with its levels and change points.

    Args:
        frame: Frame with a row for each run of several campaigns. The column `campaign` has the
            name of the campaign.
        of: Metric to draw.
        series: Factors whose combinations are the panels.
        threshold: Smallest change to mark, as a share (0.03 for 3 %).
        title: Title of the chart, by default made from the metric.
        pool: Factors that may differ within a panel.

    Returns:
        A panel for each configuration: the metric in its unit over the campaigns in order of time.

    Raises:
        DataError: There is no column `campaign`, no run is ok, or runs of a campaign differ in a
            factor that is not in `series` or `pool`.
    """
    table = history_frame(frame, of, series, threshold, pool)
    keys = list(table.columns[: list(table.columns).index(CAMPAIGN)])
    metric = frames.metric_for(frame, of, [])
    started = dict(zip(table[CAMPAIGN], table["started"], strict=True))
    order = list(dict.fromkeys(table.sort_values("started", kind="stable")[CAMPAIGN]))
    every = frames.groups(table, keys)
    parts = sorted(every, key=lambda part: not (part[1]["verdict"] != "").any())[:PANELS]
    with style():
        chart, panels = blank(7.4, 1.5 + 1.7 * len(parts), len(parts))
        for axes, (key, part) in zip(panels, parts, strict=True):
            _panel(axes, [float(order.index(n)) for n in part[CAMPAIGN]], part)
            if keys:
                axes.set_title(", ".join(wording.phrases(key, keys)), fontsize=9, loc="right")
            axes.set_ylabel(metric.unit or metric.title)
            thousands(axes)
        ticks = range(0, len(order), -(-len(order) // TICKS))
        names = [_name(order[tick], started[order[tick]]) for tick in ticks]
        panels[-1].set_xticks(list(ticks), names)
        panels[-1].tick_params("x", rotation=30)
        heading(
            panels[0],
            title or f"{metric.title} over {len(order)} campaigns",
            metric.direction,
            "dots: campaigns, lines: levels",
            "axes do not begin at 0",
            f"too few campaigns for changes, which need {ENOUGH}" * (len(order) < ENOUGH),
            f"{len(parts)} of {len(every)} configurations" * (len(parts) < len(every)),
        )
    return chart


def _panel(axes: Axes, places: Sequence[float], part: pd.DataFrame) -> None:
    """Draw a configuration: dots for campaigns, lines for levels, marks for changes."""
    part = part.reset_index(drop=True)
    axes.plot(places, part["mean"], "o", color=BLUE, ms=3.5, alpha=0.6, mew=0)
    begins = [0, *part.index[part["verdict"] != ""], len(part)]
    for begin, end in pairwise(begins):
        level = float(part["level"].iloc[begin])
        axes.plot([places[begin] - 0.4, places[end - 1] + 0.4], [level, level], color=BLUE)
        if begin:
            row = part.iloc[begin]
            colour = VERMILION if row["verdict"] == "worse" else GREY
            axes.axvline(places[begin] - 0.5, color=colour, lw=0.9, linestyle=(0, (2, 2)), zorder=0)
            axes.annotate(
                f"{row[CAMPAIGN]}: {row['change_pct']:+.1f} %",
                (places[begin] - 0.5, 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, -3),
                textcoords="offset points",
                va="top",
                fontsize=8,
                color=colour,
            )
    low, high = part["mean"].min(), part["mean"].max()
    room = 0.3 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_ylim(low - room, high + 1.5 * room)


def _name(campaign: object, started: pd.Timestamp) -> str:
    return str(campaign) if pd.isna(started) else f"{started:%Y-%m-%d}"
