"""Charts of parallel streams: their sum over time, and the highest average against the MTU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import frames, pooling, wording
from netlimits.analysis.aggregate import OF_AN_INTERVAL, highest_averages, highest_window
from netlimits.analysis.aggregate import aggregate as aggregate_frame
from netlimits.analysis.goodput import bits_per_second, bound
from netlimits.analysis.spread import spread as spread_frame
from netlimits.charts._colours import BLACK, BLUE, GREY, MARKERS, series_styles
from netlimits.charts._labels import goodput_bound, heading, thousands
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError
from netlimits.metrics import metric as metric_of

GROUP = 0.8
"""Total width of the bars at a value on the x-axis. Neighbouring values are 1 apart."""

HATCHES = ("", "///", "...", "xxx", "---")
"""Hatches that distinguish bars of the same colour."""

LINE_OF_LIMITS = 0.06
"""Share of the y-axis that a line of text above the bars takes up."""

DOTS: Mapping[str, Any] = {"ls": "", "marker": "o", "ms": 4, "mfc": "white", "mec": BLACK}


def aggregate(
    intervals: pd.DataFrame,
    of: str = "throughput",
    stream: str | Sequence[str] = "stream",
    step: float | None = None,
    window_s: float | None = None,
    bound_mbps: float | None = None,
    run: int | None = None,
    title: str | None = None,
) -> Chart:
    """Draw the sum of a run's streams over the time in which all of them ran.

    The `window_s` seconds with the highest average are shaded.

    Args:
        intervals: Interim results (`campaign.intervals()`). If the frame has no column `stream`,
            each run is a stream.
        of: Metric to draw.
        stream: Columns that distinguish the streams.
        step: Length of a step in seconds; by default a step begins wherever the sum changes.
        window_s: Length in seconds of the shaded window; by default no window is shaded.
        bound_mbps: Goodput bound in Mbit/s; by default no bound is drawn.
        run: Run to draw, if the frame contains several.
        title: Title of the chart, by default made from the metric.

    Returns:
        One panel: the sum in the metric's unit over seconds since all streams ran.

    Raises:
        DataError: The run does not exist, the streams never ran together, or not for `window_s`
            seconds. Or the results of a stream leave a gap or overlap.
    """
    intervals = frames.one_run(intervals, run)
    metric = frames.column(intervals, of)
    series = aggregate_frame(intervals, of, stream, step)
    with style():
        figure, (axes,) = blank()
        edges = np.append(series["start_s"], series["end_s"].iloc[-1])
        axes.stairs(series[metric.column], edges, color=BLUE, linewidth=1.6, baseline=None)
        top = float(series[metric.column].max())
        if bound_mbps is not None:
            goodput_bound(axes, bound_mbps, metric.unit)
            top = max(top, bound_mbps)
        if window_s is not None:
            best = highest_window(series, window_s, of).iloc[0]
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
        parted = series.attrs
        count = series["streams"].iloc[0]
        together = f"{count} streams together" if count > 1 else "one stream"
        skew = (
            f"starts differ by {parted['start_skew_s']:.2g} s, ends by {parted['end_skew_s']:.2g} s"
            f"; {100 * parted['left_out']:.2g} % of the data are outside the common window"
        )
        title = title or f"{metric.title} of {together}"
        heading(axes, title, intervals.attrs.get("run", ""), skew if count > 1 else "")
    return figure


def highest_average(
    intervals: pd.DataFrame,
    window_s: float | None = None,
    by: str = "mtu",
    series: str | Sequence[str] = (),
    link: str | float | None = None,
    cap: str | float | None = None,
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw the highest average of the runs over any `window_s` seconds, as bars against the MTU.

    Each combination of `series` has a bar at each value of `by`. A bar is the mean of the runs, and
    a dot is a run. The goodput bound of a link depends on the MTU, but an egress cap does not. So
    the chart shows whether the link or the cap limits the runs.

    Args:
        intervals: Interim results (`campaign.intervals()`).
        window_s: Length of the window in seconds, by default the time in which all streams of a
            run ran.
        by: Factor of the x-axis.
        series: Factors whose combinations are the bars.
        link: Bit rate of the link ("100G" or a number in bit/s), or the name of a column with the
            bit rate. The chart shows the link's goodput bound at each MTU (column `mtu`), for TCP
            with timestamps on plain Ethernet.
        cap: Egress cap on user data: a bit rate, or the name of a column with the bit rate.
        title: Title of the chart, by default made from `by`.
        pool: Factors that may differ within a bar.

    Returns:
        One panel: averages in Mbit/s, with groups of bars along `by`.

    Raises:
        DataError: No run has a highest average, or `link` is given and the runs have no column
            `mtu`. Or runs of a bar differ in a factor that is not in `pool`.
    """
    intervals, (keys, (by,), pooled) = frames.resolve(intervals, series, by, pool)
    runs = highest_averages(intervals, window_s)
    varied = [name for name in frames.varied(intervals) if name not in OF_AN_INTERVAL]
    pooling.refuse(runs, [by, *keys], pooled, among=varied)
    metric = metric_of("highest_average")
    places = sorted(runs[by].unique(), key=wording.rank)
    parts = frames.groups(runs, keys)
    styles = series_styles([key for key, _ in parts], keys)
    marks = Marks.from_frame(intervals, [*keys, by])
    several = len({line.color for line in styles.values()}) < len(styles)
    width = GROUP / len(parts)
    with style():
        figure, (axes,) = blank(6.8, 4.2)
        for number, (key, part) in enumerate(parts):
            middle = (number + 0.5) * width - GROUP / 2
            line = styles[key]
            means = part.groupby(by)[metric.column].mean()
            x = [places.index(value) + middle for value in means.index]
            hatch = HATCHES[MARKERS.index(line.marker) % len(HATCHES)] if several else ""
            axes.bar(
                *(x, means, width * 0.9),
                color=line.color,
                label=line.label,
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
            )
            bars = zip(means.index, x, strict=True)
            marks.in_bars(axes, (((*key, value), at) for value, at in bars))
            if len(part) > len(means):
                dots = [places.index(value) + middle for value in part[by]]
                axes.plot(dots, part[metric.column], **DOTS)
        _limits(axes, runs, by, places, link, cap)
        axes.set_xticks(range(len(places)), [wording.text(place) for place in places])
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.5, len(places) - 0.5)
        axes.set_xlabel(wording.title(by))
        axes.set_ylabel(metric.label)
        thousands(axes)
        if keys:
            figure.legend(
                loc="outside lower center", handlelength=1.2, ncols=2,
                title=marks.words or None, title_fontproperties={"size": 8.5},
            )  # fmt: skip
        else:
            marks.key(figure)
        length = "all the time" if window_s is None else f"any {window_s:g} s"
        about = f"highest average over {length} that all streams of a run share"
        if len(runs) > len(runs.drop_duplicates([by, *keys])):
            about += "; bars: mean, dots: runs"
        if without := len(runs.attrs["left_out"]):
            about += f"; {without} run{'s' if without > 1 else ''} left out"
        heading(axes, title or f"Aggregate throughput against {wording.name(by)}", about)
    return figure


def _limits(
    axes: Axes,
    runs: pd.DataFrame,
    by: str,
    places: Sequence[Any],
    link: str | float | None,
    cap: str | float | None,
) -> None:
    """Draw the goodput bound and the egress cap at each value of `by`, and label both."""
    drawn: list[float] = [0.0]
    labels: dict[int, list[str]] = {at: [] for at in range(len(places))}
    for what, limit in (("goodput bound", link), ("egress cap", cap)):
        if limit is None:
            continue
        rates = runs.apply(_limit_of, axis=1, limit=limit, of_link=what == "goodput bound")
        for at, place in enumerate(places):
            here = sorted(rates[runs[by] == place].unique())
            axes.hlines(here, at - 0.48, at + 0.48, color=GREY, lw=1, ls=(0, (6, 2)))
            values = " and ".join(f"{rate:,.3g}" if rate < 100 else f"{rate:,.0f}" for rate in here)
            labels[at].append(f"{what} {values} Mbit/s")
            drawn += map(float, here)
    top = max(*drawn, float(axes.dataLim.y1))
    for at, words in labels.items():
        if words:
            axes.annotate(
                "\n".join(words),
                (at, top),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=GREY,
            )
    axes.set_ylim(0, top * (1.06 + LINE_OF_LIMITS * max(map(len, labels.values()), default=0)))


def _limit_of(run: pd.Series[Any], limit: str | float, of_link: bool) -> float:
    """Return a run's limit in Mbit/s of user data.

    The limit is the link's goodput bound at the run's MTU if `of_link`, or else an egress cap.
    """
    rate = run[limit] if isinstance(limit, str) and limit in run.index else limit
    if not of_link:
        return bits_per_second(rate) / 1e6
    if "mtu" not in run.index:
        raise DataError("link: its goodput bound depends on the MTU, and the runs have no `mtu`")
    return bound(int(run["mtu"]), rate, timestamps=True).goodput_bps / 1e6


STEPS = 60
"""Maximum number of rows of the table for the chart `aggregate`."""


def highest(
    intervals: pd.DataFrame,
    window_s: float | None = None,
    by: str = "mtu",
    series: str | Sequence[str] = (),
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the table for the chart `highest_average`: a summary of the runs of each bar.

    Args:
        intervals: Interim results (`campaign.intervals()`).
        window_s: Length of the window in seconds, by default the time in which all streams of a run
            ran.
        by: Factor of the rows.
        series: Factors of the columns.
        pool: Factors that may differ within a bar.

    Returns:
        A frame as `analysis.summary` returns it, of the metric `highest_average_mbps`.

    Raises:
        DataError: No run has a highest average, or runs of a bar differ in a factor that is not in
            `pool`.
    """
    runs = highest_averages(intervals, window_s)
    table = spread_frame(runs, "highest_average", by, series, pool=pool)
    reasons = (f"run {run} is left out: {why}" for run, why in runs.attrs["left_out"].items())
    table.attrs["notes"] = (*table.attrs.get("notes", ()), *reasons)
    return table


def steps(
    intervals: pd.DataFrame,
    of: str = "throughput",
    stream: str | Sequence[str] = "stream",
    step: float | None = None,
    run: int | None = None,
) -> pd.DataFrame:
    """Return the table for the chart `aggregate`: the sum of the streams in up to STEPS rows."""
    rows = frames.one_run(intervals, run)
    table = aggregate_frame(rows, of, stream, step=step)
    if len(table) > STEPS:
        seconds = float(table["end_s"].iloc[-1] - table["start_s"].iloc[0])
        table = aggregate_frame(rows, of, stream, step=seconds / STEPS)
    return table
