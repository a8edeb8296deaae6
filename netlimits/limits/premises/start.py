"""Premise that a run is past its start: until then windows grow, and none of them is the limit."""

from __future__ import annotations

from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

LATE_PCT = 65.0
"""Of the data, what the later half of the looks sent: 70 where slow start takes 0.3 of a run that
is steady then, 50 where all of it is steady."""
TRIPS = 20.0
"""Round trips that a run has at least, where no look tells how it went on: slow start to 1,000
segments takes 7, and a receiver's tuning as many again."""


def over(run: RunFigures) -> list[Premise]:
    """Return the premise that the rate does not grow any more; none where nothing tells."""
    late, rtt, elapsed = run.sent("late_data_pct"), run.sent("min_rtt_us"), run.elapsed
    if late is not None:
        return [Premise.below(late, LATE_PCT, f"its later half sent {late:.0f} % of the data")]
    if not rtt or not elapsed:
        return []
    trips = elapsed * 1e6 / rtt
    return [Premise.reached(trips, TRIPS, f"the run had only {trips:.0f} round trips")]
