"""Change points of a rate within a run: times at which its level changed by more than noise.

For each number of changes up to MOST, the series is cut into the segments whose medians fit best.
This is the method of Bellman and Roth ("Curve Fitting by Segmented Straight Lines", 1969) with
constant lines. The result has the largest number of changes whose neighbouring levels all differ
enough: by LEAST_SHARE of the higher level, and by STEPS standard errors. Neighbouring intervals are
correlated, so the standard errors account for the autocorrelation of the residuals.
`benchmarks/timeline.py` measures how often the result is right.
"""

from __future__ import annotations

import itertools
import math
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

STEPS = 7.0
"""Minimum difference of levels in standard errors. It is large because the best of about fifty
splits is tested.

False changes were found in simulated noise (CV 20 %; autocorrelation 0, 0.3, 0.6 and 0.8; 60 series
each): in 0, 0, 2 and 3 % of series with 50 intervals, in 0, 3, 7 and 2 % of series with 25.
"""

LEAST_SHARE = 0.15
"""Minimum difference of levels as a share of the higher one."""

LEAST_INTERVALS = 4
"""Minimum number of intervals on each side of a change."""

MOST = 4
"""Maximum number of changes in a run."""

SCALE = 1.4826
"""Ratio of standard deviation to median absolute deviation, for normally distributed errors."""

ALIKE = 0.9
"""Maximum autocorrelation to assume. A higher one cannot be estimated from few intervals."""

RAMP = 1.03
"""Minimum ratio of an interval's rate to the previous one while a transfer starts."""


@dataclass(frozen=True, slots=True)
class RateInterval:
    begin: float
    end: float
    rate: float


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level at the time `at`, with the median rates before and after it."""

    at: float
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """The level after the change over the level before it, at most 1,000."""
        return min(1e3, self.after / self.before) if self.before else 1e3


def changes(intervals: Sequence[RateInterval]) -> list[LevelChange]:
    """Return the changes of level in order of time, without the start of the transfer."""
    steady = _steady(intervals)
    rates = [interval.rate for interval in steady]
    for bounds in _best(rates):
        parts = [rates[low:high] for low, high in itertools.pairwise(bounds)]
        if all(_differ(before, after) for before, after in itertools.pairwise(parts)):
            levels = map(median, parts)
            return [
                LevelChange(steady[place - 1].end, *pair)
                for place, pair in zip(bounds[1:-1], itertools.pairwise(levels), strict=True)
            ]
    return []


def _steady(intervals: Sequence[RateInterval]) -> Sequence[RateInterval]:
    """Return the intervals without the last one and without a start in which the rate grows."""
    kept = list(intervals[:-1])
    if len(kept) < 2 * LEAST_INTERVALS:
        return []
    usual = median(interval.rate for interval in kept[: len(kept) // 2])
    while len(kept) > 1 and kept[0].rate < usual and kept[1].rate > RAMP * kept[0].rate:
        kept.pop(0)
    return kept


def _best(rates: Sequence[float]) -> Iterator[list[int]]:
    """Yield the bounds of the best segments for each number of changes, largest number first."""
    count, least = len(rates), LEAST_INTERVALS
    costs = _deviations(rates)
    totals = {end: cost for (begin, end), cost in costs.items() if not begin}
    bounds = {end: [0, end] for end in totals}
    partitions = []
    for _ in range(min(MOST, count // least - 1)):
        more, longer = {}, {}
        for end in range(2 * least, count + 1):
            splits = [at for at in totals if at <= end - least]
            if splits:
                at = min(splits, key=lambda at: totals[at] + costs[at, end])
                more[end], longer[end] = totals[at] + costs[at, end], [*bounds[at], end]
        totals, bounds = more, longer
        if count in bounds:
            partitions.append(bounds[count])
    yield from reversed(partitions)


def _deviations(rates: Sequence[float]) -> dict[tuple[int, int], float]:
    """Return segment (begin, end) -> the sum of its rates' distances from their median."""
    sums = {}
    for begin in range(len(rates)):
        ordered: list[float] = []
        for end in range(begin + 1, len(rates) + 1):
            insort(ordered, rates[end - 1])
            if end - begin >= LEAST_INTERVALS:
                half = len(ordered) // 2
                sums[begin, end] = sum(ordered[-half:]) - sum(ordered[:half])
    return sums


def _differ(before: Sequence[float], after: Sequence[float]) -> bool:
    """Return True if two neighbouring segments differ by LEAST_SHARE and STEPS standard errors."""
    levels = median(before), median(after)
    distance = abs(levels[0] - levels[1])
    if distance < LEAST_SHARE * max(levels):
        return False
    parts = [[rate - level for rate in part]
             for part, level in zip((before, after), levels, strict=True)]  # fmt: skip
    deviation = SCALE * median(abs(r) for part in parts for r in part)
    # limit outliers that are not noise, such as a queue that empties or the interval of the change
    parts = [[max(-3 * deviation, min(3 * deviation, r)) for r in part] for part in parts]
    squares = sum(r * r for part in parts for r in part)
    products = sum(a * b for part in parts for a, b in itertools.pairwise(part))
    alike = products / squares if squares else 0.0
    # correct the bias of short series (Marriott and Pope, 1954)
    alike += (1 + 3 * alike) / (len(before) + len(after))
    alike = min(ALIKE, max(0.0, alike))
    variance = deviation * deviation * (1 + alike) / (1 - alike)
    error = math.sqrt(variance * (1 / len(before) + 1 / len(after)))
    return distance > STEPS * error
