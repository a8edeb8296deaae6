"""The rate that the tool was told: a run that keeps it is limited by nothing else."""

from __future__ import annotations

from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures, mbps

GOAL = 0.95
"""Of the rate that the tool was told: from there on nothing else is what limits it."""


def premises(run: RunFigures) -> list[Premise]:
    """Return the premise that the run was slower than its target rate; none without a target."""
    goal, rate = run.goal_mbps, run.throughput
    if not goal or rate is None:
        return []
    short = f"the tool was told to send {mbps(goal)}, and {mbps(rate)} arrived"
    return [Premise.below(rate / goal, GOAL, short)]
