"""Change points of a series: where its level changes by more than its noise explains.

The change points minimize the squared deviations from the levels plus a penalty for each change
(PELT, Killick et al. 2012). Deviations are in units of the noise, which is estimated from
successive differences (von Neumann 1941). Each change is then moved to the place that is most
probably right or only one value off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import ruptures

SHORTEST = 2
"""Minimum number of values of a level: a single value may be an outlier."""

ENOUGH = 6
"""Minimum number of values in which changes are looked for."""

PENALTY, PENALTY_PER_LOG = 7.0, 1.7
"""The penalty of a change is PENALTY + PENALTY_PER_LOG × ln n.

`benchmarks/history.py` tuned both. Less than 5 % of flat series of 6 to 200 values show a change. A
step of 5 % at noise of 2 % is found in 95 % of series of 60 values.
"""

NEAR = (0.95, 1.0, 0.95)
"""Weights of the places before, at and after a change: an error of one value costs little."""


def change_points(values: Sequence[float]) -> list[int]:
    """Return the places at which a new level begins; none if there are fewer than ENOUGH values.

    Positive values are compared as ratios (by their logarithms).
    """
    series = np.asarray(values, dtype=float)
    if len(series) < ENOUGH:
        return []
    if (series > 0).all():
        series = np.log(series)
    places: list[int] = []
    for _ in range(3):  # repeat: the first estimate of the noise includes the steps
        noise = _noise(series, places)
        if not noise > 0:
            return places
        segmented = _segmented(series / noise)
        if segmented == places:
            break
        places = segmented
    return _placed(series / noise, places)


def _placed(scaled: np.ndarray, places: Sequence[int]) -> list[int]:
    """Return the changes, each moved to the place that is most probably at most one value off."""
    placed = [0, *places, len(scaled)]
    for at in range(1, len(placed) - 1):
        start, end = placed[at - 1], placed[at + 1]
        values = scaled[start:end]
        before = np.arange(SHORTEST, len(values) - SHORTEST + 1)
        after = len(values) - before
        sums = np.cumsum(values)[before - 1]
        explained = sums**2 / before + (values.sum() - sums) ** 2 / after
        log = explained / 2 - np.log(before * after) / 2
        likely = np.convolve(np.exp(log - log.max()), NEAR)[1:-1]
        placed[at] = start + int(before[likely.argmax()])
    return placed[1:-1]


def _noise(series: np.ndarray, places: Sequence[int]) -> float:
    """Return the standard deviation around the levels, from differences within levels."""
    differences = np.diff(series)
    within = np.delete(differences, [place - 1 for place in places])
    return float(np.sqrt(np.mean(within**2) / 2))


def _segmented(scaled: np.ndarray) -> list[int]:
    penalty = PENALTY + PENALTY_PER_LOG * math.log(len(scaled))
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST)
    *places, _ = search.fit(scaled.reshape(-1, 1)).predict(pen=penalty)
    return [int(place) for place in places]
