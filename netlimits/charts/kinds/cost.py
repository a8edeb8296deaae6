"""Chart of time per packet against packet size, with a cost per packet and a cost per KiB."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import frames, wording
from netlimits.analysis.cost import TIME_PER_SEND, UNFIT, packet_times
from netlimits.analysis.cost import cost as cost_frame
from netlimits.charts._colours import GREY, KNOWN
from netlimits.charts._labels import heading, heading_of_panels, thousands
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.metrics import Direction, metric

PACKET_SHADE, BYTE_SHADE = "#D4D4D4", "#F0F0F0"
"""Greys of the areas for the costs per packet and per KiB. Colours distinguish the ends."""

BYTE_HATCH, HATCH_LINE = "....", "#C4C4C4"


def cost(
    frame: pd.DataFrame,
    of: str | Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
    series: str | Sequence[str] = (),
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw time per packet against packet size, with the fitted costs per packet and per KiB.

    Each metric is a column of panels, and each combination of `series` is a row. Runs that differ
    in more factors than the size belong in different series.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metrics: service demands per KiB, or `time_per_send`.
        size: Factor with the bytes of data in a packet.
        series: Factors whose combinations are the rows of panels.
        title: Title of the chart, instead of a standard title.
        pool: Factors that may differ within a panel.

    Returns:
        Panels of time per packet in ns over data per packet in bytes.

    Raises:
        DataError: The data cannot separate the two costs, for example because there is only one
            size, or because there are too few runs.
    """
    names = frames.as_list(of)
    frame, (keys, (size,), pooled) = frames.resolve(frame, series, size, pool)
    direction = frames.direction(frame)
    marks = Marks.from_frame(frame, [*keys, size])
    parts = frames.groups(frames.usable(frame), keys)
    with style():
        lone = 1.2 if len(names) == 1 else 0
        figure, panels = blank(
            3.6 * len(names) + lone, 0.9 + 3.0 * len(parts), len(parts), len(names)
        )
        top = 0.0
        for row, (key, part) in enumerate(parts):
            which = ", ".join(wording.phrases(key, keys))
            for column, name in enumerate(names):
                axes = panels[row * len(names) + column]
                costs = cost_frame(part, name, size, pool=pooled).iloc[0].to_dict()
                times = packet_times(part, name, size)
                top = max(top, _panel(axes, times, size, name, costs, which, direction))
                highest = times.groupby(size)["ns"].max()
                points = zip(highest.index, highest, strict=True)
                marks.at_points(axes, (((*key, x), x, y) for x, y in points))
        for place, axes in enumerate(panels):
            axes.set_ylim(0, top * 1.18)
            thousands(axes, "xy")
            if place >= len(panels) - len(names):
                axes.set_xlabel(f"Data per packet ({wording.FACTOR_UNITS.get(size, 'bytes')})")
            if place % len(names) == 0:
                axes.set_ylabel("Time per packet (ns)")
        marks.key(figure)
        heading_of_panels(figure, title or "The cost of a packet and of its bytes")
    return figure


def _panel(
    axes: Axes,
    times: pd.DataFrame,
    size: str,
    name: str,
    row: dict[Hashable, Any],
    which: str,
    direction: Direction,
) -> float:
    """Draw the runs of a metric, the fitted line, and the two costs as areas.

    Return the highest value in the panel.
    """
    x = np.array([0.0, float(times[size].max()) * 1.06])
    packet = np.full(2, row["packet_ns"])
    line = packet + row["kib_ns"] * x / 1024
    axes.fill_between(x, 0, packet, color=PACKET_SHADE, linewidth=0)
    axes.fill_between(
        x, packet, line, facecolor=BYTE_SHADE, edgecolor=HATCH_LINE, hatch=BYTE_HATCH, linewidth=0
    )
    axes.plot(x, packet, color="#222222", linewidth=0.8, linestyle=":")
    axes.plot(x, line, color="#222222", linewidth=1.2)
    colour = KNOWN["receiver" if name.startswith("remote") == (direction != "recv") else "sender"]
    axes.plot(times[size], times["ns"], "o", color=colour, markeredgecolor="white", markersize=5.5)
    axes.set_xlim(*x)
    half = (row["packet_ns_high"] - row["packet_ns_low"]) / 2
    axes.text(
        x[1] * 0.97,
        row["packet_ns"] * 0.5,
        f"per packet\n{row['packet_ns']:.0f} ± {half:.0f} ns (95 %)",
        ha="right",
        va="center",
    )
    half = (row["kib_ns_high"] - row["kib_ns_low"]) / 2
    axes.text(
        0.03,
        0.96,
        f"per KiB {row['kib_ns']:.0f} ± {half:.0f} ns (95 %)",
        transform=axes.transAxes,
        va="top",
        bbox={"facecolor": BYTE_SHADE, "edgecolor": "none", "pad": 2.5},
    )
    what = "Time per send" if name == TIME_PER_SEND else metric(name).towards(direction).title
    axes.set_title("")
    unfit = "a straight line does not fit" if row["lack_of_fit_p"] < UNFIT else ""
    heading(axes, "", which, what, f"{row['n']} runs", unfit)
    axes.tick_params(colors=GREY)
    return float(max(line.max(), times["ns"].max()))
