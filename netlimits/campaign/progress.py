"""How far a campaign is, and when it will be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netlimits.model import Record


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign is: runs done (failed ones included), runs planned, seconds left.

    `outcomes` counts the runs that are done by what came of them.
    """

    done: int
    failed: int
    total: int
    seconds_left: float
    last: Record | None
    outcomes: Mapping[str, int] = field(default_factory=dict)


class TimeLeft:
    """Estimates the time left: the planned time of the runs left, and overhead as so far."""

    def __init__(self, planned: float) -> None:
        self._planned = planned
        self._meant = 0.0
        self._took = 0.0

    def spent(self, meant: float, took: float) -> None:
        """Count one run: how long it was meant to take, how long it took."""
        self._planned -= meant
        self._meant += meant
        self._took += took

    @property
    def left(self) -> float:
        """Seconds until the last run is over."""
        return self._planned * (self._took / self._meant if self._meant else 1.0)
