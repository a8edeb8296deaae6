"""The premise that a run is past its start: while windows still grow, no window is the limit."""

from __future__ import annotations

from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

LATE_PCT = 65.0
"""Maximum % of the data that is sent in the later half of the samples. A steady run sends 50 % in
it. A run that spends 0.3 of its time in slow start sends 70 % in it."""
TRIPS = 20.0
"""Minimum number of round trips in a run. It is used if samples do not show how the rate developed.
Slow start to 1,000 segments takes 7 round trips, and the receiver's buffer tuning another 7."""


def over(run: RunFigures) -> list[Premise]:
    """Return the premise that the rate no longer grows; empty if unknown."""
    late, rtt, elapsed = run.sent("late_data_pct"), run.sent("min_rtt_us"), run.elapsed
    if late is not None:
        return [Premise.below(late, LATE_PCT, f"its later half sent {late:.0f} % of the data")]
    if not rtt or not elapsed:
        return []
    trips = elapsed * 1e6 / rtt
    return [Premise.reached(trips, TRIPS, f"the run had only {trips:.0f} round trips")]
