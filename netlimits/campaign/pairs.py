"""A mesh's campaign: several pairs measure at once, each as a campaign of two hosts would.

One thread says which runs begin (`experiment.dispatch`) and writes no run itself; each attempt has
a thread of its own and gets a context that nothing changes (`attempt.Context`). What they share is
the session's, which says how.

A host whose connection is lost is called again beside the others' runs, as long as its patience
lasts. If it does not come back, its pairs' runs are left, and `resume` goes on with them.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread

from netlimits.archive.standing import outcomes
from netlimits.campaign.attempt import ATTEMPTS
from netlimits.campaign.interrupt import Interrupted
from netlimits.campaign.progress import Progress, TimeLeft
from netlimits.campaign.runner import Runner
from netlimits.errors import ConnectionLost, HostError, NetlimitsError
from netlimits.experiment.dispatch import Dispatch, makespan
from netlimits.experiment.workload import Job, Workload
from netlimits.hosts.threads import at_once
from netlimits.model import Record, Run

PULSE = 0.5
"""Seconds between two attempts to end what still runs after Ctrl-C."""


SAMPLE = 10_000
"""Runs that say how much of all its runs' time a campaign takes with several at once."""


class Cut:
    """Ctrl-C as the threads of runs hear it: `interrupt.Stop` takes signals in the main one."""

    def __init__(self) -> None:
        self.requested = ""

    def check(self) -> None:
        """Raise Interrupted when the end was asked for."""
        if self.requested:
            raise Interrupted(self.requested)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """What runs within it is ended from outside; then it raises Interrupted."""
        self.check()
        yield
        self.check()


@dataclass(slots=True)
class _Standing:
    """How far the campaign is; `together` is how long it takes of what its runs would in turn."""

    clock: TimeLeft
    together: float
    total: int
    counts: Counter[str]
    attempts: dict[int, int]
    begun: Counter[int] = field(default_factory=Counter)

    def add(self, record: Record, meant: float) -> None:
        """Count a run that has an outcome now."""
        self.counts[record.status] += 1
        self.attempts.pop(record.run.number, None)
        del self.begun[record.run.number]
        self.clock.spent(meant, record.duration_s)

    def progress(self, last: Record | None) -> Progress:
        counts = self.counts
        failed = counts.total() - counts["ok"]
        left = self.clock.left * self.together
        return Progress(counts.total(), failed, self.total, left, last, dict(counts))


class PairsRunner(Runner):
    """One process's work on a mesh's campaign; `at_once` pairs measure at most, if it is not 0."""

    pairs_at_once = 0

    @property
    def renew_after(self) -> float:
        """Seconds after which the claim of a host that waits is renewed."""
        return self.session.guards.patience / 5

    @property
    def look_every(self) -> float:
        """Seconds after which to look whether the end was asked for, if nothing else happens."""
        return self.renew_after / 2

    def _every_run(self, on_progress: Callable[[Progress], None]) -> Progress:
        before = outcomes(self.archive)
        pending, once_more = self._twice(before)
        jobs = self.plan.jobs(pending)
        groups = {r: machine.group for r, machine in self.survey.machines.items() if machine.group}
        first = [*itertools.islice(jobs, SAMPLE)]
        workload = Workload(itertools.chain(first, jobs), groups)
        seconds = sum(job.seconds for job in first)
        together = makespan(first, groups, self.pairs_at_once) / max(seconds, 1e-9)
        del first
        total = before.counts.total() + workload.count
        gone = self.survey.unreached
        clock = TimeLeft(workload.total - sum(workload.seconds_of[role] for role in gone))
        standing = _Standing(clock, together, total, before.counts, before.attempts)
        jobs = self.plan.jobs(once_more())
        dispatch = Dispatch(jobs, groups, self.pairs_at_once, workload)
        work = _Work(self, dispatch, standing, gone)
        on_progress(standing.progress(None))
        return work.carry_out(on_progress)

    def renew(self, roles: list[str]) -> None:
        """Renew the claims of hosts that wait."""
        self.session.guards.of(roles).renew(0.0)

    def lost(self, roles: tuple[str, ...]) -> list[str]:
        """The hosts among these whose connection is gone."""
        return self.session.lost(roles)

    def call_again(self, role: str) -> None:
        """Make a lost connection again. Raises HostError where it does not come back."""
        self.session.connect_again(role)

    def cut_short(self, roles: tuple[str, ...]) -> None:
        """End what runs on these hosts."""
        at_once(lambda role: self.session.hosts[role].cut_short(), roles)


@dataclass(frozen=True, slots=True)
class _Over:
    """A run's thread is over, with its record, or what kept it from having one."""

    number: int
    record: Record | None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Called:
    """A host was called again: `error` says why it did not come back."""

    role: str
    error: BaseException | None = None


class _Work:
    """The runs that go on, and what is to come."""

    def __init__(
        self,
        runner: PairsRunner,
        dispatch: Dispatch,
        standing: _Standing,
        gone: Mapping[str, str] | None = None,
    ) -> None:
        """`gone` has the hosts that are from the beginning, each with why."""
        gone = gone or {}
        self._runner = runner
        self._dispatch = dispatch
        self._standing = standing
        self._news: SimpleQueue[_Over | _Called] = SimpleQueue()
        self._cut = Cut()
        self._going: dict[int, Job] = {}
        self._away: dict[str, str] = {}
        for role in gone:
            dispatch.lose(role)
        self._heard = dict.fromkeys(dispatch.hosts, time.monotonic())
        self._looked = time.monotonic()
        self.gone = dict(gone)

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Every run, as hosts are free for it. Raises Interrupted once all have ended."""
        progress = self._standing.progress(None)
        try:
            while True:
                self._runner.stop.check()
                for number in self._dispatch.ready(time.monotonic()):
                    self._begin(number)
                if not self._going and not self._away:
                    break
                self._renew()
                if record := self._hear():
                    progress = self._standing.progress(record)
                    on_progress(progress)
        except BaseException as error:
            self._end(str(error))
            raise
        left = self._standing.total - self._standing.counts.total()
        if self.gone and left:
            who = "; ".join(f"{role}: {why}" for role, why in self.gone.items())
            raise HostError(f"{left} runs are left, of hosts that are gone: {who}")
        return progress

    def _begin(self, number: int) -> None:
        job = self._dispatch.jobs[number]
        run: Run = job.run
        tried = self._standing.attempts.get(run.number, 0) + 1
        self._standing.attempts[run.number] = tried
        self._standing.begun[run.number] += 1
        last = self._standing.begun[run.number] >= ATTEMPTS
        self._going[number] = job
        attempt = self._runner.attempt(run, tried, last, job.hosts, self._cut)

        def work() -> None:
            try:
                self._news.put(_Over(number, attempt()))
            except BaseException as error:  # handed over, to be acted on by who waits
                self._news.put(_Over(number, None, error))

        Thread(target=work, name=f"run {run.number}", daemon=True).start()

    def _hear(self) -> Record | None:
        """Wait for news and act on it; the record of a run that ended."""
        try:
            with self._runner.stop.interruptible():
                news = self._news.get(timeout=self._runner.look_every)
        except Empty:
            return None
        if isinstance(news, _Called):
            self._came_back(news)
            return None
        return self._over(news)

    def _over(self, news: _Over) -> Record | None:
        now = time.monotonic()
        job = self._going.pop(news.number)
        self._heard |= dict.fromkeys(job.hosts, now)
        lost = self._runner.lost(job.hosts)
        for role in lost:
            self._call(role)
        if news.error and not (lost and isinstance(news.error, ConnectionLost)):
            raise news.error
        record = news.record
        again = record is None or record.status == "interrupted"
        self._dispatch.over(news.number, now, away=lost, again=again)
        if record is None or again:
            return record
        self._standing.add(record, job.seconds)
        self._runner.archive.sync()  # another run may begin long after
        self._runner.archive.roll()
        return record

    def _call(self, role: str) -> None:
        """Call a host again whose connection was lost, beside the runs of others."""
        self._away[role] = ""

        def call() -> None:
            try:
                self._runner.call_again(role)
                self._news.put(_Called(role))
            except BaseException as error:  # handed over, as above
                self._news.put(_Called(role, error))

        Thread(target=call, name=f"call {role}", daemon=True).start()

    def _came_back(self, news: _Called) -> None:
        del self._away[news.role]
        if news.error is None:
            self._dispatch.back(news.role)
            self._heard[news.role] = time.monotonic()
            return
        if not isinstance(news.error, HostError):
            raise news.error
        self._dispatch.lose(news.role)
        self._heard.pop(news.role, None)
        self.gone[news.role] = str(news.error).removeprefix(f"{news.role}: ")

    def _renew(self) -> None:
        """Renew the claims of hosts that have waited for long."""
        now = time.monotonic()
        if now - self._looked < self._runner.renew_after / 4:
            return
        self._looked = now
        busy = {role for job in self._going.values() for role in job.hosts} | self._away.keys()
        after = self._runner.renew_after
        late = [r for r, at in self._heard.items() if now - at > after and r not in busy]
        if not late:
            return
        try:
            self._runner.renew(late)
            self._heard |= dict.fromkeys(late, now)
        except ConnectionLost:
            for role in self._runner.lost(tuple(late)):
                self._dispatch.hold(role)
                self._call(role)

    def _end(self, why: str) -> None:
        """End every run that goes on, and wait until each has written its end."""
        self._cut.requested = why
        while self._going:
            roles = tuple(role for job in self._going.values() for role in job.hosts)
            with suppress(NetlimitsError):  # a host that is gone runs nothing more for us
                self._runner.cut_short(roles)
            try:
                while True:
                    news = self._news.get(timeout=PULSE)
                    if isinstance(news, _Over):
                        self._going.pop(news.number)
            except Empty:
                continue
