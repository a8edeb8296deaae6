"""Dispatch: decides which runs of a mesh begin while others run, with no host in two at once.

Runs follow the order of their rounds. A free host waits for the partner of its next run as long as
`waiting` allows, and then begins another run. Hosts with the most work left come first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from netlimits.experiment.mesh.waiting import RoundOrder
from netlimits.experiment.mesh.workload import Job, Workload

# The figures below are of `benchmarks/mesh_constants.py`; changes of a mesh's time below 1 % are
# chance.

LOOK = 5
"""A job to begin out of order is searched among this number of a host's jobs, times the number of
hosts.

Half: 3 % longer with 10 hosts that measure 60 times. Double: 2 % longer if 3 of 12 hosts are twice
as slow."""

MOST_LOOK = 128
"""Maximum number of a host's jobs among which a job to begin out of order is searched.

Half: 1 % longer with 40 hosts that measure 12 times, and half the jobs in memory. Double: same, and
56 % more jobs in memory."""

HELD = 512
"""Maximum number of jobs in memory, per host of the mesh. Full queues of all hosts need 64, since a
job is in the queues of two hosts; jobs of unreachable hosts come on top.

Half: 19 % longer if 3 of 6 hosts are away for 500 runs and then lost. Double: same."""


class Dispatch:
    """Decides which of the `jobs` may begin, in their order if the hosts are free.

    A host and a group are in one job at a time; at most `at_once` jobs run (0: no limit). Times are
    seconds of any clock. To bound memory, only as many jobs are read as hosts need to choose from.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        groups: Mapping[str, str] | None = None,
        at_once: int = 0,
        workload: Workload | None = None,
    ) -> None:
        jobs = jobs if workload else [*jobs]
        self._load = load = workload or Workload(jobs, groups)
        self._stream = enumerate(jobs)
        self.jobs: dict[int, Job] = {}
        """Number -> job, for jobs that have been read and have not ended."""
        self._most = at_once or load.count
        self._queues: dict[str, deque[int]] = {host: deque() for host in load.jobs_of}
        self._left = {**load.seconds_of}  # host or group -> seconds of its jobs
        self._group = {host: load.group(host) for host in load.jobs_of}
        self._unread = {**load.jobs_of}
        self._free = set(self._queues)
        self._touched = set(self._queues)  # hosts whose queues changed since the last `ready`
        self._parked: dict[str, list[int]] = {}  # unreachable host -> jobs that wait for it
        self._busy: dict[Hashable, float] = {}  # host or group -> about when it will be free
        self._begun: dict[int, float] = {}
        self._order = RoundOrder(load, at_once)
        self._across_first = load.across >= load.bound() > 0
        self._look = min(LOOK * len(self._queues), MOST_LOOK)
        self._short = set(self._queues)  # hosts that may have too few jobs in their queues

    def ready(self, now: float) -> list[int]:
        """Return the numbers of the jobs to begin now, and mark these jobs as begun."""
        self._read()
        begun: list[int] = []
        for number in self._next_in_order():
            if self._room and all(self._queues[h][0] == number for h in self.jobs[number].hosts):
                begun += self._begin(number, now)
        if self._room:
            late = self._late(now)
            for host in sorted(sorted(late), key=self._left_of, reverse=True):
                if self._room and host in self._free and self._group[host] not in self._busy:
                    begun += self._overtake(host, late, now)
        return begun

    def _left_of(self, host: str) -> tuple[float, float]:
        return self._left.get(self._group[host], 0.0), self._left[host]

    def _able(self, hosts: Iterable[str]) -> Iterator[str]:
        """Return the hosts that have jobs and whose group is free."""
        return (h for h in hosts if self._queues[h] and self._group[h] not in self._busy)

    def _next_in_order(self) -> list[int]:
        limited = self._load.groups or self._most < self._load.count
        looked_at = self._free if limited else self._touched & self._free
        self._touched = set()
        return sorted({self._queues[host][0] for host in self._able(looked_at)})

    def _late(self, now: float) -> frozenset[str]:
        """Return the free hosts that need not wait any longer for the partner of their next job."""
        patience = self._order.patience()
        if patience < 0:
            return frozenset(self._able(self._free))
        late = frozenset(h for h in self._able(self._free) if self._wait(h, now) > patience)
        if late:
            self._order.breaks()
        return late

    def over(
        self, number: int, now: float, unreachable: Collection[str] = (), *, repeat: bool = False
    ) -> None:
        """Note that a job has ended, and which hosts are `unreachable`.

        `repeat` puts the job before all others of its hosts.
        """
        began = self._begun.pop(number)
        for place in self._places(number):
            self._busy.pop(place, None)
        job = self.jobs.pop(number)
        self._free.update(host for host in job.hosts if host in self._queues)
        self._touched.update(job.hosts)
        for host in unreachable:
            self.hold(host)
        self._order.lengths.add(job.seconds, now - began)
        if repeat and all(host in self._queues for host in job.hosts):
            self.jobs[number] = job
            for place in self._places(number):
                self._left[place] += job.seconds
            self._queue(number, first=True)
            self._order.breaks()

    def hold(self, host: str) -> None:
        """Begin no job of an unreachable host until `back` is called."""
        if host not in self._queues or host in self._parked:
            return
        self._order.breaks()
        self._free.discard(host)
        self._busy[host] = math.inf
        self._parked[host] = [*self._queues[host]]
        for number in self._parked[host]:
            self._unqueue(number)

    def back(self, host: str) -> None:
        """Note that a host is reachable again; its parked jobs keep their place in the order."""
        waited = self._parked.pop(host, None)
        if waited is None:
            return
        del self._busy[host]
        self._order.breaks()
        self._free.add(host)
        for number in waited:
            self._queue(number)
        for other in {host, *(h for number in waited for h in self.jobs[number].hosts)}:
            self._queues[other] = deque(sorted(self._queues[other]))
            self._touched.add(other)
        self._short.add(host)

    def lose(self, host: str) -> None:
        """Remove a host for good: its jobs will not begin any more."""
        self._order.breaks()
        self._queues.pop(host, None)
        self._parked.pop(host, None)
        self._free.discard(host)
        if not any(host in self.jobs[number].hosts for number in self._begun):
            self._busy.pop(host, None)
        gone = {n for n, job in self.jobs.items() if host in job.hosts and n not in self._begun}
        for number in gone:
            self._forget(number)
            del self.jobs[number]
        self._parked = {
            h: [n for n in parked if n not in gone] for h, parked in self._parked.items()
        }

    def __len__(self) -> int:
        return len(self._begun)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self._queues)

    def _read(self) -> None:
        """Read jobs until each reachable host has enough to choose from."""
        while self._short and not self._is_full:
            host = next(iter(self._short))
            if self._is_short(host):
                self._read_one()
            else:
                self._short.remove(host)

    def _is_short(self, host: str) -> bool:
        if host not in self._queues or host in self._parked:
            return False
        return len(self._queues[host]) < self._look and self._unread[host] > 0

    @property
    def _is_full(self) -> bool:
        return len(self.jobs) >= HELD * len(self._load.jobs_of)

    def _read_one(self) -> None:
        number, job = next(self._stream)
        for host in job.hosts:
            self._unread[host] -= 1
        if all(host in self._queues for host in job.hosts):
            self.jobs[number] = job
            self._queue(number)
        else:  # one of the hosts was removed
            for place in self._load.places(job):
                self._left[place] -= job.seconds

    def _queue(self, number: int, *, first: bool = False) -> None:
        """Append a job to its hosts' queues (or prepend it), or park it for an unreachable host."""
        hosts = self.jobs[number].hosts
        if unreachable := [host for host in hosts if host in self._parked]:
            self._parked[unreachable[0]].append(number)
            return
        for host in hosts:
            queue = self._queues[host]
            (queue.appendleft if first else queue.append)(number)
            self._touched.add(host)

    def _unqueue(self, number: int) -> None:
        for host in self.jobs[number].hosts:
            with suppress(KeyError, ValueError):  # the host was removed or is unreachable
                self._queues[host].remove(number)
                self._touched.add(host)
                self._short.add(host)

    @property
    def _room(self) -> bool:
        return len(self._begun) < self._most

    def _places(self, number: int) -> tuple[Hashable, ...]:
        return self._load.places(self.jobs[number])

    def _begin(self, number: int, now: float) -> tuple[int, ...]:
        places = self._places(number)
        if not self._busy.keys().isdisjoint(places):
            return ()
        job = self.jobs[number]
        self._forget(number)
        self._free.difference_update(job.hosts)
        self._begun[number] = now
        self._busy |= dict.fromkeys(places, now + self._order.lengths.expected(job.seconds))
        return (number,)

    def _forget(self, number: int) -> None:
        self._unqueue(number)
        for place in self._places(number):
            self._left[place] -= self.jobs[number].seconds

    def _wait(self, host: str, now: float) -> float:
        """Return the approximate seconds until the next job of a free host can begin."""
        number = self._queues[host][0]
        waits = [self._until(place, now) for place in self._places(number)]
        for other in self.jobs[number].hosts:
            first = self._queues[other][0]
            if other in self._free and first != number:
                until = max(self._until(place, now) for place in self._places(first))
                waits.append(until + self._order.lengths.expected(self.jobs[first].seconds))
        return max(waits)

    def _until(self, place: Hashable, now: float) -> float:
        """Return about how many seconds a host or group stays busy.

        A job that is overdue by t seconds is expected to last t seconds more.
        """
        return abs(self._busy.get(place, now) - now)

    def _overtake(self, host: str, late: frozenset[str], now: float) -> tuple[int, ...]:
        """Begin a later job of a `late` host if such a job delays no other host.

        The job's other host must be late too, or have this job as its next one.
        """
        best: tuple[tuple[bool, tuple[float, float], int], int] | None = None
        for number in itertools.islice(self._queues[host], self._look):
            hosts = self.jobs[number].hosts
            if not late.issuperset(hosts) and not self._is_next(number, late):
                continue
            places = self._places(number)
            left = max((self._left_of(h) for h in hosts if h != host), default=(0, 0))
            across = self._across_first and len(places) - len(hosts) > 1
            key = across, left, -number
            if (best is None or key > best[0]) and self._busy.keys().isdisjoint(places):
                best = key, number
        return self._begin(best[1], now) if best else ()

    def _is_next(self, number: int, late: frozenset[str]) -> bool:
        """Return True if the hosts are free and the job is next for each host that is not late."""
        hosts = self.jobs[number].hosts
        return self._free.issuperset(hosts) and all(
            host in late or self._queues[host][0] == number for host in hosts
        )


def makespan(
    jobs: Sequence[Job],
    groups: Mapping[str, str] | None = None,
    at_once: int = 0,
    lengths: Sequence[float] | None = None,
) -> float:
    """Simulate a dispatch and return the seconds that it takes for all jobs.

    `lengths` holds the seconds that each job takes; without it, jobs take the planned time.
    """
    dispatch = Dispatch(jobs, groups, at_once)
    ends: list[tuple[float, int]] = []
    now = 0.0
    while True:
        for number in dispatch.ready(now):
            length = lengths[number] if lengths else jobs[number].seconds
            heapq.heappush(ends, (now + length, number))
        if not ends:
            return now
        now, number = heapq.heappop(ends)
        dispatch.over(number, now)
        while ends and ends[0][0] <= now:
            dispatch.over(heapq.heappop(ends)[1], now)
