"""How long a host waits for the partner of its next run, before it takes another run.

If the runs of a round take about the same time, a run out of order would break the next rounds.
"""

from __future__ import annotations

import math

from netlimits.experiment.mesh.lengths import Lengths
from netlimits.experiment.mesh.workload import Workload

# The figures below are of `benchmarks/mesh_constants.py`, which simulates 75 meshes of 5 to 600
# hosts with half and double of each value. Changes of a mesh's time below 1 % are chance. With more
# runs, keeping the order costs more waiting. With few runs and hosts, leaving the order costs more:
# a host rarely finds a free partner, and hosts end at different times.

ALIKE = 2.2
"""Runs of a round count as equally long if their coefficient of variation is at most a limit. The
limit is this value, divided by the square root of a host's runs and by the cube root of the number
of hosts. It is halved if the number of hosts is odd, because one host is then always free. It is
halved again if rounds are broken.

Half: 0.2 % longer on average, up to 7 % with 24 hosts in 3 racks. Double: 0.3 % longer on average,
6 % if a run in 20 takes twice as long."""

ALL_ALIKE = 0.025
"""Minimum of the limit for any number of hosts and runs.

Half: 2 % longer if one of 150 hosts is lost, and the dispatch looks at 15 % more jobs. Double: 2 %
longer with 40 hosts that measure 12 times."""

CLOSE = 0.05
"""Rounds count as whole if the runs in order take at most this share longer than the lower bound of
any schedule. Rounds are broken in a resumed mesh, with groups, and if `at_once` delays pairs.

Half: same. Zero: 5 % longer in a mesh of 12 hosts that was resumed with 95 % of its runs. Double:
3 % longer in a ring of 5."""

WORTH = 0.2
"""The order is kept only if the runs in order take at most this share longer than the lower bound
of any schedule.

Half: 9 % longer with 30 hosts in 3 racks. Double: same. Four times: 3 % longer with 16 hosts in 4
racks."""

WHOLE = 3.0
"""How long a free host waits if rounds are whole, in lengths of the longest run.

Half: same, but 1 % longer with 80 pairs of 24 hosts. Double: 16 % longer if a run in 200 hangs."""

BROKEN = 0.3
"""How long a free host waits if rounds are broken, in lengths of the longest run.

Half: 3 % longer if 1 of 150 hosts is lost. Double: same. Four times: 29 % longer if 4 of 16 hosts
are lost."""

LEARNED = 2
"""Number of runs per host from which the lengths of runs are learned.

Half and double: same."""


class RoundOrder:
    """Decides how long hosts wait to keep the order of rounds; `at_once` pairs run at a time."""

    def __init__(self, load: Workload, at_once: int = 0) -> None:
        self._load = load
        self.lengths = Lengths(LEARNED * len(load.jobs_of))
        least = load.bound(at_once)
        self._is_worth_it = load.in_order <= (1 + WORTH) * least
        by_turns = least > load.bound()
        self._in_rounds = load.in_order <= (1 + CLOSE) * least and not by_turns
        hosts, runs = len(load.jobs_of) or 1, max(load.jobs_of.values(), default=1)
        self._alike = ALIKE / (math.sqrt(runs) * math.cbrt(hosts)) / (1 + hosts % 2)

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
        return math.hypot(self._load.spread, self.lengths.spread) > max(alike, ALL_ALIKE)
