"""Chart of packets per second, throughput and time per packet against send size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from netlimits.analysis import frames, wording
from netlimits.analysis.packet_rate import Regimes, regimes
from netlimits.analysis.packet_rate import packet_rate as packet_rate_frame
from netlimits.charts._colours import BLUE, GREY
from netlimits.charts._labels import heading, log_axis, log_ticks
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError

SHADES = {"packets": "#DCE7F1", "bytes": "#FAEFDB"}


@dataclass(frozen=True, slots=True)
class _Panel:
    column: str
    title: str
    per: float
    log: bool = False


MILLIONS = 1e5
"""Packets/s from which the axis is in millions. For lower rates it is in thousands."""
THOUSANDS = _Panel("packet_rate_pps", "Packets/s (thousands)", 1e3)
PANELS = (
    _Panel("packet_rate_pps", "Packets/s (millions)", 1e6),
    # logarithmic, since throughput grows a thousandfold from sends of bytes to sends of kilobytes
    _Panel("throughput_mbps", "Throughput (Mbit/s)", 1, log=True),
    _Panel("packet_ns", "Time per packet (µs)", 1e3),
)


def packet_rate(
    frame: pd.DataFrame,
    of: str | None = None,
    size: str = "send_size",
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw packets/s, throughput and time per packet against send size, with the fitted regimes.

    One shade marks the sizes at which packets per second are the limit, another the sizes at which
    bytes are. Dotted lines are the ends of the 95 % interval of the size at which a shade ends. If
    the runs do not determine the regimes, only the points are drawn, and the subtitle gives the
    reason.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metric with the sender's rate, by default the one that fits the runs' direction.
        size: Factor with the send size in bytes.
        title: Title of the chart, instead of a standard title.
        pool: Factors that may differ within a point.

    Returns:
        Three panels over the send size in bytes: packets/s in thousands or millions, throughput in
        Mbit/s, and time per packet in µs.

    Raises:
        DataError: A column is missing or not above zero, or there is only one size. Or runs of a
            size differ in a factor that is not in `pool`.
    """
    frame, ((size,), pooled) = frames.resolve(frame, size, pool)
    table = packet_rate_frame(frame, of, size, pooled)
    if len(table) < 2:
        raise DataError(f"{size} has one value; a chart over sizes needs two or more")
    low, high = float(table[size].min()), float(table[size].max())
    fit, about = None, ""
    marks = Marks.from_frame(frame, [size])
    try:
        fit = regimes(frame, of, size, pool=pooled)
    except DataError as error:
        about = str(error)
    slow = bool(table["packet_rate_pps"].max() < MILLIONS)
    with style():
        figure, panels = blank(6.8, 6.6, 3)
        for axes, panel in zip(panels, (THOUSANDS, *PANELS[1:]) if slow else PANELS, strict=True):
            if fit:
                _shade(axes, fit, low, high)
                _fit(axes, fit, panel, np.geomspace(low, high, 200))
            axes.plot(table[size], table[panel.column] / panel.per, "o", color=BLUE, clip_on=False)
            points = zip(table[size], table[panel.column] / panel.per, strict=True)
            marks.at_points(axes, (((x,), x, y) for x, y in points))
            axes.set_ylabel(panel.title)
            if panel.log:
                axes.set_yscale("log")
                log_axis(axes.yaxis)
            else:
                axes.set_ylim(0, float(table[panel.column].max()) / panel.per * 1.1)
        marks.key(figure)
        last = panels[-1]
        last.set_xscale("log", base=2)
        last.set_xlim(low, high)
        last.xaxis.set_major_locator(FixedLocator(log_ticks(table[size].unique())))
        last.xaxis.set_minor_locator(NullLocator())
        last.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        last.set_xlabel(wording.title(size))
        if fit:
            _name_regimes(panels[0], fit, low, high)
            about = (
                f"line: {fit.packet_ns:.0f} ns a packet + {1024 * fit.byte_ns:.0f} ns a KiB; "
                f"{fit.n} runs; {fit.interval}"
            )
        heading(
            panels[0],
            title or "Where packets per second are the limit, and where bytes are",
            about,
        )
    return figure


def _fit(axes: Axes, fit: Regimes, panel: _Panel, sizes: np.ndarray) -> None:
    ns = fit.packet_ns + fit.byte_ns * sizes
    lines = {"packet_ns": ns, "packet_rate_pps": 1e9 / ns, "throughput_mbps": 8e3 * sizes / ns}
    axes.plot(sizes, lines[panel.column] / panel.per, color=GREY, linewidth=1.2)


def _shade(axes: Axes, fit: Regimes, low: float, high: float) -> None:
    """Shade both regimes, and draw dotted lines at the confidence limits of the shades' edges."""
    axes.axvspan(low, max(low, fit.packets_until), color=SHADES["packets"], linewidth=0, zorder=0)
    axes.axvspan(min(high, fit.bytes_from), high, color=SHADES["bytes"], linewidth=0, zorder=0)
    for end in (*fit.packets_until_interval, *fit.bytes_from_interval):
        if low < end < high:
            axes.axvline(end, color=GREY, linewidth=0.7, linestyle=":")


def _name_regimes(axes: Axes, fit: Regimes, low: float, high: float) -> None:
    """Write the name of each regime at the bottom of its area, or left of an area too narrow."""
    marks = (
        (low, min(fit.packets_until, high), "packets are the limit\nup to {}".format),
        (max(fit.bytes_from, low), high, "bytes are the limit\nfrom {}".format),
    )
    for (begin, end, what), size in zip(marks, (fit.packets_until, fit.bytes_from), strict=True):
        if begin >= end:
            continue
        wide = np.log(end / begin) > 0.2 * np.log(high / low)
        axes.annotate(
            what(f"{size:.0f} bytes"),
            ((begin * end) ** 0.5 if wide else begin, 0),
            xytext=(0 if wide else -8, 6),
            textcoords="offset points",
            ha="center" if wide else "right",
            va="bottom",
            fontsize=8,
            color="#333333",
        )
