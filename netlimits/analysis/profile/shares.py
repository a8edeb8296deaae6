"""Shares of profile samples, and their products with service demand, with intervals.

The interval of a share is Wilson's, with the number of samples divided by the dispersion between
profiled runs. The interval of a difference or a product combines two intervals by the distances of
their ends from their estimates. For a product these are distances of logarithms (Zou and Donner,
"Construction of confidence limits about effect measures", 2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from netlimits.analysis.statistics.intervals import Interval
from netlimits.model.cpu_categories import CATEGORIES

DEGREES = 4
"""Degrees of freedom with which all categories' mean dispersion enters that of each category."""

LEAST = 5.0
"""Minimum number of expected samples of a category in each run, to estimate its dispersion."""

_QUANTILE = 0.975


def counts_of(runs: pd.DataFrame, end: str) -> np.ndarray:
    """Return the samples of each run (rows) and category (columns); no rows without a profile."""
    samples = f"{end}_profile_samples"
    if samples not in runs.columns:
        return np.empty((0, len(CATEGORIES)))
    runs = runs[runs[samples].fillna(0) > 0]
    shares = runs[[f"{end}_profile_{name}_pct" for name in CATEGORIES]].to_numpy(dtype=float)
    counts: np.ndarray = shares / 100 * runs[[samples]].to_numpy(dtype=float)
    return counts


@dataclass(frozen=True)
class Dispersion:
    """The dispersion factor of each category.

    It is the variance of the category's share between runs, divided by the variance that
    independent samples would have. `degrees` are the degrees of freedom of each factor.
    """

    factors: np.ndarray
    degrees: np.ndarray

    @classmethod
    def from_groups(cls, end: str, groups: Sequence[pd.DataFrame]) -> Dispersion:
        """Estimate the dispersion at an end from the profiled runs of each configuration."""
        squares, degrees = np.zeros(len(CATEGORIES)), np.zeros(len(CATEGORIES))
        for counts in (counts_of(runs, end) for runs in groups):
            if len(counts) < 2:
                continue
            expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
            enough = expected.min(0) >= LEAST
            variance = expected * (1 - expected / counts.sum(1, keepdims=True))
            with np.errstate(invalid="ignore", divide="ignore"):
                terms = ((counts - expected) ** 2 / variance).sum(0)
            squares += np.where(enough, terms, 0.0)
            degrees += np.where(enough, len(counts) - 1, 0)
        every = squares.sum() / degrees.sum() if degrees.sum() else 1.0
        factors = (squares + DEGREES * every) / (degrees + DEGREES)
        own = degrees + (DEGREES if degrees.sum() else math.inf)
        return cls(np.maximum(1.0, factors), own)


def share(count: float, samples: float, dispersion: float, degrees: float) -> Interval:
    """Return a share of samples with Wilson's interval, widened by the dispersion."""
    n, value = samples / dispersion, count / samples
    t = float(stdtrit(min(degrees, 1e6), _QUANTILE))
    centre = (value + t * t / (2 * n)) / (1 + t * t / n)
    half = t / (1 + t * t / n) * math.sqrt(value * (1 - value) / n + (t / (2 * n)) ** 2)
    return Interval(value, max(0.0, centre - half), min(1.0, centre + half))


def product(ratio: Interval, demand: Interval) -> Interval:
    """Return the product of a share and a service demand, with its interval."""
    value = ratio.value * demand.value
    if math.isnan(demand.low):
        return Interval(value, math.nan, math.nan)
    if ratio.value <= 0:
        return Interval(0.0, 0.0, ratio.high * demand.high)
    low, high = (
        0.0,
        value * math.exp(_distance(ratio.high / ratio.value, demand.high / demand.value)),
    )
    if ratio.low > 0 and demand.low > 0:
        low = value * math.exp(-_distance(ratio.value / ratio.low, demand.value / demand.low))
    return Interval(value, low, high)


def _distance(*ratios: float) -> float:
    return math.hypot(*(math.log(ratio) for ratio in ratios))


def difference(first: Interval, second: Interval) -> Interval:
    """Return the second value minus the first, with the interval of the difference."""
    value = second.value - first.value
    low = value - math.hypot(second.value - second.low, first.high - first.value)
    high = value + math.hypot(second.high - second.value, first.value - first.low)
    return Interval(value, low, high)
