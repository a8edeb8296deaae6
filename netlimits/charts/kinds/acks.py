"""Chart of service demand and throughput against segments per ACK, with throughput anomalies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from netlimits.analysis import frames
from netlimits.analysis.acks import CONFIG, TOLERANCE
from netlimits.analysis.acks import acks as acks_frame
from netlimits.analysis.statistics import intervals
from netlimits.analysis.statistics.intervals import ENOUGH
from netlimits.charts._colours import SeriesStyle, series_styles
from netlimits.charts._labels import heading, log_axis, two_lines
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style
from netlimits.errors import DataError

SPREAD = 20
"""The x-axis is logarithmic if its largest value is at least this many times its smallest.

In the published report this ratio is 16, so its chart keeps a linear axis.
"""


def acks(
    frame: pd.DataFrame,
    of: str = "local_sd",
    series: str | Sequence[str] = (),
    ratio: str = "segments_per_ack",
    tolerance: float = TOLERANCE,
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw service demand and throughput against segments per ACK, with a curve for each series.

    The upper panel shows service demand, the lower panel throughput. Hollow points are throughput
    anomalies, as `analysis.acks` defines them. A curve connects the other runs or, if the frame has
    a column `config`, the means of the configurations.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metric of the upper panel.
        series: Factors whose combinations are the curves.
        ratio: Column with the segments per ACK.
        tolerance: Shortfall from the throughput of the curve's fastest run, as a share. Runs with a
            larger shortfall are anomalies.
        title: Title of the chart, by default made from the metric.
        pool: Factors that may differ within a point.

    Returns:
        Two panels over segments per ACK: the metric in its unit, and throughput in Mbit/s.

    Raises:
        DataError: A column is missing, a value is not above zero, or `of` is the throughput. Or
            runs differ in a factor that is not in `series` or `pool`.
    """
    frame, (keys, (ratio,), pooled) = frames.resolve(frame, series, ratio, pool)
    table = acks_frame(frame, of, keys, ratio=ratio, tolerance=tolerance, pool=pooled)
    metric = frames.column(frame, of)
    rate = frames.column(frame, "throughput")
    if metric.column == rate.column:
        raise DataError(f"of: {of} is the lower panel already; name another metric")
    parts = frames.groups(table, keys)
    marks = Marks.from_frame(frame, [CONFIG] if _measured(table) else [])
    styles = series_styles([key for key, _ in parts], keys)
    # the legend lists the curves from the top down
    parts.sort(key=lambda part: -float(part[1][metric.column].mean()))
    with style():
        figure, (costs, rates) = blank(6.8, 5.4, 2)
        for key, part in parts:
            for axes, column in ((costs, metric.column), (rates, rate.column)):
                _series(axes, part, ratio, column, styles[key])
                if _measured(table):
                    means = part.groupby(CONFIG)[[ratio, column]].mean()
                    marks.at_points(
                        axes, (((row.Index,), row[1], row[2]) for row in means.itertuples())
                    )
            rates.plot([], [], **styles[key].plot, label=styles[key].label)
        costs.set_ylabel(two_lines(metric))
        rates.set_ylabel(two_lines(rate))
        rates.set_xlabel("Segments per ACK" + (", measured" if _measured(table) else ""))
        for axes, column in ((costs, metric.column), (rates, rate.column)):
            axes.set_ylim(0, float(table[column].max()) * 1.08)
        _across(rates, table[ratio])
        marks.key(figure)
        rule = f"hollow: throughput anomaly, below {100 * (1 - tolerance):g} % of the link's rate"
        if not table.attrs.get("link_limited", True):
            share = f"{100 * (1 - tolerance):g} %"
            rule = f"no anomalies marked: most runs were below {share} of their curve's fastest"
        if _measured(table) and table[CONFIG].duplicated().any():
            rule += " · faint: runs, curve: means of configurations"
            if table.groupby(CONFIG).size().max() >= ENOUGH:
                rule += ", 95 % intervals"
        title = title or f"{metric.title} against segments per ACK"
        heading(costs, title, metric.direction, rule)
        if keys:
            rates.legend(loc="lower left", ncols=2 if len(parts) > 2 else 1)
    return figure


def _measured(table: pd.DataFrame) -> bool:
    """Return True if the runs come from a campaign, which measures segments per ACK in each run."""
    return CONFIG in table.columns


def _series(axes: Axes, part: pd.DataFrame, x: str, y: str, line: SeriesStyle) -> None:
    """Draw a curve through the runs, or through the means of configurations, and the anomalies."""
    good, odd = part[~part["anomaly"]], part[part["anomaly"]]
    if _measured(part):
        axes.plot(good[x], good[y], line.marker, color=line.color, alpha=0.3, markeredgewidth=0)
        together = good.groupby(CONFIG)
        errors = together[y].agg(_half)
        good = together[[x, y]].mean().assign(half=errors).sort_values(x)
        bars = good[good["half"].notna()]
        axes.errorbar(bars[x], bars[y], bars["half"], fmt="none", ecolor=line.color, elinewidth=1)
    axes.plot(good[x], good[y], **line.plot)
    axes.plot(odd[x], odd[y], line.marker, markerfacecolor="white", markeredgecolor=line.color)


def _half(runs: pd.Series[float]) -> float:
    """Return half the width of the mean's interval, NaN for fewer than ENOUGH runs."""
    interval = intervals.mean(runs.to_numpy(dtype=float))
    return interval.high - interval.value if len(runs) >= ENOUGH else np.nan


def _across(axes: Axes, ratios: pd.Series[float]) -> None:
    """Start the x-axis at zero, or make it logarithmic if the ratios differ SPREAD-fold or more."""
    low, high = float(ratios.min()), float(ratios.max())
    if high < SPREAD * low:
        axes.set_xlim(0, high * 1.02)
        return
    axes.set_xscale("log")
    axes.set_xlim(low / 1.1, high * 1.1)
    log_axis(axes.xaxis)
