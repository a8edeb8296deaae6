"""Parallel streams over time: their sum, and the window with the highest average."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from netlimits.analysis import aggregate as analysis
from netlimits.analysis import frames
from netlimits.charts.style import BLUE, Chart, blank, goodput_bound, heading, style, thousands


def aggregate(
    intervals: pd.DataFrame,
    of: str = "throughput",
    stream: str | Sequence[str] = "stream",
    offsets: Mapping[Hashable, float] | None = None,
    step: float | None = None,
    window_s: float | None = None,
    bound_mbps: float | None = None,
    title: str | None = None,
) -> Chart:
    """The streams' sum over the window common to all, the best `window_s` seconds shaded.

    `intervals`, `stream`, `offsets` and `step` are those of `analysis.aggregate`, which raises
    what this raises; without a column `stream`, runs are the streams.
    `bound_mbps` draws the goodput bound.
    """
    metric = frames.column(intervals, of)
    series = analysis.aggregate(intervals, of, stream, offsets, step)
    with style():
        figure, (axes,) = blank()
        edges = np.append(series["start_s"], series["end_s"].iloc[-1])
        axes.stairs(series[metric.column], edges, color=BLUE, linewidth=1.6, baseline=None)
        top = float(series[metric.column].max())
        if bound_mbps is not None:
            goodput_bound(axes, bound_mbps, metric.unit)
            top = max(top, bound_mbps)
        if window_s is not None:
            best = analysis.highest_window(series, window_s, of).iloc[0]
            axes.axvspan(best["start_s"], best["end_s"], color="#DCE7F1", linewidth=0, zorder=0)
            axes.annotate(
                f"highest average over {window_s:g} s\n{best[metric.column]:,.0f} {metric.unit}",
                ((best["start_s"] + best["end_s"]) / 2, 0),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
            )
        axes.set_xlim(0, float(edges[-1]))
        axes.set_ylim(0, top * 1.1)
        thousands(axes)
        axes.set_xlabel("Time since all streams ran (s)")
        axes.set_ylabel(metric.label)
        about = series.attrs
        heading(
            axes,
            title or f"{metric.title} of {series['streams'].iloc[0]} streams together",
            f"starts {about['start_skew_s']:.2g} s apart, ends {about['end_skew_s']:.2g} s; "
            f"{100 * about['left_out']:.2g} % of the data outside the common window",
        )
    return figure
