"""How long a host waits for the partner of its next run, before it takes another run.

If the runs of a round take about the same time, a run out of order would break the next rounds.
"""

from __future__ import annotations

import math

from netlimits.experiment.mesh.lengths import Lengths
from netlimits.experiment.mesh.workload import Workload

# ALIKE, FEW_ALIKE and ALL_ALIKE were the best values in simulations of 6 to 200 hosts with 5 to 800
# runs each. With more runs, keeping the order costs more waiting. With few runs and hosts, leaving
# the order costs more: a host rarely finds a free partner, and hosts end at different times.

ALIKE = 2.2
"""Runs of a round count as equally long if their coefficient of variation is at most a limit. The
limit is this value, divided by the square root of a host's runs and by the cube root of the number
of hosts. It is halved if the number of hosts is odd, because one host is then always free. It is
halved again if rounds are broken."""

FEW_ALIKE = 0.7
"""Before it is halved, the limit is at least this value divided by the number of hosts."""

ALL_ALIKE = 0.025
"""Minimum of the limit for any number of hosts and runs."""

CLOSE = 0.05
"""Rounds count as whole if the runs in order take at most this share longer than the lower bound of
any schedule. Rounds are broken in a resumed mesh, with groups, and if `at_once` delays pairs."""

WORTH = 0.2
"""The order is kept only if the runs in order take at most this share longer than the lower bound
of any schedule."""

WHOLE = 3.0
"""How long a free host waits if rounds are whole, in lengths of the longest run."""

BROKEN = 0.3
"""How long a free host waits if rounds are broken, in lengths of the longest run."""

FIRST = 8
"""Number of runs after which the measured spread of lengths counts."""


class RoundOrder:
    """Decides how long hosts wait to keep the order of rounds; `at_once` pairs run at a time."""

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
        """Note that runs left the order of the rounds."""
        self._in_rounds = False

    def patience(self) -> float:
        """Return how many seconds a free host waits for its next partner, -inf for no wait."""
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
