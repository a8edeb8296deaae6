"""Premise that a run is past its start: until then windows grow, and none is the limit."""

from __future__ import annotations

from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

LATE_PCT = 65.0
"""Maximum share of the data in the later half of the samples: 70 % if slow start takes 0.3 of a run
that is steady afterwards, 50 % if all of it is steady."""
TRIPS = 20.0
"""Minimum number of round trips if samples do not show how the rate developed: slow start to 1,000
segments takes 7, and the receiver's buffer tuning as many again."""


def over(run: RunFigures) -> list[Premise]:
    """Return the premise that the rate no longer grows; none if that is unknown."""
    late, rtt, elapsed = run.sent("late_data_pct"), run.sent("min_rtt_us"), run.elapsed
    if late is not None:
        return [Premise.below(late, LATE_PCT, f"its later half sent {late:.0f} % of the data")]
    if not rtt or not elapsed:
        return []
    trips = elapsed * 1e6 / rtt
    return [Premise.reached(trips, TRIPS, f"the run had only {trips:.0f} round trips")]
