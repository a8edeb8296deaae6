"""Box plots and bar charts for factors that have few values, or values that are words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import caveats, frames, wording
from netlimits.analysis.percentiles import percentiles
from netlimits.analysis.spread import spread
from netlimits.analysis.statistics.intervals import ENOUGH
from netlimits.charts._colours import SeriesStyle, series_styles
from netlimits.charts._labels import heading, log_axis, thousands, title_of
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError
from netlimits.metrics import Metric

_DECADES = 30
"""Ratio of the largest to the smallest value above which `boxes` has a logarithmic axis."""

_Parts = list[tuple[tuple[object, ...], pd.DataFrame]]


def boxes(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw the runs of each combination of `series`, with a box for the middle half and a median.

    The axis is logarithmic if values differ by more than a factor of 30, as idle latency and
    latency under load do.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metric to draw.
        series: Factors whose combinations are the boxes.
        title: Title of the chart, by default made from the metric.
        pool: Factors that may differ within a box.

    Returns:
        One panel: a row for each combination, over the metric in its unit.

    Raises:
        DataError: A column is missing, a run lacks the metric, or runs of a box differ in a factor
            that is not in `series` or `pool`.
    """
    frame, (keys, pooled) = frames.resolve(frame, series, pool)
    metric = frames.metric_for(frame, of, keys)
    runs = percentiles(frame, of, keys, pool=pooled)
    least, most = runs[metric.column].min(), runs[metric.column].max()
    log = least > 0 and most > _DECADES * least

    def draw(axes: Axes, place: int, part: pd.DataFrame, line: SeriesStyle) -> None:
        values = part[metric.column]
        low, middle, high = values.quantile([0.25, 0.5, 0.75])
        axes.plot([values.min(), values.max()], [place, place], color=line.color, lw=1)
        axes.barh(place, high - low, 0.5, low, color=line.color, alpha=0.25)
        axes.plot([middle, middle], [place - 0.25, place + 0.25], color=line.color, lw=2.2)
        axes.plot(values, [place] * len(values), "o", color=line.color, ms=3, alpha=0.6, mew=0)

    about = "dots: runs, boxes: the middle half, lines: medians"
    chart = _chart(frame, metric, keys, frames.groups(runs, keys), draw, title, about)
    (axes,) = chart.axes
    if log:
        axes.set_xscale("log")
        log_axis(axes.xaxis)
    else:
        axes.set_xlim(min(0.0, 1.06 * least), max(0.0, 1.06 * most) or 1.0)
        thousands(axes, "x")
    return chart


def bars(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw the mean of each combination of `series` as a bar from 0, with the 95 % interval.

    A bar of fewer than six runs shows the runs instead of the interval.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metric to draw.
        series: Factors whose combinations are the bars.
        title: Title of the chart, by default made from the metric.
        pool: Factors that may differ within a bar.

    Returns:
        One panel: a row for each combination, over the metric in its unit.

    Raises:
        DataError: `series` is empty, a column is missing, or runs of a bar differ in a factor that
            is not in `series` or `pool`.
    """
    table = means(frame, of, series, pool)
    frame, (keys, _) = frames.resolve(frame, series, pool)
    metric = frames.metric_for(frame, of, keys)
    runs = {wording.hashed(key): part for key, part in frames.groups(frames.usable(frame), keys)}

    def draw(axes: Axes, place: int, part: pd.DataFrame, line: SeriesStyle) -> None:
        (row,) = part.to_dict("records")
        axes.barh(place, row["mean"], 0.6, color=line.color, alpha=0.55)
        if row["n"] < ENOUGH:
            values = runs[wording.hashed(row[key] for key in keys)][metric.column]
            axes.plot(values, [place] * len(values), "o", color="#222222", ms=3)
        elif pd.notna(row["low"]):
            half = row["high"] - row["mean"]
            axes.errorbar(row["mean"], place, xerr=half, color="#222222", lw=1, capsize=3)

    about = "bars: means, lines: their 95 % intervals"
    if table["n"].min() < ENOUGH:
        about = "bars: means, dots: runs"
    chart = _chart(frame, metric, keys, frames.groups(table, keys), draw, title, about)
    thousands(chart.axes[0], "x")
    return chart


def means(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the table for the chart `bars`: a row for each combination of `series`."""
    frame, (keys, pooled) = frames.resolve(frame, series, pool)
    if not keys:
        raise DataError("series: name a factor whose levels the bars compare")
    table = spread(frame, of, keys, pool=pooled)
    return table[[*keys, "n", "mean", "low", "high", "min", "max"]]


def _chart(
    frame: pd.DataFrame,
    metric: Metric,
    keys: Sequence[str],
    parts: _Parts,
    draw: Callable[[Axes, int, pd.DataFrame, SeriesStyle], None],
    title: str | None,
    about: str,
) -> Chart:
    """Draw a row for each part with `draw`, and label the rows on the y-axis.

    `about` is a note for the subtitle.
    """
    styles = series_styles([key for key, _ in parts], keys)
    marks = Marks.from_frame(frame, keys)
    with style():
        chart, (axes,) = blank(6.8, 1.5 + 0.38 * len(parts))
        for place, (key, part) in enumerate(parts):
            draw(axes, place, part, styles[key])
        names = [marks.label(styles[key].label, key) for key, _ in parts]
        axes.set_yticks(range(len(parts)), names)
        marks.key(chart)
        axes.set_ylim(len(parts) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(metric.label)
        title = title or title_of(metric, keys)
        heading(axes, title, metric.direction, about, *caveats.notes(frame, [metric.column]))
    return chart
