"""Service demand and throughput against segments per ACK, throughput anomalies marked."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis import acks as analysis
from netlimits.analysis import frames
from netlimits.charts.style import Chart, blank, heading, looks, style, two_lines


def acks(
    frame: pd.DataFrame,
    of: str = "local_sd",
    series: str | Sequence[str] = (),
    ratio: str = "segments_per_ack",
    tolerance: float = analysis.TOLERANCE,
    title: str | None = None,
) -> Chart:
    """Above the metric, below the throughput, over segments per ACK; a curve for each series.

    Hollow points are throughput anomalies by the rule of `analysis.acks`; the curve joins the
    other runs only. Raises DataError as that does.
    """
    keys = frames.factors(frame, series)
    table = analysis.acks(frame, of, keys, ratio=ratio, tolerance=tolerance)
    metric = frames.column(frame, of)
    rate = frames.column(frame, "throughput")
    parts = frames.groups(table, keys)
    look_of = looks([key for key, _ in parts], keys)
    # named from the top curve down, as they stand: TSO off, then on, as the report has them
    parts.sort(key=lambda part: -float(part[1][metric.column].mean()))
    with style():
        figure, (costs, rates) = blank(6.8, 5.4, 2)
        for key, part in parts:
            look = look_of[key]
            good, odd = part[~part["anomaly"]], part[part["anomaly"]]
            for axes, column in ((costs, metric.column), (rates, rate.column)):
                axes.plot(good[ratio], good[column], **look.plot)
                axes.plot(
                    odd[ratio],
                    odd[column],
                    look.marker,
                    markerfacecolor="white",
                    markeredgecolor=look.color,
                )
            rates.plot([], [], **look.plot, label=look.label)
        costs.set_ylabel(two_lines(metric))
        rates.set_ylabel(two_lines(rate))
        rates.set_xlabel("Segments per ACK")
        for axes, column in ((costs, metric.column), (rates, rate.column)):
            axes.set_ylim(0, float(table[column].max()) * 1.08)
        rates.set_xlim(0, float(table[ratio].max()) * 1.02)
        rule = f"hollow: throughput anomaly, below {100 * (1 - tolerance):g} % of the link's rate"
        heading(
            costs,
            title or f"{metric.title} against segments per ACK",
            f"{metric.direction} · {rule}",
        )
        if keys:
            rates.legend(loc="lower left")
    return figure
