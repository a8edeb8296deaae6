"""The runs of a mesh as jobs of a dispatch, their totals, and lower bounds of their time."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from netlimits.experiment.mesh.rounds import numbered


class Job(NamedTuple):
    """A run for the dispatch: its hosts, its approximate length, and the run itself."""

    hosts: tuple[str, ...]
    seconds: float
    run: Any = None


class Workload:
    """Totals of all jobs, so that a dispatch need not read them all at once."""

    def __init__(self, jobs: Iterable[Job], groups: Mapping[str, str] | None = None) -> None:
        self.groups = groups or {}
        self.count = 0
        self.longest = self.total = 0.0
        self.jobs_of: defaultdict[str, int] = defaultdict(int)
        self.seconds_of: defaultdict[Hashable, float] = defaultdict(float)
        self._fewest: float = math.inf
        self._ends: defaultdict[Hashable, float] = defaultdict(
            float
        )  # place -> end of its last job if all jobs run in order
        self._across = 0.0  # seconds of jobs that go through two groups
        self._squares = 0.0
        jobs, counted = itertools.tee(jobs)
        rounds = zip(numbered(job.hosts for job in counted), jobs, strict=True)
        for _, together in itertools.groupby(rounds, lambda pair: pair[0]):
            self._add([job for _, job in together])

    def _add(self, jobs: list[Job]) -> None:
        seconds = sum(job.seconds for job in jobs)
        if mean := seconds / len(jobs):
            self._squares += sum((job.seconds / mean - 1) ** 2 for job in jobs)
        self.count += len(jobs)
        self.total += seconds
        for job in jobs:
            self.longest = max(self.longest, job.seconds)
            self._fewest = min(self._fewest, len(job.hosts))
            for host in job.hosts:
                self.jobs_of[host] += 1
            places = self.places(job)
            if len(places) >= len(job.hosts) + 2:
                self._across += job.seconds
            end = job.seconds + max(self._ends[place] for place in places)
            for place in places:
                self.seconds_of[place] += job.seconds
                self._ends[place] = end

    def places(self, job: Job) -> tuple[Hashable, ...]:
        """Return the places that a job occupies: its hosts and their groups."""
        through = {self.group(host) for host in job.hosts} - {None} if self.groups else ()
        return (*job.hosts, *through) if through else job.hosts

    def group(self, host: str) -> Hashable | None:
        """Return the place of the group that a host's runs go through, None without a group."""
        name = self.groups.get(host)
        return ("group", name) if name else None

    @property
    def spread(self) -> float:
        """The coefficient of variation of the jobs' lengths within their rounds."""
        return (self._squares / self.count) ** 0.5 if self.count else 0.0

    @property
    def in_order(self) -> float:
        """Seconds that all jobs take if each place runs its jobs in order."""
        return max(self._ends.values(), default=0.0)

    @property
    def across(self) -> float:
        """Minimum seconds of the jobs between groups, each of which occupies two groups."""
        groups = sum(isinstance(place, tuple) for place in self.seconds_of)
        return self._across / max(1, groups // 2)

    def bound(self, at_once: int = 0) -> float:
        """Return a lower bound of the seconds that all jobs take, `at_once` jobs at a time.

        The busiest place, and the limit on jobs at a time, each give a bound.
        """
        most = min(at_once or math.inf, max(1, len(self.jobs_of) // self._fewest))
        return max(self.total / most, self.across, *self.seconds_of.values(), 0.0)


def bound(jobs: Iterable[Job], groups: Mapping[str, str] | None = None, at_once: int = 0) -> float:
    """Return a lower bound of the seconds that the jobs take (see `Workload.bound`)."""
    return Workload(jobs, groups).bound(at_once)
