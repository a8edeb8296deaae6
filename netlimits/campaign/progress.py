"""The progress of a campaign, and an estimate of the time left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from netlimits.model import Record


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a campaign; `outcomes` counts the finished runs by status."""

    done: int
    failed: int
    total: int
    seconds_left: float
    last: Record | None
    outcomes: Mapping[str, int] = field(default_factory=dict)


class Tally:
    """Counts the outcomes of runs, and estimates the time left from how long runs took so far."""

    def __init__(
        self, outcomes: Counter[str], pending: int, seconds: float, together: float = 1.0
    ) -> None:
        """Begin with the `outcomes` so far and `pending` runs, which take `seconds` one by one.

        With several runs at once, the runs take only the share `together` of this time.
        """
        self._outcomes = outcomes
        self._total = outcomes.total() + pending
        self._planned, self._together = seconds, together
        self._meant = self._took = 0.0

    @property
    def left(self) -> int:
        return self._total - self._outcomes.total()

    def add(self, record: Record, meant: float, took: float) -> None:
        self._outcomes[record.status] += 1
        self._planned -= meant
        self._meant += meant
        self._took += took

    def progress(self, last: Record | None = None) -> Progress:
        done = self._outcomes.total()
        overhead = self._took / self._meant if self._meant else 1.0
        left = self._planned * overhead * self._together
        return Progress(
            done, done - self._outcomes["ok"], self._total, left, last, dict(self._outcomes)
        )
