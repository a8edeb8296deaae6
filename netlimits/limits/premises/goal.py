"""The premise that a run did not reach the tool's target rate, which would then be its limit."""

from __future__ import annotations

from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures, mbps

GOAL = 0.95
"""Maximum ratio of throughput to the target rate if something else is the limit."""


def premises(run: RunFigures) -> list[Premise]:
    """Return the premise that the run was slower than its target rate; empty without a target."""
    goal, rate = run.goal_mbps, run.throughput
    if not goal or rate is None:
        return []
    short = f"the tool was told to send {mbps(goal)}, and {mbps(rate)} arrived"
    return [Premise.below(rate / goal, GOAL, short)]
