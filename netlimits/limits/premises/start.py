"""The premise that a run is past its start, during which windows grow and none is the limit."""

from __future__ import annotations

from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

LATE_PCT = 65.0
"""Maximum % of the data in the later half of the samples. A steady run has 50 % there, and a run
with slow start for 0.3 of its time 70 %."""
TRIPS = 20.0
"""Minimum number of round trips, used if samples do not show how the rate developed. Slow start to
1,000 segments takes 7 of them, and the receiver's buffer tuning as many again."""


def over(run: RunFigures) -> list[Premise]:
    """Return the premise that the rate no longer grows; none if that is unknown."""
    late, rtt, elapsed = run.sent("late_data_pct"), run.sent("min_rtt_us"), run.elapsed
    if late is not None:
        return [Premise.below(late, LATE_PCT, f"its later half sent {late:.0f} % of the data")]
    if not rtt or not elapsed:
        return []
    trips = elapsed * 1e6 / rtt
    return [Premise.reached(trips, TRIPS, f"the run had only {trips:.0f} round trips")]
