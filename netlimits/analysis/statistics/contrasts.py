"""The ratio of one configuration's figure to another's, with its confidence interval.

The method depends on the number of blocks with runs of both configurations:

six blocks and more   Hodges and Lehmann's estimate with Wilcoxon's interval
two to five           log(y) ~ configuration + block: Student's t of the log ratios
no blocks             coin flips and imported files: Welch's t on logarithms
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from netlimits.analysis.statistics import intervals
from netlimits.analysis.statistics.intervals import ENOUGH, Interval

FALSE_DISCOVERIES = 0.05
"""False discovery rate: share of a table's significant results that may be due to chance."""

WILCOXON, TWO_WAY, WELCH, NONE = "wilcoxon", "two-way", "welch", ""


class Contrast(NamedTuple):
    """A ratio with its interval, method, number `n` of pairs or runs, and p-value of ratio 1."""

    value: float
    low: float
    high: float
    p: float
    method: str
    n: int


def ratio(
    top: np.ndarray,
    bottom: np.ndarray,
    blocks: tuple[np.ndarray, np.ndarray] | None = None,
    confidence: float = 0.95,
) -> Contrast:
    """Return the ratio of `top` to `bottom` with its interval; all values must be above zero."""
    logs = np.log(top), np.log(bottom)
    if blocks is not None:
        pairs = within_blocks(logs, blocks)
        if len(pairs):
            interval, method = paired(pairs, confidence)
            return _exponentiated(interval, method, len(pairs))
    return _exponentiated(welch(*logs, confidence), WELCH, len(top) + len(bottom))


def paired(differences: np.ndarray, confidence: float = 0.95) -> tuple[Interval, str]:
    """Return the estimate of differences within blocks with its interval, and the method."""
    if len(differences) >= ENOUGH:
        return intervals.hodges_lehmann(differences, confidence), WILCOXON
    return intervals.mean(differences, confidence), TWO_WAY


def within_blocks(
    values: tuple[np.ndarray, np.ndarray], blocks: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return first minus second for each block with runs of both; runs in a block are averaged."""
    (of_first, first), (of_second, second) = map(_means, values, blocks)
    places = np.searchsorted(of_second, of_first)
    both = places < len(of_second)
    both[both] = of_second[places[both]] == of_first[both]
    difference: np.ndarray = first[both] - second[places[both]]
    return difference


def _means(values: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if (blocks[1:] > blocks[:-1]).all():
        return blocks, values
    names, places, counts = np.unique(blocks, return_inverse=True, return_counts=True)
    if len(names) == len(values):
        return names, values[np.argsort(places)]
    return names, np.bincount(places, values) / counts


def welch(first: np.ndarray, second: np.ndarray, confidence: float = 0.95) -> Interval:
    """Return the difference of two means, with Welch and Satterthwaite's degrees of freedom."""
    value = float(first.mean() - second.mean())
    if len(first) < 2 or len(second) < 2:
        return Interval(value, np.nan, np.nan)
    parts = [float(x.var(ddof=1)) / len(x) for x in (first, second)]
    error = sum(parts) ** 0.5
    if error == 0:
        return Interval(value, value, value, float(value == 0))
    freedom = error**4 / sum(
        part**2 / (len(x) - 1) for part, x in zip(parts, (first, second), strict=True)
    )
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return Interval(
        value, value - half, value + half, 2 * float(stdtr(freedom, -abs(value) / error))
    )


def significance_threshold(p_values: Sequence[float], share: float) -> float:
    """Return the limit up to which p-values are significant at the false discovery rate `share`.

    The limit is -1 if none is significant.

    Benjamini and Hochberg 1995; written out because importing scipy.stats takes as long as a table.
    """
    ordered = np.sort(np.asarray(p_values, float))
    limits = share * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    return float(limits[ordered <= limits].max(initial=-1.0))


def _exponentiated(interval: Interval, method: str, n: int) -> Contrast:
    value, low, high = (float(np.exp(x)) for x in interval[:3])
    return Contrast(value, low, high, interval.p, method if not np.isnan(low) else NONE, n)
