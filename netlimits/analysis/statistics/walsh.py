"""Select Walsh averages (of each pair of n values, and of each value with itself) by rank.

For up to ALL values, all averages are computed. For more values, the average at a rank is guessed.
The averages up to the guess are counted, which narrows the range of the next guess (Johnson and
Mizoguchi, "Selecting the K-th Element in X + Y", 1978). The result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

ALL = 1500
"""Maximum number of values for which all averages are computed."""

STRIDE = 1024
"""Number of values in a search, which covers only the part of the array where they must be."""

_ALIKE = 1e-11
"""Averages that differ by less than this share are equal, since sums are rounded."""


def ranked(ordered: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return the averages of sorted values at these ranks, from 0."""
    if len(ordered) > ALL:
        averages = {place: _average(ordered, place) for place in {*places}}
        return np.array([averages[place] for place in places])
    first, second = np.triu_indices(len(ordered))
    averages = (ordered[first] + ordered[second]) / 2
    chosen: np.ndarray = np.partition(averages, places)[[*places]]
    return chosen


def count_up_to(ordered: np.ndarray, t: float, side: Literal["left", "right"] = "right") -> int:
    """Return how many averages are at most t, or less than t if `side` is "left"."""
    return _count(_reach(ordered, t, side))


def _reach(ordered: np.ndarray, t: float, side: Literal["left", "right"] = "right") -> np.ndarray:
    """Return for each value up to t the number of values whose average with it is at most t."""
    others = 2 * t - ordered[: np.searchsorted(ordered, t, side=side)]
    reach = np.empty(len(others), np.intp)
    first = np.searchsorted(ordered, others[::STRIDE], side=side).tolist()
    # `others` descend, so a stretch's positions are between those of its first value and the next's
    for stretch, (high, low) in enumerate(pairwise([*first, 0])):
        some = slice(stretch * STRIDE, (stretch + 1) * STRIDE)
        reach[some] = ordered[low:high].searchsorted(others[some], side=side)
        reach[some] += low
    return reach


def _count(reach: np.ndarray) -> int:
    """Return the number of averages that `reach` describes, with each pair counted once."""
    return int(reach.sum()) - len(reach) * (len(reach) - 1) // 2


def _average(ordered: np.ndarray, place: int) -> float:
    """Return the average at a rank."""
    n = len(ordered)
    low, high = float(ordered[0]), float(ordered[-1])
    below, above = _reach(ordered, low), np.full(n, n)
    at_low, at_high = _count(below), n * (n + 1) // 2
    if at_low > place:
        return low
    guesses = _guesses(ordered)
    for turn in range(100):
        if at_high - at_low <= 2 * n:
            return _among(ordered, below, above, place - at_low)
        if high - low <= _ALIKE * max(abs(low), abs(high), 1e-300):
            break
        share = min(max((place + 0.5 - at_low) / (at_high - at_low), 0.001), 0.999)
        t = guesses.pop() if guesses else low + (0.5 if turn % 3 == 2 else share) * (high - low)
        if not low < t < high:
            continue
        reach = _reach(ordered, t)
        count = _count(reach)
        if count > place:
            high, at_high, above = t, count, reach
        else:
            low, at_low, below = t, count, reach
    return _next(ordered, below)


def _guesses(ordered: np.ndarray) -> list[float]:
    """Return a value above and a value below the median, between which most wanted averages are."""
    n = len(ordered)
    first, middle, third = ordered[[n // 4, n // 2, 3 * n // 4]].tolist()
    margin = 4 * (third - first) / n**0.5
    return [middle + margin, middle - margin]


def _among(ordered: np.ndarray, below: np.ndarray, above: np.ndarray, place: int) -> float:
    """Return the average at a rank among the averages that `above` reaches and `below` does not."""
    own = np.arange(len(above))
    first = own.copy()
    np.maximum(below, own[: len(below)], out=first[: len(below)])
    counts = np.maximum(above, own) - first
    left = np.repeat(own, counts)
    right = np.arange(len(left)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    averages = ordered[left] + ordered[right]
    return float(np.partition(averages, place)[place] / 2)


def _next(ordered: np.ndarray, below: np.ndarray) -> float:
    """Return the smallest average that `below` does not reach."""
    own = np.arange(len(ordered))
    first = own.copy()
    np.maximum(below, own[: len(below)], out=first[: len(below)])
    lesser = np.flatnonzero(first < len(ordered))
    return float((ordered[lesser] + ordered[first[lesser]]).min() / 2)
