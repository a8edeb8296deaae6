"""The expected lengths of runs, learned from past runs of about the same planned length."""

from __future__ import annotations

import math

ALIKE = 1.1
"""Runs whose planned lengths differ by less than about this factor are of one kind.

1.01 to 1.2: same. 1.6: 2 % longer with 19 planned lengths, to each of which the runs add 2 s
(`benchmarks/mesh_constants.py`)."""

MOST = 0.5
"""A run counts as at most this share longer than the mean, since a very long run may have hung.

Half: 6 % longer if a run in 20 takes twice as long. Double and more: 1 % shorter then, else the
same (`benchmarks/mesh_constants.py`)."""

LEAST = 1e-9
"""Shortest length in seconds, which avoids a division by 0; it must be shorter than any run."""


class Lengths:
    """Learns the ratio of the runs' time to the planned time, and how much that ratio varies.

    Moving averages cover about the last `runs` runs, which must be at least 1.
    """

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._ratios: dict[int, tuple[int, float]] = {}  # kind -> number of runs, mean ratio
        self._compared, self._variance = 0, 0.0

    def add(self, planned: float, took: float) -> None:
        kind, ratio = _kind(planned), took / max(planned, LEAST)
        before, mean = self._ratios.get(kind, (0, ratio))
        ratio = min(ratio, (1 + MOST) * mean)
        new = mean + (ratio - mean) / min(before + 1, self._runs)
        self._ratios[kind] = before + 1, new
        if before:
            self._compared += 1
            square = min(MOST**2, (ratio - mean) * (ratio - new) / max(new, LEAST) ** 2)
            self._variance += (square - self._variance) / min(self._compared, self._runs)

    def expected(self, planned: float) -> float:
        kind = _kind(planned)
        if not self._ratios:
            return planned
        nearest = kind if kind in self._ratios else min(self._ratios, key=lambda k: abs(k - kind))
        return max(planned, LEAST) * self._ratios[nearest][1]

    @property
    def spread(self) -> float:
        """The coefficient of variation of the lengths of runs of one kind."""
        return math.sqrt(self._variance)


def _kind(planned: float) -> int:
    return round(math.log(max(planned, LEAST)) / math.log(ALIKE))
