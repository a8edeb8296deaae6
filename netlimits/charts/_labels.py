"""The texts of a chart: heading, numbers on the axes, and labels of the lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from netlimits.analysis import wording
from netlimits.charts._colours import GREY, SeriesStyle
from netlimits.metrics import Metric

ROOM = 0.075
"""Share of an axis that the label of a tick takes up."""

LINE = 8.5
"""Font size of a line's label, in points."""

FEW_DECADES = 300
"""Ratio of maximum to minimum below which a logarithmic axis has ticks at 1, 2 and 5."""

TEXTS, GAP = 1.03, 0.006
"""Position of the labels of lines, and the gap before them, as shares of the axes' width."""


def thousands(axes: Axes, which: str = "y") -> None:
    """Write the numbers of an axis that reaches 1,000 with commas, such as 20,000."""
    for letter in which:
        axis = axes.yaxis if letter == "y" else axes.xaxis
        if max(axis.get_view_interval()) < 1000:
            continue
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def two_lines(metric: Metric) -> str:
    """Return the axis label with the unit on a second line, so that it fits into a low panel."""
    return f"{metric.title}\n({metric.unit})" if metric.unit else metric.title


def title_of(metric: Metric, keys: Sequence[str]) -> str:
    """Return the title of a chart: "Throughput by MTU and protocol"."""
    by = " and ".join(map(wording.name, keys))
    return f"{metric.title} by {by}" if by else metric.title


def heading(axes: Axes, title: str, *notes: str) -> None:
    """Set the title, and write `notes` on how to read the chart in grey below the title."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    lines = textwrap.wrap(" · ".join(filter(None, notes)), round(14 * figure.get_size_inches()[0]))
    axes.set_title(title, pad=8 + 12 * len(lines), color="#111111")
    if lines:
        axes.annotate(
            "\n".join(lines),
            (0, 1),
            xytext=(0, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8.5,
            color=GREY,
        )


def heading_of_panels(figure: Figure, title: str) -> None:
    """Set a title above all panels, in addition to the heading of each panel."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")


def goodput_bound(axes: Axes, bound: float, unit: str) -> None:
    """Draw a dashed horizontal line at the goodput bound, and write the bound above the line."""
    axes.axhline(bound, color=GREY, linewidth=1, linestyle=(0, (6, 2)))
    axes.annotate(
        f"goodput bound {bound:,.0f} {unit}",
        (0, bound),
        xycoords=("axes fraction", "data"),
        xytext=(4, 3),
        textcoords="offset points",
        fontsize=8,
        color=GREY,
    )


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, SeriesStyle]]) -> None:
    """Write each series' label to the right of the axes, at the height of the series' last point.

    `ends` are (x, y, style) of the last points. Labels that would overlap are moved apart. When the
    limits of the axes change, the labels are placed again.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    labels = []
    for _, _, style in ends:
        text = axes.text(
            *(TEXTS, 0, style.label),
            transform=axes.transAxes,
            color=style.color,
            fontsize=LINE,
            va="center",
        )
        leader = Line2D([], [], color=style.color, linewidth=0.6)
        leader.set_transform(axes.transAxes)
        figure.add_artist(leader)  # an artist of the axes would change the axes' limits
        labels.append((text, leader))

    def place(_: Axes) -> None:
        panels = len([other for other in figure.axes if other.get_subplotspec() is not None])
        height = figure.get_size_inches()[1] * 72 * 0.75 / max(panels, 1)
        to_axes = axes.transData + axes.transAxes.inverted()
        points = [to_axes.transform((x, y)).tolist() for x, y, _ in ends]
        places = spaced([point[1] for point in points], 1.35 * LINE / height)
        for (x, y), (text, leader), level in zip(points, labels, places, strict=True):
            text.set_y(level)
            leader.set_data([x + GAP, TEXTS - GAP], [y, level])

    for limits in ("xlim_changed", "ylim_changed"):
        axes.callbacks.connect(limits, place)
    place(axes)


def log_axis(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers at 1, 2 and 5 of each decade.

    If the axis spans many decades (FEW_DECADES), only the powers of 10 have labels.
    """
    low, high = sorted(axis.get_view_interval())
    few = low > 0 and high / low < FEW_DECADES
    axis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def log_ticks(values: Iterable[float]) -> list[float]:
    """Return the largest value, and in descending order the others whose labels do not overlap."""
    every = sorted((float(value) for value in values), reverse=True)
    room = (every[0] / every[-1]) ** ROOM if every[-1] > 0 else 1.0
    ticks = every[:1]
    for value in every[1:]:
        if value * room <= ticks[-1]:
            ticks.append(value)
    return ticks


def spaced(
    positions: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Return positions that are at least `gap` apart, and close to `positions`.

    The order stays the same. All positions are from `low` to `high` if there is enough room.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    clusters: list[list[float]] = []
    for i in order:
        clusters.append([positions[i], 1.0])
        while len(clusters) > 1:
            (first, n), (second, m) = clusters[-2], clusters[-1]
            if second - first >= gap * (n + m) / 2:
                break
            clusters[-2:] = [[(first * n + second * m) / (n + m), n + m]]
    places: list[float] = []
    for centre, n in clusters:
        places += [centre + gap * (k - (n - 1) / 2) for k in range(int(n))]
    for k, place in enumerate(places):
        places[k] = max(place, places[k - 1] + gap if k else low)
    for k in reversed(range(len(places))):
        places[k] = min(places[k], places[k + 1] - gap if k + 1 < len(places) else high)
    spread = [0.0] * len(positions)
    for i, place in zip(order, places, strict=True):
        spread[i] = place
    return spread
