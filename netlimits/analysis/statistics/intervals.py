"""Intervals of one sample of runs: a mean, a median, and a location of paired differences.

`benchmarks/coverage.py` prints the coverage of each interval. If a few runs are much slower,
Student's t covers less than its confidence level. From six runs on, the intervals of the median and
of Wilcoxon keep theirs.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from netlimits.analysis.statistics import walsh

ENOUGH = 6
"""Minimum number of runs, or blocks, for an interval that assumes no distribution."""

RARE = 60
"""Number of runs that show, with a probability of 95 %, what happens to one run in twenty."""

_EXACT = 60
"""Maximum number of differences for the exact distribution of signed ranks. For more differences it
is approximated by the normal distribution."""


class Interval(NamedTuple):
    """An estimate, the ends of its interval, and the p-value of the hypothesis that it is zero."""

    value: float
    low: float
    high: float
    p: float = float("nan")


def mean(sample: np.ndarray, confidence: float = 0.95) -> Interval:
    """Return the mean with Student's t interval; a single value has no interval."""
    n, value = len(sample), float(np.mean(sample))
    if n < 2:
        return Interval(value, np.nan, np.nan)
    error = float(np.std(sample, ddof=1)) / n**0.5
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    p = 2 * float(stdtr(n - 1, -abs(value) / error)) if error else float(value == 0)
    return Interval(value, value - half, value + half, p)


def jackknife(estimate: float, without: np.ndarray, confidence: float = 0.95) -> Interval:
    """Return an estimate's jackknife interval (Tukey 1958).

    `without` has the estimates that each leave out one group.
    """
    count = len(without)
    if count < 2:
        return Interval(estimate, np.nan, np.nan)
    pseudo = count * estimate - (count - 1) * without
    error = float(np.std(pseudo, ddof=1)) / count**0.5
    half = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    return Interval(estimate, estimate - half, estimate + half)


def median(sample: np.ndarray, confidence: float = 0.95) -> Interval:
    """Return the median with its order-statistic interval, which needs six values.

    The interval is interpolated between the pairs of order statistics that cover just more and just
    less than `confidence` (Hettmansperger and Sheather 1986).
    """
    n, value = len(sample), float(np.median(sample))
    if n < ENOUGH:
        return Interval(value, np.nan, np.nan)
    tail = (1 - confidence) / 2

    def below(d: int) -> float:
        """Return P(B < d) of a binomial B with probability one half."""
        return float(bdtr(d - 1, n, 0.5))

    # the largest d for which P(B < d) does not exceed the tail
    rank = max(1, bisect_left(range(1, n + 1), tail, key=below))
    outer, inner = (1 - 2 * below(d) for d in (rank, rank + 1))
    if outer < confidence:  # even minimum and maximum cover less
        return Interval(value, np.nan, np.nan)
    share = (outer - confidence) / (outer - inner)
    weight = (n - rank) * share / (rank + (n - 2 * rank) * share)
    places = [rank - 1, rank, n - rank - 1, n - rank]
    ends = np.partition(sample, places)[places]
    return Interval(
        value,
        float((1 - weight) * ends[0] + weight * ends[1]),
        float((1 - weight) * ends[3] + weight * ends[2]),
    )


def of_several_kinds(sample: np.ndarray) -> bool:
    """Return True if runs form separate groups: the largest gap is most of their range.

    "Most" is 1.65/√n, and at least 0.4; it was chosen by simulation. Of samples without groups, at
    most 5 in 100 give True. Of samples in which a fifth of the runs is 30 % slower, 67 in 100 give
    True with 6 runs, 80 with 8, 88 with 10 and 95 with 14. A gap of at most two steps of the last
    printed digit does not count.
    """
    n = len(sample)
    if n < ENOUGH:
        return False
    ordered = np.sort(sample)
    gap, range_ = float(np.diff(ordered).max()), float(ordered[-1] - ordered[0])
    return gap >= max(1.65 / n**0.5, 0.4) * range_ and gap > 2.5 * _step(ordered)


def _step(sample: np.ndarray) -> float:
    """Return a unit of the values' last decimal, 0.01 for 0.12 and 0.1; 0 beyond six decimals."""
    for decimals in range(7):
        if np.array_equal(np.round(sample, decimals), sample):
            return float(10**-decimals)
    return 0.0


def hodges_lehmann(differences: np.ndarray, confidence: float = 0.95) -> Interval:
    """Return Hodges and Lehmann's estimate of paired differences with Wilcoxon's interval.

    The estimate is the median of the averages of all pairs (Walsh averages). It needs six
    differences.
    """
    n = len(differences)
    pairs = n * (n + 1) // 2
    rank = _signed_rank(n, (1 - confidence) / 2)
    ranks = [(pairs - 1) // 2, pairs // 2, rank - 1, pairs - rank]
    ordered = np.sort(differences)
    if n > walsh.ALL:  # save a search: the two middle averages are nearly equal
        ranks[0] = ranks[1]
    order_statistics = walsh.ranked(ordered, ranks)
    return Interval(
        float(order_statistics[:2].mean()),
        float(order_statistics[2]),
        float(order_statistics[3]),
        _signed_rank_p(ordered),
    )


@lru_cache(maxsize=256)
def _null(n: int) -> np.ndarray:
    """Return the distribution of Wilcoxon's signed-rank sum of n differences around zero."""
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, n + 1):
        chances[rank:] = (chances[rank:] + chances[: len(chances) - rank]) / 2
        chances[:rank] /= 2
    return chances


def _signed_rank(n: int, tail: float) -> int:
    """Return the rank, from 1, of the Walsh average at the interval's lower end."""
    if n <= _EXACT:
        return max(1, int(np.searchsorted(np.cumsum(_null(n)), tail)))
    deviation = (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    return max(1, int(n * (n + 1) / 4 + float(ndtri(tail)) * deviation + 0.5))


def _signed_rank_p(ordered: np.ndarray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test for sorted differences.

    The sum of the positive ranks is the number of Walsh averages above zero (Tukey 1949).
    """
    nonzero = ordered[ordered != 0]
    n = len(nonzero)
    if n == 0:
        return 1.0
    total = n * (n + 1) / 2
    above = total - walsh.count_up_to(nonzero, 0.0)
    plus = (above + total - walsh.count_up_to(nonzero, 0.0, side="left")) / 2
    least = min(plus, total - plus)
    if n <= _EXACT:
        return min(1.0, 2 * float(np.cumsum(_null(n))[int(least)]))
    deviation = (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    return min(1.0, 2 * float(ndtr((least + 0.5 - total / 2) / deviation)))
