"""The chart that shows the split: time per packet against its size, in its two parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import cost as analysis
from netlimits.analysis import frames
from netlimits.charts.style import GREY, KNOWN, Chart, blank, heading, style, thousands
from netlimits.metrics import metric

PACKET_SHADE, BYTE_SHADE = "#AFC6DD", "#F6E7CC"


def cost(
    frame: pd.DataFrame,
    of: str | Sequence[str] = ("local_sd", "remote_sd"),
    size: str = "send_size",
    title: str | None = None,
) -> Chart:
    """A panel for each metric: runs, the fitted line, and what is per packet and what per byte.

    Of one configuration but for the size; `analysis.cost` has the model, and raises what this
    raises.
    """
    names = [of] if isinstance(of, str) else list(of)
    table = analysis.cost(frame, names, size)
    with style():
        figure, panels = blank(
            3.6 * len(names) + (1.2 if len(names) == 1 else 0), 3.9, 1, len(names)
        )
        top = 0.0
        for axes, (name, row) in zip(
            panels, zip(names, table.to_dict("records"), strict=True), strict=True
        ):
            times = analysis.packet_times(frame, name, size)
            top = max(top, _panel(axes, times, size, name, {str(k): v for k, v in row.items()}))
        for axes in panels:
            axes.set_ylim(0, top * 1.08)
            thousands(axes, "xy")
        panels[0].set_ylabel("Time per packet (ns)")
        figure.suptitle(
            title or "What a packet costs, and what its bytes cost",
            x=0.01,
            ha="left",
            fontsize=11,
            fontweight="bold",
        )
    return figure


def _panel(axes: Axes, times: pd.DataFrame, size: str, name: str, row: dict[str, float]) -> float:
    """One metric: the two parts as areas under the line, the runs above them."""
    x = np.array([0.0, float(times[size].max()) * 1.06])
    packet = np.full(2, row["packet_ns"])
    line = packet + row["kib_ns"] * x / 1024
    axes.fill_between(x, 0, packet, color=PACKET_SHADE, linewidth=0)
    axes.fill_between(x, packet, line, color=BYTE_SHADE, linewidth=0)
    axes.plot(x, packet, color="#222222", linewidth=0.8, linestyle=":")
    axes.plot(x, line, color="#222222", linewidth=1.2)
    colour = KNOWN["receiver" if name.startswith("remote") else "sender"]
    axes.plot(times[size], times["ns"], "o", color=colour, markeredgecolor="white", markersize=5.5)
    axes.set_xlim(*x)
    axes.set_xlabel(f"Data per packet ({frames.FACTOR_UNITS.get(size, 'bytes')})")
    half = (row["packet_ns_high"] - row["packet_ns_low"]) / 2
    axes.text(
        x[1] * 0.97,
        row["packet_ns"] * 0.5,
        f"per packet\n{row['packet_ns']:.0f} ± {half:.0f} ns (95 %)",
        ha="right",
        va="center",
    )
    half = (row["kib_ns_high"] - row["kib_ns_low"]) / 2
    axes.annotate(
        f"per KiB {row['kib_ns']:.0f} ± {half:.0f} ns (95 %)",
        (x[1] * 0.62, packet[0] + row["kib_ns"] * x[1] * 0.62 / 1024),
        xytext=(-6, 8),
        textcoords="offset points",
        ha="right",
    )
    what = "Time per send" if name == analysis.TIME_PER_SEND else metric(name).title
    axes.set_title("")
    heading(axes, "", f"{what} · {row['n']:.0f} runs")
    axes.tick_params(colors=GREY)
    return float(max(line.max(), times["ns"].max()))
