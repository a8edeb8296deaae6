"""Chart of metrics against send size or another number: means and min–max bands."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from netlimits.analysis import caveats, frames, wording
from netlimits.analysis.spread import spread as spread_frame
from netlimits.analysis.statistics.intervals import ENOUGH
from netlimits.charts._colours import series_styles
from netlimits.charts._labels import (
    goodput_bound,
    heading,
    label_ends,
    log_axis,
    log_ticks,
    thousands,
    two_lines,
)
from netlimits.charts._marks import KEY_OF_LINES, Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError
from netlimits.metrics import Metric

FEW = 8
"""Maximum number of x-values with ticks of their own; for more, `log_axis` chooses the ticks."""


def spread(
    frame: pd.DataFrame,
    of: str | Sequence[str] = "throughput",
    by: str = "send_size",
    series: str | Sequence[str] = (),
    bound_mbps: float | None = None,
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw means and min–max bands of metrics against send size or another number.

    Each metric has a panel, and each combination of `series` has a line with a band.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metrics to draw.
        by: Factor of the logarithmic x-axis.
        series: Factors whose combinations are the lines.
        bound_mbps: Goodput bound in Mbit/s (`analysis.goodput`), for panels in Mbit/s. By default
            no bound is drawn.
        title: Title of the chart, by default made from the metrics.
        pool: Factors that may differ within a point.

    Returns:
        A panel for each metric, in the metric's unit over `by`.

    Raises:
        DataError: A column is missing, or a value of `by` is not a number above zero. Or runs of a
            point differ in a factor that is not in `pool`.
    """
    names = frames.as_list(of)
    frame, (keys, (by,), pooled) = frames.resolve(frame, series, by, pool)
    numbers = pd.to_numeric(frame[by], errors="coerce")
    if pd.api.types.is_bool_dtype(frame[by]) or not (numbers > 0).all():
        raise DataError(f"by: the values of {by} must be numbers above zero for a logarithmic axis")
    frame = frame.assign(**{by: numbers})
    metrics = [frames.metric_for(frame, name, [*keys, by]) for name in names]
    marks = Marks.from_frame(frame, [*keys, by])
    runs = frames.usable(frame)
    few_runs = int(runs.groupby([*keys, by], dropna=False).size().min()) < ENOUGH
    with style():
        figure, panels = blank(6.8, 3.9 if len(names) == 1 else 2.9 * len(names), len(names))
        for axes, metric in zip(panels, metrics, strict=True):
            bound = bound_mbps if metric.unit == "Mbit/s" else None
            _panel(
                axes,
                spread_frame(frame, metric.column, by, keys, pool=pooled),
                metric,
                by,
                keys,
                bound,
                marks,
                runs,
            )
        marks.key(figure, KEY_OF_LINES)
        last = panels[-1]
        last.set_xlabel(wording.title(by))
        values = sorted(pd.to_numeric(frame[by]).unique())
        log_axis(last.xaxis)
        if len(values) <= FEW:
            last.xaxis.set_major_locator(FixedLocator(log_ticks(values)))
        about = "lines: means, bars: their 95 % intervals, bands: minimum to maximum run"
        if few_runs:
            about = "lines: means, dots: runs, bands: minimum to maximum run"
        notes = caveats.notes(frame, [m.column for m in metrics])
        rest = [m.title[:1].lower() + m.title[1:] for m in metrics[1:]]
        titles = " and ".join([metrics[0].title, *rest])
        heading(panels[0], title or f"{titles} against {wording.name(by)}", about, *notes)
    return figure


def _panel(
    axes: Axes,
    table: pd.DataFrame,
    metric: Metric,
    by: str,
    keys: Sequence[str],
    bound: float | None,
    marks: Marks,
    runs: pd.DataFrame,
) -> None:
    """Draw a metric: means, bands, the goodput bound, and labels of limits and series."""
    parts = frames.groups(table, keys)
    styles = series_styles([key for key, _ in parts], keys)
    runs_of = {wording.hashed(key): part for key, part in frames.groups(runs, keys)}
    enough = table["n"].min() >= ENOUGH
    ends = []
    for number, (key, part) in enumerate(parts):
        line = styles[key]
        part = part.sort_values(by)
        axes.fill_between(part[by], part["min"], part["max"], color=line.color, alpha=0.22, lw=0)
        axes.plot(part[by], part["mean"], **line.plot)
        if enough:
            bars = part[part["low"].notna()]
            half = bars["high"] - bars["mean"]
            axes.errorbar(bars[by], bars["mean"], half, fmt="none", ecolor=line.color, elinewidth=1)
        else:
            own = runs_of[wording.hashed(key)]
            axes.plot(own[by], own[metric.column], "o", color=line.color, ms=2.5, alpha=0.6, mew=0)
        points = zip(part[by], part["mean"], strict=True)
        keyed = (((*key, x), x, y) for x, y in points)
        marks.on_line(axes, keyed, color=line.color, below=number % 2 == 1)
        ends.append((float(part[by].iloc[-1]), float(part["mean"].iloc[-1]), line))
    top = float(max(table["max"].max(), table["high"].fillna(0).max() if enough else 0))
    if bound is not None:
        goodput_bound(axes, bound, metric.unit)
        top = max(top, bound)
    axes.set_xscale("log")
    bottom = float(min(table["min"].min(), 0))
    axes.set_ylim(bottom * 1.1, top * 1.1 if top > bottom else 1)
    axes.set_ylabel(two_lines(metric))
    thousands(axes)
    if keys:
        label_ends(axes, ends)
