"""How every chart looks: one palette, one place for text, and figures that need no display.

Colours are Okabe and Ito's (2008), which people with colour-vision deficiency tell apart; line
style and marker say the same thing again, so that a chart also reads in grey. The same value
has the same colour in every chart: KNOWN fixes those of the reports, others take the free
colours in the order of `wording.rank`. Figures are made without pyplot, which keeps global
state; they show themselves in a notebook.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from netlimits.analysis import wording
from netlimits.charts import FORMATS
from netlimits.errors import DataError, InputError
from netlimits.metrics import Metric

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#666666"
PALETTE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, BLACK, SKY)
"""Okabe and Ito's colours without the yellow, which is too pale for a line on white."""

KNOWN: Mapping[str, str] = {
    "udp": BLUE,
    "plain ethernet": BLUE,
    "tcp on": VERMILION,
    "tcp off": GREEN,
    "tcp": VERMILION,
    "on": VERMILION,
    "off": GREEN,
    "sender": BLUE,
    "receiver": ORANGE,
    "iperf3": PURPLE,
    "nttcp": GREEN,
    "netperf": BLUE,
    "nuttcp": ORANGE,
}
"""What the reports compare: its colour, everywhere."""

LINES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.3)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
ROOM = 0.075
"""The share of an axis that a label of a number needs."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # a value of a factor may hold a $
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "netlimits",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}

NO_DATE: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Metadata left out, so that the same figure is the same file."""


_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)


class Chart(Figure):
    """A matplotlib Figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


@contextmanager
def style() -> Iterator[None]:
    """Our rcParams for the duration of a block; the reader's own are put back after it."""
    with mpl.rc_context(STYLE):
        yield


def blank(
    width: float = 6.8, height: float = 4.0, rows: int = 1, columns: int = 1
) -> tuple[Chart, list[Axes]]:
    """An empty chart, inches; panels over one another share x. Call it within `style()`."""
    figure = Chart(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex="col" if rows > 1 else False)
    return figure, list(panels.flat)


def thousands(axes: Axes, which: str = "y") -> None:
    """Write the axis' large numbers as 20,000."""
    for letter in which:
        axis = axes.yaxis if letter == "y" else axes.xaxis
        if max(axis.get_view_interval()) < 1000:
            continue
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def two_lines(metric: Metric) -> str:
    """The axis label over two lines: a longer one than its panel would squeeze the panel."""
    return f"{metric.title}\n({metric.unit})" if metric.unit else metric.title


def heading(axes: Axes, title: str, subtitle: str = "") -> None:
    """Title, and under it, in grey, what a reader needs to know to read the chart."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    lines = textwrap.wrap(subtitle, round(14 * figure.get_size_inches()[0]))
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


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How one series is drawn."""

    label: str
    color: str
    line: Any
    marker: str

    @property
    def plot(self) -> dict[str, Any]:
        """The keyword arguments of `Axes.plot`."""
        return {"color": self.color, "linestyle": self.line, "marker": self.marker}


def looks(
    keys: Sequence[tuple[Any, ...]], factors: Sequence[str] = ()
) -> dict[tuple[Any, ...], SeriesStyle]:
    """A look for each series, by the values of its factors.

    `factors` names what the values are of, so that labels carry units. Text values together
    choose the colour (KNOWN first) and numbers the line and marker, so that "UDP, 1024" and
    "UDP, 8192" share a colour. Where there are only numbers, or only text, it chooses all; a
    single text value that is KNOWN keeps its colour for every number.
    """
    of = list(factors) or [""] * (len(keys[0]) if keys else 0)
    without = wording.NULL if of else "all runs"
    labels = {key: ", ".join(wording.phrases(key, of)) or without for key in keys}
    names = {key: wording.label(v for v in key if not _number(v)) for key in keys}
    sizes = {key: wording.label(v for v in key if _number(v)) for key in keys}
    alone = len(set(names.values())) == 1 < len(set(sizes.values()))
    if alone and not set(map(str.lower, names.values())) & set(KNOWN):
        names = dict(sizes)
    elif len(set(sizes.values())) == 1:
        sizes = dict(names)
    colours = colours_of(list(dict.fromkeys(names.values())))
    order = sorted(set(sizes.values()), key=wording.rank)
    styles = {}
    for key in keys:
        place = order.index(sizes[key])
        styles[key] = SeriesStyle(
            labels[key],
            colours[names[key]],
            LINES[place % len(LINES)],
            MARKERS[place % len(MARKERS)],
        )
    return styles


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name: its KNOWN one, or the next that is free, unclaimed ones first."""
    fixed = {name: KNOWN[name.lower()] for name in names if name.lower() in KNOWN}
    free = [c for c in PALETTE if c not in fixed.values()] or list(PALETTE)
    free.sort(key=lambda colour: colour in KNOWN.values())
    others = [name for name in sorted(names, key=wording.rank) if name not in fixed]
    return fixed | {name: free[i % len(free)] for i, name in enumerate(others)}


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def goodput_bound(axes: Axes, bound: float, unit: str) -> None:
    """A dashed horizontal line at the goodput bound, its figure written above it in `unit`."""
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
    """Write each series' label at the right edge, beside its last point (x, y), texts moved apart.

    Call it when the axes have their final limits and scale.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    panels = len([other for other in figure.axes if other.get_subplotspec() is not None])
    height = figure.get_size_inches()[1] * 72 * 0.75 / max(panels, 1)
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((x, y))[1]) for x, y, _ in ends]
    places = apart(heights, 11.5 / height)
    for (x, y, look), place in zip(ends, places, strict=True):
        axes.annotate(
            look.label,
            (x, y),
            xytext=(1.03, place),
            textcoords="axes fraction",
            color=look.color,
            fontsize=8.5,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": look.color,
                "lw": 0.6,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def log_ticks(values: Iterable[float]) -> list[float]:
    """The values whose labels have room on a logarithmic axis, the largest first."""
    every = sorted((float(value) for value in values), reverse=True)
    room = (every[0] / every[-1]) ** ROOM if every[-1] > 0 else 1.0
    ticks = every[:1]
    for value in every[1:]:
        if value * room <= ticks[-1]:
            ticks.append(value)
    return ticks


def apart(
    positions: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Places near `positions`, in their order, a `gap` apart, between low and high if they fit."""
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


def svg(figure: Figure) -> str:
    """The figure as SVG, without comments: they repeat every text, with all that XML forbids."""
    buffer = io.StringIO()
    with style():
        figure.savefig(buffer, format="svg", metadata=dict(NO_DATE["svg"]))
    return _COMMENT.sub("", buffer.getvalue())


def save(figure: Figure, path: Path | str) -> Path:
    """Write the figure as PNG (200 dpi), SVG or PDF, by the ending of `path`; returns the path.

    The same figure gives the same bytes. Raises DataError for another ending, InputError where the
    file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise DataError(f"{path}: a chart is written as {', '.join(FORMATS)}")
    try:
        if kind == "svg":
            path.write_text(svg(figure), encoding="utf-8")
        else:
            with style():
                figure.savefig(path, format=kind, metadata=dict(NO_DATE[kind]))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path
