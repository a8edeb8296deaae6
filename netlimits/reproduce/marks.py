"""What a report prints of a chart whose data it does not give, as marks in that chart.

Marks are drawn beside what can be drawn (means beside printed runs, a text's words beside a fit),
or alone in the axes of a figure of which nothing else is printed. A mark is a figure that the
report prints, or one that follows from them; nothing is read off a picture.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from netlimits.charts._colours import BLACK, GREY, KNOWN, SeriesStyle
from netlimits.charts._labels import heading, label_ends
from netlimits.charts._style import Chart, blank, style
from netlimits.reproduce import published
from netlimits.reproduce.rounding import printed_figures

DASHES = (0, (6, 2))
SMALL = 8
LONGEST = 130_000
"""Bytes: the end of the x-axis, a little beyond the scripts' last length."""


def note(chart: Chart, text: str) -> None:
    """A sentence under the chart, for what a reader must know of its data.

    Where a legend has that place already, over its entries: the layout lays one on the other.
    """
    with style():
        if chart.legends:
            chart.legends[0].set_title(text, FontProperties(size=SMALL))
            return
        chart.supxlabel(text, fontsize=SMALL, color=GREY, x=0.01, ha="left", wrap=True)


def levels(chart: Chart, rows: Iterable[tuple[str, float]], color: str) -> None:
    """A dashed line across the first panel for each (label, value): a mean without its runs."""
    axes = chart.axes[0]
    drawn = [float(y) for line in axes.lines for y in np.asarray(line.get_ydata())]
    with style():
        rows = list(rows)
        top = max(axes.get_ylim()[1], *(value * 1.08 for _, value in rows))
        axes.set_ylim(0, top)
        for label, value in rows:
            above = min((y - value for y in drawn if y >= value), default=top)
            under = min((value - y for y in drawn if y < value), default=top)
            _level(axes, value, label, color, below=above < 0.07 * top and under > above)


def _level(
    axes: Axes, value: float, label: str, color: str, *, below: bool = False, at: float = 0.01
) -> None:
    axes.axhline(value, color=color, linewidth=1.2, linestyle=DASHES)
    axes.annotate(
        label,
        (at, value),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3 if below else 2),
        textcoords="offset points",
        va="top" if below else "bottom",
        fontsize=SMALL,
        color=color,
    )


def sizes_in_words(chart: Chart, words: Iterable[tuple[str, int, int]]) -> Chart:
    """A bracket over the first panel for each (words, from size, to size): what the text says."""
    axes = chart.axes[0]
    top = axes.get_ylim()[1]
    with style():
        axes.set_ylim(0, top * 1.12)
        for phrase, low, high in words:
            axes.annotate(
                "",
                (low, top * 1.02),
                (high, top * 1.02),
                arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": BLACK, "lw": 0.8},
            )
            axes.annotate(
                f"“{phrase}”: {low} to {high}",
                ((low * high) ** 0.5, top * 1.03),
                ha="center",
                va="bottom",
                fontsize=SMALL,
            )
    return chart


def aggregate(limits: pd.DataFrame) -> Chart:
    """The chart of two machines' throughput by MTU: their limits, computed, and the text's words.

    `limits` has a row for each machine and MTU, as `headers.limits` makes it.
    """
    stated = published.statements()["value"]
    mtus = sorted(limits["mtu"].unique())
    low, high = (float(stated[f"headers-shortfall-80-{end}"]) for end in ("low", "high"))
    with style():
        figure, (axes,) = blank(6.8, 4.2)
        caps = limits.drop_duplicates("machine")
        for machine, cap in zip(caps["machine"], caps["egress_cap_gbps"], strict=True):
            _level(axes, cap, f"{machine}: egress cap {cap:g} Gbit/s", BLACK, at=0.36)
        for at, mtu in enumerate(mtus):
            bound = float(limits.loc[limits["mtu"] == mtu, "link_bound_gbps"].iloc[0])
            axes.hlines(bound, at - 0.2, at + 0.2, color=GREY, linewidth=1.4)
            axes.annotate(
                f"link's bound {bound:.1f}", (at + 0.2, bound), xytext=(4, 0),
                textcoords="offset points", ha="left", va="top", fontsize=SMALL, color=GREY,
            )  # fmt: skip
        axes.annotate(
            "n2-standard-32: “nearly 50”",
            *((0, stated["headers-throughput-32"]), (0, stated["headers-throughput-32"] - 14)),
            ha="center",
            fontsize=SMALL,
            arrowprops={"arrowstyle": "->", "lw": 0.8},
        )
        axes.fill_between([0.8, 1.2], 100 - high, 100 - low, color="#DCE7F1", linewidth=0)
        axes.annotate(
            "n2-standard-80: “within a\npercent or three” of the link",
            *((1, 100 - high), (1, 72)),
            ha="center",
            fontsize=SMALL,
            arrowprops={"arrowstyle": "->", "lw": 0.8},
        )
        axes.set_xticks(range(len(mtus)), [f"{mtu}" for mtu in mtus])
        axes.set_xlim(-0.5, len(mtus) - 0.5)
        axes.set_ylim(0, 112)
        axes.set_xlabel("MTU (bytes)")
        axes.set_ylabel("Throughput (Gbit/s)")
        heading(
            axes,
            "Aggregate netperf TCP_STREAM throughput vs MTU",
            "no bars: the report prints none of their heights; drawn are its machines' limits, "
            "computed, and its words",
        )
    return figure


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the Turin report's figures: its axis, whose lengths it has, and what is printed of it.

    `levels` are (statement, label) of values on the y-axis, `places` of lengths on the x-axis; a
    statement's unit is the axis' own. `words` is what the text says of the curves.
    """

    axis: str
    tools: Sequence[str]
    words: str
    levels: Sequence[tuple[str, str]] = ()
    places: Sequence[tuple[str, str]] = ()


GOODPUT, CPU = "Goodput (Gbit/s)", "CPU of the tool's process (%)"
BOTH = ("iperf3", "nttcp")
PEAKS = (("turin-peak-iperf3", "iperf3's peak"), ("turin-peak-nttcp", "nttcp's peak"))
BOUND = ("turin-bound", "the report's bound")
SATURATION = ("turin-saturation-length", "both saturate from")

FIGURES = {
    "1a": Figure(
        GOODPUT,
        BOTH,
        "below, nttcp is faster, “almost double”",
        (BOUND, *PEAKS),
        (SATURATION,),
    ),
    "1b": Figure(CPU, BOTH, "nttcp uses “significantly more”; alike at high lengths"),
    "2": Figure(
        "Range of goodput (Mbit/s)",
        BOTH,
        "printed as “variance”: the sum of the ranges over the number of tests",
        (("turin-variance-iperf3", "iperf3:"), ("turin-variance-nttcp", "nttcp:")),
    ),
    "4a": Figure(GOODPUT, ("nttcp",), "with TSO the slope “slightly increases”", (BOUND,)),
    "4b": Figure(CPU, ("nttcp",), "with TSO “always below”"),
    "5": Figure(
        GOODPUT,
        BOTH,
        "a higher saturation point with jumbo frames",
        (
            ("turin-jumbo-bound", "the report's bound with jumbo frames"),
            ("turin-jumbo-peak-iperf3", "iperf3's peak with jumbo frames"),
            ("turin-jumbo-peak-nttcp", "nttcp's peak with jumbo frames"),
            BOUND,
            *PEAKS,
        ),
    ),
    "6": Figure(
        CPU,
        BOTH,
        "“no significant differences”; iperf3's “decreases drastically” where jumbo saturates",
    ),
    "7a": Figure(
        GOODPUT,
        ("iperf3",),
        "under stress the same peak, at greater lengths",
        (("turin-stress-peak", "peak under stress"),),
    ),
    "7b": Figure(
        CPU,
        ("iperf3",),
        "“extremely higher” under stress",
        places=(("turin-stress-cpu-peak-length", "peak under stress,"),),
    ),
    "8a": Figure(
        GOODPUT,
        ("nttcp",),
        "under stress saturation “close to the MTU”",
        places=(("turin-stress-nttcp-saturation", "saturation under stress,"),),
    ),
    "8b": Figure(
        CPU,
        ("nttcp",),
        "the CPU is “already to 100%”; stress shows up to about 1000",
        (("turin-nttcp-cpu", "“already”"),),
        places=(("turin-stress-nttcp-length", "stress noticeable up to"),),
    ),
}  # fmt: skip
"""By number. Of figure 3, the processes that each tool starts, nothing is printed."""


def turin(number: str, title: str) -> Chart:
    """The axes of one of the Turin report's figures, with what it prints of it as marks."""
    figure = FIGURES[number]
    stated = {key: printed for key, (_, printed) in printed_figures().items()}
    with style():
        chart, (axes,) = blank(6.8, 4.0)
        values = [stated[key].value for key, _ in figure.levels]
        tops = {GOODPUT: 2.75, CPU: 110.0}
        top = tops.get(figure.axis, 1.25 * max(values, default=1.0))
        axes.set_ylim(0, top)
        _lengths(axes, figure.tools)
        ends = []
        for (key, label), value in zip(figure.levels, values, strict=True):
            look = SeriesStyle(f"{label} {stated[key].written}", _color(key), DASHES, "")
            axes.axhline(value, color=look.color, linewidth=1.2, linestyle=look.line)
            ends.append((LONGEST, value, look))
        label_ends(axes, ends)
        _near(axes, ends, top)
        for key, label in figure.places:
            at_bytes = stated[key].value
            axes.axvline(at_bytes, color=GREY, linewidth=1.2, linestyle=DASHES)
            axes.annotate(
                f"{label} {stated[key].written} ", (at_bytes, 0.14),
                xycoords=("data", "axes fraction"), ha="right", fontsize=SMALL, color=GREY,
            )  # fmt: skip
        axes.set_ylabel(figure.axis)
        drawn = "no curves: the report gives no data; drawn is what it prints"
        heading(axes, title, f"{drawn}. The text: {figure.words}")
    return chart


def _near(axes: Axes, ends: Sequence[tuple[float, float, SeriesStyle]], top: float) -> None:
    """Levels that lie within a line's width of one another, once more on an axis of their own."""
    heights = sorted(value for _, value, _ in ends)
    if not any(b - a < 0.015 * top for a, b in itertools.pairwise(heights)):
        return
    room = 0.2 * (heights[-1] - heights[0])
    inset = axes.inset_axes((0.16, 0.24, 0.36, 0.52), facecolor="white", zorder=3)
    inset.set_ylim(heights[0] - room, heights[-1] + room)
    inset.set_xticks([])
    inset.yaxis.set_major_locator(MaxNLocator(5))
    inset.tick_params(labelsize=SMALL - 1)
    inset.set_title("the same, nearer", fontsize=SMALL, color=GREY)
    for _, value, look in ends:
        inset.axhline(value, color=look.color, linewidth=1.2, linestyle=look.line)


def _lengths(axes: Axes, tools: Sequence[str]) -> None:
    """The lengths that the tools' scripts send, as ticks along the x-axis."""
    table = published.table("turin-lengths")
    axes.set_xscale("log")
    axes.set_xlim(0.8, LONGEST)
    for row, tool in enumerate(tools):
        sizes = table.loc[table["tool"] == tool, "send_size"]
        axes.plot(
            sizes, [0.03 + 0.05 * row] * len(sizes), "|", transform=axes.get_xaxis_transform(),
            color=KNOWN[tool], markersize=7,
        )  # fmt: skip
        axes.annotate(
            f"{tool}'s lengths", (1.02, 0.03 + 0.05 * row), xycoords="axes fraction", va="center",
            fontsize=SMALL, color=KNOWN[tool], annotation_clip=False,
        )  # fmt: skip
    axes.xaxis.set_major_locator(LogLocator(10))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel("Send size (bytes)")


def _color(key: str) -> str:
    """The tool's colour where the statement is of one."""
    return next((KNOWN[tool] for tool in BOTH if key.endswith(tool)), GREY)
