"""Chart of CPU profiles: stacked bars of service demand by category, for both ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from netlimits.analysis import wording
from netlimits.analysis.profile import CATEGORIES, ENDS, party
from netlimits.analysis.profile import profile as table_of
from netlimits.charts._colours import GREY
from netlimits.charts._style import Chart, blank, style
from netlimits.metrics import Direction

COLOURS: Mapping[str, str] = {
    "copy": "#D55E00",
    "checksum": "#F5C9A8",
    "memory": "#CC79A7",
    "tcpip": "#0072B2",
    "segmentation": "#56B4E9",
    "qdisc": "#BFE3F7",
    "driver": "#009E73",
    "netfilter": "#9AD9C5",
    "socket": "#E69F00",
    "scheduling": "#F0E442",
    "locking": "#7F7F7F",
    "interrupts": "#404040",
    "crypto": "#7B3294",
    "program": "#000000",
    "other": "#D9D9D9",
}
"""Category -> colour: a colour of Okabe and Ito's palette or a tint of it, or a grey.

Neighbours in a bar also differ in lightness.
"""

DARK = frozenset(("copy", "tcpip", "driver", "locking", "interrupts", "crypto", "program"))
"""Categories whose colour is so dark that text on it is white."""

SHOWN = 0.01
"""Share of the largest bar up to which a category is merged into `other`."""

_NAMED = 0.07
"""Minimum width of a segment that has a percentage, as a share of the x-axis."""


def profile(
    frame: pd.DataFrame,
    series: str | Sequence[str] = (),
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw CPU time by category as stacked bars, for each configuration and end.

    Each end has a panel, and each configuration has a bar. A segment of a bar is the CPU time of a
    category per KiB or per transaction. This time is the category's share of the samples in the
    profiled runs, times the service demand of the runs without a profile. If a service demand is
    missing, all segments are shares instead.

    Args:
        frame: Frame with a row for each run. Some runs must be profiled.
        series: Factors whose combinations are the bars.
        title: Title of the chart, instead of a standard title.
        pool: Factors that may differ within a bar.

    Returns:
        A panel for each end: CPU time in µs per KiB or transaction, or shares in percent.

    Raises:
        DataError: No profiled run is ok, or no run without a profile is ok.
    """
    table = costs(frame, series, pool)
    keys = list(table.attrs["factors"])
    direction = cast(Direction, table.attrs["direction"])
    measured = table["cost_us"].notna().all()
    value = "cost_us" if measured else "share_pct"
    shown = _shown(table, value)
    top = 1.04 * float(table.groupby([*keys, "end"], sort=False, dropna=False)[value].sum().max())
    parts = [part for _, part in table.groupby(keys, sort=False, dropna=False)] if keys else [table]
    with style():
        chart, panels = blank(8.4, 1.9 + 0.5 * len(parts), columns=len(ENDS))
        for axes, end in zip(panels, ENDS, strict=True):
            for place, part in enumerate(parts):
                _bar(axes, place, part[part["end"] == end], value, shown, top)
            axes.set_xlim(0, top)
            axes.set_ylim(len(parts) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            axes.set_yticks(range(len(parts)), [])
            per = table["per"].iloc[0]
            axes.set_xlabel(f"µs CPU/{per}" if measured else "Share of CPU time (%)")
            axes.set_title(party(end, direction).capitalize(), fontsize=9, pad=3)
        labels = [", ".join(wording.phrases([p[k].iloc[0] for k in keys], keys)) for p in parts]
        panels[0].set_yticks(range(len(parts)), labels)
        legend = [Patch(color=COLOURS[name], label=CATEGORIES[name]) for name in shown]
        chart.legend(handles=legend, loc="outside lower center", ncols=5, fontsize=8)
        about = "both ends share one kernel: each holds the samples of both"
        panels[1].annotate(
            about if _one_kernel(table) else "",
            *((1, 1), (0, 5)),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            fontsize=7.5,
            color=GREY,
        )
        chart.suptitle(title or "CPU time by what the CPU did", x=0.01, ha="left", weight="bold")
    return chart


def costs(
    frame: pd.DataFrame, series: str | Sequence[str] = (), pool: str | Sequence[str] = ()
) -> pd.DataFrame:
    """Return the table for the chart `profile`; without `series`, rows differ by all factors."""
    return table_of(frame, series or None, pool)


def _one_kernel(table: pd.DataFrame) -> bool:
    return any("share one kernel" in note for note in table.attrs["notes"])


def _shown(table: pd.DataFrame, value: str) -> list[str]:
    """Return the categories that have a segment of their own in the chart, and `other`."""
    bars = table.groupby([*table.attrs["factors"], "end"], sort=False)[value].sum()
    most = table.groupby("category")[value].max()
    return [c for c in CATEGORIES if c == "other" or most.get(c, 0.0) > SHOWN * float(bars.max())]


def _bar(
    axes: Axes, place: int, part: pd.DataFrame, value: str, shown: Sequence[str], top: float
) -> None:
    """Draw a bar with its percentages; categories that are not in `shown` are part of `other`."""
    values = {str(k): float(v) for k, v in zip(part["category"], part[value], strict=True)}
    total = sum(values.values())
    values["other"] = sum(v for name, v in values.items() if name not in shown or name == "other")
    left = 0.0
    for name in shown:
        width = values.get(name, 0.0)
        axes.barh(place, width, 0.7, left, color=COLOURS[name], lw=0)
        if width > _NAMED * top:
            axes.text(
                *(left + width / 2, place, f"{100 * width / total:.0f} %"),
                ha="center",
                va="center",
                fontsize=7.5,
                color="white" if name in DARK else "black",
            )
        left += width
