"""The schedule of a mesh: several pairs measure at once, each like a campaign of two hosts.

One thread decides which runs begin (`experiment.mesh.dispatch`). Each attempt has its own thread
and an immutable context (`attempt.Context`). The threads share only the session.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread

from netlimits.archive.records import Outcomes, outcomes
from netlimits.campaign import attempt, schedule
from netlimits.campaign.attempt import ATTEMPTS
from netlimits.campaign.interrupt import Interrupted, Stopping
from netlimits.campaign.progress import Progress, Tally
from netlimits.campaign.session import Session
from netlimits.errors import ConnectionLost, HostError, NetlimitsError
from netlimits.experiment.mesh.dispatch import Dispatch, makespan
from netlimits.experiment.mesh.workload import Job, Workload
from netlimits.model import Record, Run

PULSE = 0.5
"""Seconds between two attempts to end runs after Ctrl-C. It must be longer than a run takes to
write its `end` event after its commands were killed."""

SAMPLE = 10_000
"""Number of runs from which the speed-up by parallel runs is estimated. The estimate is up to 2.5 %
wrong (half: 4.2 %, half the CPU time; double: right in these meshes, twice the CPU time)."""


class Cut:
    """Interrupts the threads of runs; `interrupt.Stop` handles signals in the main thread."""

    def __init__(self) -> None:
        self.requested = ""

    def check(self) -> None:
        if self.requested:
            raise Interrupted(self.requested)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise Interrupted before or after the block; `_end` ends the block's commands early."""
        self.check()
        yield
        self.check()


def every_pair(
    session: Session,
    stop: Stopping,
    on_progress: Callable[[Progress], None],
    *,
    at_once: int = 0,
    pending: Callable[[Outcomes], Iterator[Run]] | None = None,
    look_every: float | None = None,
) -> Progress:
    """Carry out every run of a mesh that has no outcome yet, on the hosts of an open session.

    At most `at_once` pairs measure at a time (0: no limit). `pending` yields the runs, by default
    those of the plan. `look_every` is the maximum time in seconds between two checks of idle hosts.
    """
    before = outcomes(session.archive)
    draw = pending or partial(schedule.pending, session.plan)
    jobs = session.plan.jobs(draw(before))  # an iterator: a plan may have a million runs
    machines = session.survey.machines.items()
    groups = {role: machine.group for role, machine in machines if machine.group}
    first = [*itertools.islice(jobs, SAMPLE)]
    workload = Workload(itertools.chain(first, jobs), groups)
    seconds = sum(job.seconds for job in first)
    together = makespan(first, groups, at_once) / max(seconds, 1e-9)
    del first
    gone = session.survey.unreached
    reached = workload.total - sum(workload.seconds_of[role] for role in gone)
    tally = Tally(before.counts, workload.count, reached, together)
    dispatch = Dispatch(session.plan.jobs(draw(before)), groups, at_once, workload)
    on_progress(tally.progress())
    return Concurrency(session, stop, dispatch, tally, before.attempts, gone, look_every).carry_out(
        on_progress
    )


@dataclass(frozen=True, slots=True)
class _Over:
    """The end of a run's thread, with its record or the error that prevented one."""

    number: int
    record: Record | None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Called:
    """The result of reconnecting to a host: `error` is why it failed."""

    role: str
    error: BaseException | None = None


class Concurrency:
    """Carries out the runs of a mesh in threads; the dispatch decides which runs begin."""

    def __init__(
        self,
        session: Session,
        stop: Stopping,
        dispatch: Dispatch,
        tally: Tally,
        attempts: dict[int, int],
        gone: Mapping[str, str] | None = None,
        look_every: float | None = None,
    ) -> None:
        gone = gone or {}
        self._session, self._stop = session, stop
        self._dispatch, self._tally = dispatch, tally
        self._attempts, self._begun = attempts, Counter[int]()
        self._renew_after = session.guards.patience / 5
        self._look_every = look_every or self._renew_after / 2
        self._news: SimpleQueue[_Over | _Called] = SimpleQueue()
        self._cut = Cut()
        self._going: dict[int, Job] = {}
        self._unreachable: set[str] = set()
        for role in gone:
            dispatch.lose(role)
        self._heard = dict.fromkeys(dispatch.hosts, time.monotonic())
        self._looked = time.monotonic()
        self._gone = dict(gone)

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        progress = self._tally.progress()
        try:
            while True:
                self._stop.check()
                for number in self._dispatch.ready(time.monotonic()):
                    self._begin(number)
                if not self._going and not self._unreachable:
                    break
                self._renew()
                if record := self._hear():
                    progress = self._tally.progress(record)
                    on_progress(progress)
        except BaseException as error:
            self._end(str(error))
            raise
        if self._gone and (left := self._tally.left):
            who = "; ".join(f"{role}: {why}" for role, why in self._gone.items())
            raise HostError(f"{left} runs are left, on hosts that were lost: {who}")
        return progress

    def _begin(self, number: int) -> None:
        job = self._dispatch.jobs[number]
        run: Run = job.run
        tried = self._attempts.get(run.number, 0) + 1
        self._attempts[run.number] = tried
        self._begun[run.number] += 1
        last = self._begun[run.number] >= ATTEMPTS
        self._going[number] = job
        context = attempt.context(self._session, self._cut, job.hosts, run, tried, last)

        def work() -> None:
            try:
                self._news.put(_Over(number, attempt.carry_out(context)))
            except BaseException as error:  # passed to the main loop, which raises it
                self._news.put(_Over(number, None, error))

        Thread(target=work, name=f"run {run.number}", daemon=True).start()

    def _hear(self) -> Record | None:
        """Wait up to `look_every` for a run or a reconnection to end; return a run's record."""
        try:
            with self._stop.interruptible():
                news = self._news.get(timeout=self._look_every)
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
        lost = self._session.lost(job.hosts)
        for role in lost:
            self._call(role)
        if news.error and not (lost and isinstance(news.error, ConnectionLost)):
            raise news.error
        record = news.record
        repeat = record is None or record.status == "interrupted"
        self._dispatch.over(news.number, now, unreachable=lost, repeat=repeat)
        if record is None or repeat:
            return record
        self._attempts.pop(record.run.number)
        del self._begun[record.run.number]
        self._tally.add(record, job.seconds, record.duration_s)
        self._session.archive.sync()  # no later run may sync it soon
        self._session.archive.roll()
        return record

    def _call(self, role: str) -> None:
        """Reconnect to a host in a separate thread."""
        self._unreachable.add(role)

        def call() -> None:
            try:
                self._session.connect_again(role)
                self._news.put(_Called(role))
            except BaseException as error:  # passed to the main loop
                self._news.put(_Called(role, error))

        Thread(target=call, name=f"call {role}", daemon=True).start()

    def _came_back(self, news: _Called) -> None:
        self._unreachable.remove(news.role)
        if news.error is None:
            self._dispatch.back(news.role)
            self._heard[news.role] = time.monotonic()
            return
        if not isinstance(news.error, HostError):
            raise news.error
        self._dispatch.lose(news.role)
        self._heard.pop(news.role, None)
        self._gone[news.role] = str(news.error).removeprefix(f"{news.role}: ")

    def _renew(self) -> None:
        """Renew the claims of hosts that have been idle for long."""
        now = time.monotonic()
        if now - self._looked < self._renew_after / 4:
            return
        self._looked = now
        busy = {role for job in self._going.values() for role in job.hosts} | self._unreachable
        heard = self._heard.items()
        late = [role for role, at in heard if now - at > self._renew_after and role not in busy]
        if not late:
            return
        try:
            self._session.renew(late)
            self._heard |= dict.fromkeys(late, now)
        except ConnectionLost:
            for role in self._session.lost(late):
                self._dispatch.hold(role)
                self._call(role)

    def _end(self, why: str) -> None:
        """Interrupt every run in progress, and wait until each has written its `end` event."""
        self._cut.requested = why
        while self._going:
            roles = tuple(role for job in self._going.values() for role in job.hosts)
            with suppress(NetlimitsError):  # a lost host runs no more commands
                self._session.cut_short(roles)
            try:
                while True:
                    news = self._news.get(timeout=PULSE)
                    if isinstance(news, _Over):
                        self._going.pop(news.number)
            except Empty:
                continue
