"""A campaign of one pair: its runs in order, each an attempt or two, until all have an outcome.

`session` has the hosts, `attempt` is one run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from netlimits.archive import standing
from netlimits.archive.standing import Outcomes
from netlimits.archive.store import Archive
from netlimits.campaign import attempt
from netlimits.campaign.attempt import ATTEMPTS
from netlimits.campaign.interrupt import Stop, Stopping
from netlimits.campaign.progress import Progress, TimeLeft
from netlimits.campaign.session import Session
from netlimits.campaign.specifications import Specifications
from netlimits.checks.survey import Survey
from netlimits.experiment.plan import Plan
from netlimits.hosts.base import Host
from netlimits.model import Machine, Record, Run
from netlimits.restore.guard.guards import PATIENCE
from netlimits.restore.whole_state import sets_of

KEPT = 1000
"""Pending runs that are kept rather than drawn again: memory does not grow with their number."""


class Runner:
    """One process's work on a campaign, with hosts connected and the journal locked."""

    def __init__(
        self,
        archive: Archive,
        plan: Plan,
        survey: Survey,
        hosts: Mapping[str, Host],
        stop: Stop,
        connect: Callable[[Machine], Host],
        guard: float | None = PATIENCE,
    ) -> None:
        """`guard` is how long guards wait for word from here, in seconds; None for no guards.

        `connect` makes a lost connection again, as long as the host's patience lasts.
        """
        self.archive = archive
        self.plan = plan.leaving_out(survey.skipped)
        self.survey = survey
        self.stop = stop
        sets = sets_of(plan.experiment, survey.machines)
        self.session = Session(archive, survey, hosts, connect, guard, sets)
        self._specifications = Specifications(self.plan, survey.machines, survey.facts)

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Carry out every run of the plan that has no outcome yet; then restore the hosts.

        Returns how it stood at the end. Raises Interrupted after Ctrl-C, with the hosts restored;
        RestoreError when one could not be.
        """
        with self.session.open():
            return self._every_run(on_progress)

    @property
    def changed_by_others(self) -> list[str]:
        """Return what somebody else changed in the hosts' network state meanwhile, a line each."""
        return self.session.states.found.others

    def _every_run(self, on_progress: Callable[[Progress], None]) -> Progress:
        before = standing.outcomes(self.archive)
        counts = before.counts
        total, seconds = counts.total(), 0.0
        failed = total - counts["ok"]
        pending, once_more = self._twice(before)
        for run in pending:
            total += 1
            seconds += self._seconds(run)
        clock = TimeLeft(seconds)
        progress = Progress(counts.total(), failed, total, clock.left, None, dict(counts))
        on_progress(progress)
        for run in once_more():
            first = before.attempts.get(run.number, 0) + 1
            for number in range(first, first + ATTEMPTS):
                record = self._one_run(run, number, last=number == first + ATTEMPTS - 1)
                if record.status != "interrupted":
                    break
                on_progress(replace(progress, last=record))
            self.archive.roll()
            clock.spent(self._seconds(run), record.duration_s)
            failed += record.status != "ok"
            counts[record.status] += 1
            left, runs = clock.left, progress.done + 1
            progress = Progress(runs, failed, total, left, record, dict(counts))
            on_progress(progress)
        return progress

    def _pending(self, before: Outcomes) -> Iterator[Run]:
        """The planned runs that have no outcome yet, in their order; a stream."""
        for run in self.plan.runs(min([before.first_left, *before.configurations])):
            if run.number in before.configurations:
                before.check(run)
            if run.number not in before and not self.plan.skip(run.values):
                yield run

    def _twice(self, before: Outcomes) -> tuple[Iterator[Run], Callable[[], Iterable[Run]]]:
        """The pending runs, and what gives them once more: a few without drawing their order anew.

        The first is gone through to its end before.
        """
        pending = self._pending(before)
        known = [*itertools.islice(pending, KEPT)]
        more = [*itertools.islice(pending, 1)]
        if more:
            return itertools.chain(known, more, pending), lambda: self._pending(before)
        return iter(known), lambda: known

    def _one_run(self, run: Run, number: int, last: bool) -> Record:
        """Make one attempt at a run, on hosts that are connected again if need be."""
        self.stop.check()
        hosts = self.session.hosts
        for role in self.session.lost(hosts):  # one gone for good ends the campaign
            self.session.connect_again(role, self.stop.interruptible)
        return self.attempt(run, number, last, hosts.keys(), self.stop)()

    def attempt(
        self, run: Run, number: int, last: bool, roles: Collection[str], stop: Stopping
    ) -> Callable[[], Record]:
        """Return what makes one attempt at a run, on any thread; its roles' hosts are idle."""
        specification = self._specifications.of(run)
        context = attempt.context(self.session, stop, roles, run, number, last, specification)
        return lambda: attempt.carry_out(context)

    def _seconds(self, run: Run) -> float:
        return self._specifications.of(run).seconds
