"""How long a host waits for the partner of its next run, before it takes another run.

As long as runs of a round take about the same time, any other run would break the rounds to come.
"""

from __future__ import annotations

import math

from netlimits.experiment.mesh.lengths import Lengths
from netlimits.experiment.mesh.workload import Workload

# ALIKE, FEW_ALIKE and ALL_ALIKE are what was best in simulations of 6 to 200 hosts with 5 to 800
# runs each. The longer an order is kept, the more waiting adds up; and the more runs and hosts
# there are, the less is lost where it is left: few hosts find no partners out of order, and have a
# ragged end.

ALIKE = 2.2
"""Coefficient of variation up to which runs of a round count as of one length, divided by the root
of a host's runs and by the cube root of the number of hosts. Half of it for an odd number of hosts,
of which one more is free, and where rounds are broken."""

FEW_ALIKE = 0.7
"""The least that this coefficient is, divided by the number of hosts."""

ALL_ALIKE = 0.025
"""The least that it is for any number of hosts and runs."""

CLOSE = 0.05
"""Share of the bound by which all runs in their order may exceed it, where rounds are whole. A mesh
that is resumed has no whole rounds left, and groups have none."""

WORTH = 0.2
"""The same share up to which an order is worth keeping."""

WHOLE = 3.0
"""How long a free host waits where rounds are whole, in lengths of the longest run."""

BROKEN = 0.3
"""How long it waits where rounds are broken, in the same lengths."""

FIRST = 8
"""Runs after which the spread of lengths is heeded."""


class RoundOrder:
    """The order of rounds of a workload, of which `at_once` pairs may run at a time."""

    def __init__(self, load: Workload, at_once: int = 0) -> None:
        self._load = load
        self.lengths = Lengths(2 * len(load.jobs_of))
        least = load.bound(at_once)
        self._is_worth_it = load.in_order <= (1 + WORTH) * least
        by_turns = least > load.bound()
        self._in_rounds = load.in_order <= (1 + CLOSE) * least and not by_turns
        hosts, runs = len(load.jobs_of) or 1, max(load.jobs_of.values(), default=1)
        alike = max(ALIKE / (math.sqrt(runs) * math.cbrt(hosts)), FEW_ALIKE / hosts)
        self._alike = alike / (1 + hosts % 2)

    def breaks(self) -> None:
        self._in_rounds = False

    def patience(self) -> float:
        """Seconds that a free host waits for its next partner; below 0 where that is no use."""
        if not self._is_worth_it or self._is_uneven:
            self.breaks()
            return -math.inf
        longest = self.lengths.expected(self._load.longest)
        return (WHOLE if self._in_rounds else BROKEN) * longest

    @property
    def _is_uneven(self) -> bool:
        alike = self._alike if self._in_rounds else self._alike / 2
        turned_out = self.lengths.spread if self.lengths.count >= FIRST else 0.0
        return math.hypot(self._load.spread, turned_out) > max(alike, ALL_ALIKE)
