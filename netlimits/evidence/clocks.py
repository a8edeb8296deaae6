"""The offset between two clocks, from the shortest of some round trips (RFC 5905, section 10)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from netlimits.model import Command, Completed

READ = Command(("date", "+%s.%N"), deadline=10)
SAMPLES = 8
"""Number of round trips for one offset."""


@dataclass(frozen=True, slots=True)
class Offset:
    """The seconds by which a host's clock is ahead of ours, give or take `bound_s`."""

    offset_s: float
    bound_s: float

    def ahead_of(self, other: Offset) -> Offset:
        """Return the offset of this host's clock from another host's."""
        return Offset(self.offset_s - other.offset_s, self.bound_s + other.bound_s)


def seconds(completed: Completed) -> float | None:
    """Return the epoch seconds that READ printed; None if `date` prints no fractions."""
    match = re.fullmatch(r"[0-9]{1,12}\.[0-9]{9}", completed.stdout.strip(), re.ASCII)
    return float(match[0]) if match and completed.status == 0 else None


def measured(
    run: Callable[[Command], Completed], clock: Callable[[], float] = time.time
) -> Offset | None:
    """Measure the offset of a host's clock; return None if its `date` prints no fractions."""
    trips = []
    for _ in range(SAMPLES):
        start = clock()
        read = seconds(run(READ))
        if read is None:
            return None
        bound = (clock() - start) / 2
        trips.append(Offset(read - start - bound, bound))
    return min(trips, key=lambda trip: trip.bound_s)
