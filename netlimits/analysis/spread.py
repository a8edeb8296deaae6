"""How much repeated runs of a point differ, and which tool is more repeatable.

The Turin report's "variance" is the sum of the points' ranges divided by the number of points.
Three measures do not depend on the number of samples:

- the pooled standard deviation √(Σ (nᵢ − 1) sᵢ² / Σ (nᵢ − 1)),
- the pooled coefficient of variation, from deviations relative to each point's mean,
- the ranges divided by d₂(n), the expected range of n normal samples in standard deviations
  (Tippett 1925).

A mean's interval is Student's t. A pooled deviation's interval is the delete-a-point jackknife of
its logarithm, if there are six points or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from netlimits.analysis import frames, pooling
from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.analysis.sources.sketches import sketched
from netlimits.analysis.statistics import cells, intervals
from netlimits.errors import DataError
from netlimits.metrics import Metric


def spread(
    frame: Runs,
    of: str = "throughput",
    by: str | Sequence[str] = "send_size",
    series: str | Sequence[str] = (),
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Summarize the runs at each point: a combination of `series` and `by`.

    A row that is the mean of several runs (`aggregated_runs`, the Turin scripts' files) counts as
    that many runs. Their extremes are in the row's columns for minimum and maximum, such as
    `throughput_min_mbps`.

    Args:
        frame: A row for each run, or a relation (`campaign.relation()`).
        of: The metric.
        by: Factors of the points.
        series: Further factors of the points, which come first.
        confidence: Confidence level of the intervals.
        pool: Factors that may differ within a point.

    Returns:
        The factors, `n`, `min`, `mean`, `max`, `range`, `sd`, `cv_pct`, and the mean's interval
        `low` and `high` (NaN for a single run, and for rows that are means).

    Raises:
        DataError: A column is missing, or runs of a point differ in a factor that is not in `pool`.
    """
    sketch_of_all = sketched(frame, of)
    sketch, (across, along, pooled) = frames.resolve(sketch_of_all, series, by, pool)
    keys = [*across, *along]
    metric = frames.metric_for(sketch, of, keys)
    pooling.refuse(frames.usable(sketch), keys, pooled)
    rows = []
    for key, points in _samples(
        frame, sketch, keys, [*frames.as_list(series), *frames.as_list(by)], metric
    ):
        n = points["n"].sum()
        mean = float((points["n"] * points["mean"]).sum() / n)
        sd = points["mean"].std() if n == len(points) else np.nan
        least, most = points["min"].min(), points["max"].max()
        rows.append((*key, n, least, mean, most, most - least, sd))
    table = pd.DataFrame(rows, columns=[*keys, "n", "min", "mean", "max", "range", "sd"])
    table["cv_pct"] = 100 * table["sd"] / table["mean"]
    half = stdtrit(np.maximum(table["n"] - 1, 1), (1 + confidence) / 2) * table["sd"]
    half /= table["n"] ** 0.5
    table["low"], table["high"] = table["mean"] - half, table["mean"] + half
    return table


def _samples(
    frame: Runs, sketch: pd.DataFrame, keys: Sequence[str], given: Sequence[str], metric: Metric
) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield each point's key and a frame with the `n`, `min`, `mean` and `max` of each row's runs.

    A row is one run, or several runs of an aggregated frame. `keys` are the names of the factors in
    `sketch`, and `given` their names in `frame`.
    """
    if frames.AGGREGATED in frame.columns and not isinstance(frame, Relation):
        runs = frames.complete(frames.usable(sketch), [metric.column]).reset_index(drop=True)
        figures = _figures(runs, metric)
        for key, part in frames.groups(runs, keys):
            yield key, figures.loc[part.index]
        return
    for key, values in cells.complete(frame, given, metric):
        yield key, pd.DataFrame({"n": 1, "min": values, "mean": values, "max": values})


def _figures(runs: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Return the number of runs of each row, and their minimum, mean and maximum."""
    value = runs[metric.column]
    n = frames.weights(runs)
    ends = {}
    for end in ("min", "max"):
        name = metric.extreme(end)
        lone = value.where(n == 1)
        ends[end] = lone.fillna(runs[name]) if name in runs.columns else lone
        lacking = int(ends[end].isna().sum())
        if lacking:
            raise DataError(
                f"{name} is missing in {lacking} rows that are means of several runs "
                f"({frames.AGGREGATED})"
            )
    return pd.DataFrame({"n": n, "mean": value, **ends})


def repeatability(points: pd.DataFrame, series: str | Sequence[str] = ()) -> pd.DataFrame:
    """Measure how well the points of each series repeat, in the metric's unit.

    Points of one run are left out.

    Args:
        points: The frame of `spread`, or any with `n`, `min`, `mean` and `max`.
        series: Factors whose combinations are the series.

    Returns:
        The factors, `points`, `runs`, `turin_variance` (sum of ranges over number of points),
        `sd_from_ranges` (mean of range / d₂(n)), `pooled_sd` and `pooled_cv_pct` (NaN if an `sd` is
        unknown), both with `…_low` and `…_high` (NaN for fewer than six points).

    Raises:
        DataError: A column is missing, or no point has several runs.
    """
    for name in ("n", "min", "mean", "max"):
        if name not in points.columns:
            raise DataError(
                f"no column {name!r}; give the frame of spread, or one with n, min, mean and max"
            )
    keys = frames.factors(points, series)
    rows = []
    several = points[points["n"] > 1]
    if several.empty:
        raise DataError("no point has more than one run; a spread needs two or more")
    for key, part in frames.groups(several, keys):
        ranges = part["max"] - part["min"]
        row = dict(zip(keys, key, strict=True)) | {
            "points": len(part),
            "runs": int(part["n"].sum()),
            "turin_variance": ranges.sum() / len(part),
            "sd_from_ranges": (ranges / part["n"].map(expected_range)).mean(),
        }
        sd = part["sd"] if "sd" in part.columns else pd.Series(np.nan, part.index)
        for name, spreads in (("pooled_sd", sd), ("pooled_cv_pct", 100 * sd / part["mean"])):
            pooled = _pooled(spreads, part["n"] - 1)
            row |= {name: pooled.value, f"{name}_low": pooled.low, f"{name}_high": pooled.high}
        rows.append(row)
    return pd.DataFrame(rows)


def _pooled(spreads: pd.Series[Any], freedom: pd.Series[Any]) -> intervals.Interval:
    """Return √(Σ ν s² / Σ ν) with its interval, or NaN if an s is unknown."""
    squares, weights = (freedom * spreads**2).to_numpy(), freedom.to_numpy(dtype=float)
    pooled = float(squares.sum() / weights.sum())
    if len(squares) < intervals.ENOUGH or not pooled > 0:
        return intervals.Interval(pooled**0.5, np.nan, np.nan)
    without = (squares.sum() - squares) / (weights.sum() - weights)
    if not (without > 0).all():
        return intervals.Interval(pooled**0.5, np.nan, np.nan)
    interval = intervals.jackknife(float(np.log(pooled)), np.log(without))
    value, low, high = (float(np.exp(x / 2)) for x in interval[:3])
    return intervals.Interval(value, low, high)


@cache
def expected_range(n: int) -> float:
    """Return the expected range of normal samples, d₂(n) (Tippett 1925).

    It is ∫ 1 − (1 − Φ(x))ⁿ − Φ(x)ⁿ dx over the line.

    Args:
        n: Number of samples.

    Returns:
        Maximum less minimum, in standard deviations.

    Raises:
        DataError: `n` is below 2.
    """
    from scipy.integrate import quad
    from scipy.special import ndtr

    if n < 2:
        raise DataError(f"n: a range needs two samples or more, not {n}")
    value, _ = quad(lambda x: 1 - ndtr(-x) ** n - ndtr(x) ** n, 0, 40, points=[5, 10])
    return 2 * float(value)
