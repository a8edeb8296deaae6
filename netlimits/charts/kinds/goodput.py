"""Chart of Data / (Data + Headers) against the MTU: the share of a link's bit rate that is data."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator

from netlimits.analysis import wording
from netlimits.charts._colours import GREY, series_styles
from netlimits.charts._labels import heading, label_ends
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError

MARKED = (1500, 9000)
TICKS = (68, 128, 256, 576, 1000, 1500, 2000, 4000, 9000, 16000, 65535)


def goodput(curve: pd.DataFrame, title: str | None = None, subtitle: str = "") -> Chart:
    """Draw Data / (Data + Headers) against the MTU, with a curve for each header stack.

    The MTUs of 1500 and 9000 bytes are marked. The y-axis starts at 0 only if a curve falls below
    50 %, so that differences near 100 % remain visible.

    Args:
        curve: Frame that `analysis.goodput.curve` returned.
        title: Title of the chart, instead of a standard title.
        subtitle: Text in grey below the title.

    Returns:
        One panel: the share in percent over the MTU in bytes.

    Raises:
        DataError: The frame lacks a column of `analysis.goodput.curve`.
    """
    for name in ("stack", "mtu", "ratio"):
        if name not in curve.columns:
            raise DataError(f"no column {name}; this chart takes the frame of goodput.curve")
    parts = [((stack,), part) for stack, part in curve.groupby("stack", sort=False)]
    styles = series_styles([key for key, _ in parts])
    with style():
        figure, (axes,) = blank()
        ends = []
        marked: set[int] = set()
        for key, part in parts:
            line = styles[key]
            x, y = part["mtu"].to_numpy(), 100 * part["ratio"].to_numpy()
            axes.plot(x, y, color=line.color, linestyle=line.line)
            ended = replace(line, label=f"{line.label} {y[-1]:.1f} %")
            ends.append((float(x[-1]), float(y[-1]), ended))
            for mtu in MARKED:
                at = part[part["mtu"] == mtu]
                if len(at):
                    marked.add(mtu)
                    value = 100 * float(at["ratio"].iloc[0])
                    axes.plot([mtu], [value], color=line.color, marker=line.marker, clip_on=False)
                    if len(parts) == 1 or (mtu < x[-1] and len(parts) == 2):
                        above = len(parts) > 1 and key == parts[0][0]
                        axes.annotate(
                            f"{value:.1f} %" + (f"\nat {mtu}" if len(parts) == 1 else ""),
                            (mtu, value),
                            xytext=(-6, 4) if above else (6, -5),
                            textcoords="offset points",
                            ha="right" if above else "left",
                            va="bottom" if above else "top",
                            color=line.color,
                        )
        low = 100 * float(curve["ratio"].min())
        axes.set_ylim(0 if low < 50 else max(0, 5 * (low // 5) - 5), 100)
        axes.yaxis.set_major_locator(MultipleLocator(20 if low < 50 else 5))
        axes.set_xscale("log")
        axes.set_xlim(curve["mtu"].min(), curve["mtu"].max())
        ticks = [t for t in TICKS if curve["mtu"].min() <= t <= curve["mtu"].max()]
        axes.xaxis.set_major_locator(FixedLocator(ticks or sorted(curve["mtu"].unique())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        axes.set_xlabel(wording.title("mtu"))
        axes.set_ylabel("Data / (Data + Headers) (%)")
        for mtu in marked:
            axes.axvline(mtu, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
        heading(axes, title or "Data/(Data+Headers) vs. MTU", subtitle)
        if len(parts) > 1:
            label_ends(axes, ends)
    return figure
