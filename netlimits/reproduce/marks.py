"""Draw marks in our charts for the figures that a report states without giving the data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties

from netlimits import charts
from netlimits.charts._colours import BLACK, GREY, KNOWN, series_styles
from netlimits.charts._labels import heading, label_ends, log_axis
from netlimits.charts._style import Chart, blank, style
from netlimits.metrics import metric
from netlimits.reproduce import published, turin_lab
from netlimits.reproduce.rounding import printed_figures

DASHES = (0, (6, 2))
SMALL = 8
WRAPPED = 50
"""Maximum number of characters in a line of a label."""

LABEL_WIDTH, LABEL_HEIGHT = 0.5, 0.08
"""Space for the label of a length on the x-axis, as shares of the width and the height."""

NEAR = 0.03
"""Maximum distance between two levels that share a label, as a share of the axis."""


def note(chart: Chart, text: str) -> None:
    """Write a sentence below the chart, or as the title of its legend if it has one."""
    with style():
        if chart.legends:
            chart.legends[0].set_title(text, FontProperties(size=SMALL))
            return
        chart.supxlabel(text, fontsize=SMALL, color=GREY, x=0.01, ha="left", wrap=True)


def levels(chart: Chart, rows: Iterable[tuple[str, float]], color: str) -> None:
    """Draw each (label, value) as a dashed line across the first panel."""
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
    """Draw each (words, smallest size, largest size) as a labelled bar above the first panel."""
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
    """Draw the limits of two machines by MTU (`headers.limits`), with the report's words."""
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
    """A chart of the Turin report, with the lab's runs and marks for the report's numbers.

    `only` selects the runs of a tool. `levels` has (statement, label) for values on the y-axis, and
    `places` has (statement, label) for lengths on the x-axis.
    """

    experiment: str
    of: str | Sequence[str]
    series: str | Sequence[str]
    words: str
    only: str = ""
    levels: Sequence[tuple[str, str]] = ()
    places: Sequence[tuple[str, str]] = ()


GOODPUT, CPU, RANGE = "throughput", "local_process_cpu", "range"
PEAKS = (("turin-peak-iperf3", "iperf3's peak"), ("turin-peak-nttcp", "nttcp's peak"))
BOUND = ("turin-bound", "bound")
SATURATION = ("turin-saturation-length", "both saturate from")

FIGURES = {
    "1a": Figure(
        *("tool-comparison", GOODPUT, "tool", "below, nttcp is faster, “almost double”"),
        levels=(BOUND, *PEAKS),
        places=(SATURATION,),
    ),
    "1b": Figure(
        *("tool-comparison", CPU, "tool"),
        "nttcp uses “significantly more”; alike at high lengths",
    ),
    "2": Figure(
        *("tool-comparison", RANGE, "tool"),
        "printed as “variance”: the sum of the ranges over the number of tests",
        levels=(("turin-variance-iperf3", "iperf3"), ("turin-variance-nttcp", "nttcp")),
    ),
    "3": Figure(
        "tool-comparison",
        ("local_processes", "local_threads"),
        "tool",
        "each tool's processes, without a number",
    ),
    "4a": Figure(
        *("tso", GOODPUT, "tso", "with TSO the slope “slightly increases”", "nttcp"),
        levels=(BOUND,),
    ),
    "4b": Figure("tso", CPU, "tso", "with TSO “always below”", "nttcp"),
    "5": Figure(
        *("jumbo", GOODPUT, ("tool", "mtu"), "a higher saturation point with jumbo frames"),
        levels=(
            ("turin-jumbo-bound", "bound with jumbo frames"),
            ("turin-jumbo-peak-iperf3", "iperf3's peak"),
            ("turin-jumbo-peak-nttcp", "nttcp's peak"),
            BOUND,
            *PEAKS,
        ),
    ),
    "6": Figure(
        *("jumbo", CPU, ("tool", "mtu")),
        "“no significant differences”; iperf3's “decreases drastically” where jumbo saturates",
    ),
    "7a": Figure(
        *("cpu-stress", GOODPUT, "workers_per_cpu"),
        "under stress the same peak, at greater lengths",
        "iperf3",
        levels=(("turin-stress-peak", "peak under stress"),),
    ),
    "7b": Figure(
        *("cpu-stress", CPU, "workers_per_cpu", "“extremely higher” under stress", "iperf3"),
        places=(("turin-stress-cpu-peak-length", "peak under stress,"),),
    ),
    "8a": Figure(
        *("cpu-stress", GOODPUT, "workers_per_cpu"),
        "under stress saturation “close to the MTU”",
        "nttcp",
        places=(("turin-stress-nttcp-saturation", "saturation under stress,"),),
    ),
    "8b": Figure(
        *("cpu-stress", CPU, "workers_per_cpu"),
        "the CPU is “already to 100%”; stress shows up to about 1000",
        "nttcp",
        levels=(("turin-nttcp-cpu", "“already”"),),
        places=(("turin-stress-nttcp-length", "stress noticeable up to"),),
    ),
}
"""Number of a figure in the report -> how to draw it."""


def turin(number: str, title: str) -> Chart:
    """Draw a figure of the Turin report: the lab's curves, with marks for the report's figures."""
    figure = FIGURES[number]
    stated = {key: printed for key, (_, printed) in printed_figures().items()}
    runs = turin_lab.runs(figure.experiment)
    remarks = ["curves: the lab's machines", "thin dashed lines: printed in the report"]
    if figure.only:
        runs = runs[runs["tool"] == figure.only]
    if figure.of == RANGE:
        chart = _ranges(runs)
    else:
        of = [figure.of] if isinstance(figure.of, str) else list(figure.of)
        measured = runs.dropna(subset=[metric(name).column for name in of])
        chart = charts.spread(measured, of, "send_size", figure.series)
    axes = chart.axes[0]
    values = [(label, stated[key]) for key, label in figure.levels]
    scale = 1.0
    if figure.of == GOODPUT and values:
        most = max(printed.value for _, printed in values)
        scale = _greatest_mean(runs) / most
        remarks.append(f"{most:g} Gbit/s is drawn at the lab's greatest mean")
    with style():
        _printed(
            axes, [(label, printed.written, printed.value * scale) for label, printed in values]
        )
        for key, label in figure.places:
            _place(axes, stated[key].value, f"{label} {stated[key].written} ")
        for text in [text for text in axes.texts if getattr(text, "xy", None) == (0, 1)]:
            text.remove()  # the subtitle, which `heading` replaces
        heading(axes, title, f"{'; '.join(remarks)}. The text: {figure.words}")
    return chart


def _greatest_mean(runs: pd.DataFrame) -> float:
    """Return the greatest mean goodput of all configurations in Mbit/s."""
    factors = [n for n in ("tool", "send_size", "tso", "mtu", "workers_per_cpu") if n in runs]
    return float(runs.groupby(factors)["throughput_mbps"].mean().max())


def _ranges(runs: pd.DataFrame) -> Chart:
    """Draw the range of each tool's goodput at each length."""
    with style():
        chart, (axes,) = blank(6.8, 4.0)
        groups = [
            ((tool,), part.groupby("send_size")["throughput_mbps"])
            for tool, part in runs.groupby("tool")
        ]
        styles = series_styles([key for key, _ in groups], ["tool"])
        ends = []
        for key, part in groups:
            spread = part.max() - part.min()
            axes.plot(spread.index, spread, **styles[key].plot)
            ends.append((float(spread.index[-1]), float(spread.iloc[-1]), styles[key]))
        axes.set_xscale("log")
        log_axis(axes.xaxis)
        axes.set_ylim(0, 1.1 * axes.dataLim.y1)
        axes.set_xlabel("Send size (bytes)")
        axes.set_ylabel("Range of goodput (Mbit/s)")
        label_ends(axes, ends)
    return chart


def _printed(axes: Axes, levels: Sequence[tuple[str, str, float]]) -> None:
    """Draw dashed lines at the levels (label, text, height); close levels share a label."""
    top = max([axes.get_ylim()[1], *(1.1 * height for *_, height in levels)])
    axes.set_ylim(0, 1.06 * top if levels else top)
    groups: list[list[tuple[str, str, float]]] = []
    for level in sorted(levels, key=lambda each: each[-1]):
        if not groups or level[-1] - groups[-1][-1][-1] > NEAR * top:
            groups.append([])
        groups[-1].append(level)
    for group in groups:
        for label, _, height in group:
            color = next(
                (KNOWN[tool] for tool in ("iperf3", "nttcp") if label.startswith(tool)), GREY
            )
            axes.axhline(height, color=color, linewidth=1, linestyle=DASHES)
        words = ", ".join(f"{label} {written}" for label, written, _ in reversed(group))
        axes.annotate(
            "\n".join(textwrap.wrap(words, WRAPPED)),
            (0.01, group[-1][-1]),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            va="bottom",
            fontsize=SMALL,
            color=GREY,
        )


def _place(axes: Axes, at_bytes: float, label: str) -> None:
    """Draw a dashed line at a length, with a label to the left at a height without curves."""
    drawn = [points for line in axes.lines if len(points := np.asarray(line.get_xydata())) > 2]
    to_axes = axes.transData + axes.transAxes.inverted()
    right = to_axes.transform((at_bytes, axes.get_ylim()[1]))[0]
    under = np.linspace(right - LABEL_WIDTH, right, 20)
    curves = [np.interp(under, *to_axes.transform(points).T) for points in drawn]
    heights = (0.04, 0.7, 0.5, 0.3)
    free = (
        height
        for height in heights
        if all(np.all(np.abs(curve - height) > LABEL_HEIGHT) for curve in curves)
    )
    axes.axvline(at_bytes, color=GREY, linewidth=1.2, linestyle=DASHES)
    axes.annotate(
        label, (at_bytes, next(free, heights[0])), xycoords=("data", "axes fraction"),
        ha="right", fontsize=SMALL, color=GREY,
    )  # fmt: skip
