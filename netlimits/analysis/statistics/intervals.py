"""Intervals of one sample of runs: a mean, a median, and the middle of paired differences.

One number a run is the unit. What each of these covers was simulated (`benchmarks/coverage.py`
prints the table): Student's t holds for runs of one kind, and not where a few are slower; the
median's interval and Wilcoxon's hold there too, from six runs on. No method rescues fewer.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from netlimits.analysis.statistics import walsh

ENOUGH = 6
"""Runs, or blocks, from which on an interval needs no assumption about their kind."""

RARE = 60
"""Runs from which on what befalls one run in twenty is among them, in 95 of 100 campaigns."""

_EXACT = 60
"""Differences up to which the signed ranks' distribution is counted out; above it is normal."""


class Interval(NamedTuple):
    """An estimate, the ends of its interval, and the p-value of its being zero."""

    value: float
    low: float
    high: float
    p: float = float("nan")


def mean(sample: np.ndarray, confidence: float = 0.95) -> Interval:
    """The mean with Student's t interval; one value alone has none."""
    n, value = len(sample), float(np.mean(sample))
    if n < 2:
        return Interval(value, np.nan, np.nan)
    error = float(np.std(sample, ddof=1)) / n**0.5
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    p = 2 * float(stdtr(n - 1, -abs(value) / error)) if error else float(value == 0)
    return Interval(value, value - half, value + half, p)


def jackknife(whole: float, without: np.ndarray, confidence: float = 0.95) -> Interval:
    """The jackknife interval of an estimate: from estimates that each leave out one group of runs.

    Groups are what may vary by itself: blocks, or points. Spread that grows with size, and one
    size that is noisier than others, are in the groups as they are (Tukey 1958).
    """
    count = len(without)
    if count < 2:
        return Interval(whole, np.nan, np.nan)
    pseudo = count * whole - (count - 1) * without
    error = float(np.std(pseudo, ddof=1)) / count**0.5
    half = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    return Interval(whole, whole - half, whole + half)


def median(sample: np.ndarray, confidence: float = 0.95) -> Interval:
    """The median with its order-statistic interval; fewer than six values have none.

    Between the two pairs of order statistics that cover just more and just less than asked for,
    interpolated as Hettmansperger and Sheather do ("Confidence Intervals Based on Interpolated
    Order Statistics", 1986), since whole ones of seven runs cover 98.4 or 87.5 %.
    """
    n, value = len(sample), float(np.median(sample))
    if n < ENOUGH:
        return Interval(value, np.nan, np.nan)
    tail = (1 - confidence) / 2

    def below(d: int) -> float:
        """P(B < d) of a binomial B, which is of one half."""
        return float(bdtr(d - 1, n, 0.5))

    # the largest d with P(B < d) within the tail
    rank = max(1, bisect_left(range(1, n + 1), tail, key=below))
    outer, inner = (1 - 2 * below(d) for d in (rank, rank + 1))
    if outer < confidence:  # even the least and the greatest cover less
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
    """Whether runs stand in groups apart: a gap between neighbours is most of their whole range.

    From six runs on; "most" is 1.65 / sqrt(n) of it, and 0.4 at least. Chosen by simulation: of
    samples of one kind (normal of any spread, log-normal to CV 20 %) at most 5 in 100 look so; of
    those where a fifth is 30 % slower 67, 80, 88 and 95 in 100, of 6, 8, 10 and 14 runs. A gap of
    two steps of the last digit that the tool prints is none: coarse figures have only such.
    """
    n = len(sample)
    if n < ENOUGH:
        return False
    ordered = np.sort(sample)
    gap, whole = float(np.diff(ordered).max()), float(ordered[-1] - ordered[0])
    return gap >= max(1.65 / n**0.5, 0.4) * whole and gap > 2.5 * _step(ordered)


def _step(sample: np.ndarray) -> float:
    """The last decimal that some value has: 0.01 of 0.12 and 0.1; 0 of more than six."""
    for decimals in range(7):
        if np.array_equal(np.round(sample, decimals), sample):
            return float(10**-decimals)
    return 0.0


def middle(differences: np.ndarray, confidence: float = 0.95) -> Interval:
    """Hodges and Lehmann's middle of paired differences, with Wilcoxon's signed-rank interval.

    The median of all averages of two (Walsh averages), and between which of them zero would not
    be refused: exact for differences that are symmetric about their middle, whatever else they
    are. Needs six at least, below which no such interval reaches 95 %.
    """
    n = len(differences)
    pairs = n * (n + 1) // 2
    rank = _signed_rank(n, (1 - confidence) / 2)
    ranks = [(pairs - 1) // 2, pairs // 2, rank - 1, pairs - rank]
    ordered = np.sort(differences)
    if n > walsh.ALL:  # of so many averages the middle two are one
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
    """P(V = v) of Wilcoxon's signed-rank sum of n differences about zero."""
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, n + 1):
        chances[rank:] = (chances[rank:] + chances[: len(chances) - rank]) / 2
        chances[:rank] /= 2
    return chances


def _signed_rank(n: int, tail: float) -> int:
    """How many Walsh averages lie beyond each end of the interval, and one."""
    if n <= _EXACT:
        return max(1, int(np.searchsorted(np.cumsum(_null(n)), tail)))
    deviation = (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    return max(1, int(n * (n + 1) / 4 + float(ndtri(tail)) * deviation + 0.5))


def _signed_rank_p(ordered: np.ndarray) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test, of differences in their order.

    The positive ranks' sum is the number of Walsh averages above zero, and half of those that are
    zero, as ranks of equal size are averaged (Tukey 1949).
    """
    nonzero = ordered[ordered != 0]
    n = len(nonzero)
    if n == 0:
        return 1.0
    total = n * (n + 1) / 2
    above = total - walsh.upto(nonzero, 0.0)
    plus = (above + total - walsh.upto(nonzero, 0.0, side="left")) / 2
    least = min(plus, total - plus)
    if n <= _EXACT:
        return min(1.0, 2 * float(np.cumsum(_null(n))[int(least)]))
    deviation = (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    return min(1.0, 2 * float(ndtr((least + 0.5 - total / 2) / deviation)))
