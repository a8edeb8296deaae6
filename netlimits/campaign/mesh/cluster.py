"""Carry out a mesh's campaign on Dask workers, each with one shard at a time.

This process holds the plan and writes the campaign's journal. It copies the journals of shards into
the campaign's journal while they grow. Everything that must survive is in the campaign's folder,
which all workers share. A worker that was given up may return. It then finds that its successor has
locked the shard's journal and claimed the hosts.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netlimits import __version__
from netlimits.archive.journal import Head
from netlimits.archive.logbook import Logbook
from netlimits.archive.records import Outcomes, outcomes
from netlimits.archive.store import Archive
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.mesh import shards
from netlimits.campaign.mesh.shards import Shard
from netlimits.campaign.mesh.worker import Order, ShardOutcome, carry_out
from netlimits.campaign.progress import Progress, Tally
from netlimits.checks.survey import Survey
from netlimits.errors import (
    ArchiveInUse,
    HostError,
    InputError,
    RestoreError,
    one_line,
)
from netlimits.experiment.mesh.dispatch import Dispatch
from netlimits.experiment.mesh.workload import Job, Workload
from netlimits.model import Run

if TYPE_CHECKING:
    from distributed import Client, Future

    from netlimits.archive.copies import RunsCopy

PULSE = 0.5
"""Seconds between two reads of the shards' journals. It must be much longer than the reads take:
0.1 ms for a shard without news."""

TRIES = 5
"""Maximum number of submissions of a shard. Dask also repeats tasks of lost workers by itself (3
times by default), so this many losses of a scheduler or of four workers each end a campaign."""

REACHED = 10.0
"""Seconds within which a scheduler must answer. It must be longer than a TCP connection takes whose
first two SYNs are lost (3 s)."""

RETURN = 600.0
"""Seconds within which a lost scheduler must return. It must be longer than its machine takes to
restart."""


def client(address: str, seconds: float = REACHED) -> Client:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "--scheduler needs Dask, which is not installed: pip install 'netlimits[dask]'"
        ) from None
    for name in logging.root.manager.loggerDict:  # this function reports Dask's errors itself
        if name.partition(".")[0] in ("distributed", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return distributed.Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"--scheduler {address}: {one_line(error)}") from None


@dataclass(slots=True)
class _Going:
    """A submitted shard; its journal was copied up to the position `head`."""

    number: int
    shard: Shard
    future: Future[ShardOutcome]
    tries: int = 1
    head: Head = field(default_factory=Head)


class ClusterRunner:
    """Submits the shards of a mesh to Dask, and copies what they measured into the campaign."""

    def __init__(
        self,
        campaign: Logbook,
        survey: Survey,
        stop: Stop,
        address: str,
        guard: float | None,
        patience: float,
        at_once: int,
        share: RunsCopy | None = None,
    ) -> None:
        """`guard` and `patience` are in seconds; `at_once` limits the busy pairs (0: no limit)."""
        self._campaign, self._archive = campaign, campaign.archive
        self._share, self._session = share, secrets.token_hex(4)
        self.unshared = ""
        self._plan = campaign.plan.leaving_out(survey.skipped)
        self._survey, self._stop = survey, stop
        self._address = address
        self._guard, self._patience, self._pairs = guard, patience, at_once
        self._client: Client | None = None
        self._going: dict[int, _Going] = {}
        self._gone = dict(survey.unreached)
        self._not_put_back: list[str] = []

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Carry out every run of the plan that has no outcome yet; workers restore their hosts."""
        shutil.rmtree(shards.folder(self._archive), ignore_errors=True)
        shards.folder(self._archive).mkdir(mode=0o700)
        with self._stop.interruptible():
            self._client = client(self._address)
            workers = self._workers()
            if self._share:
                self._share.claim(self._campaign)
        try:
            return self._every_shard(workers, on_progress)
        finally:
            with suppress(Exception):  # the scheduler may be gone; everything is on disk
                self._client.close(timeout=REACHED)

    def _workers(self) -> int:
        assert self._client
        try:
            self._client.wait_for_workers(1, timeout=REACHED)
        except TimeoutError:
            raise InputError(
                f"--scheduler {self._address}: it has no workers; start them: "
                f"dask worker {self._address} --nthreads 1"
            ) from None
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def _every_shard(self, workers: int, on_progress: Callable[[Progress], None]) -> Progress:
        before = outcomes(self._archive)
        most = min(workers, self._pairs or workers)
        pending = sum(1 for _ in self._pending(before))
        workload = Workload(self._jobs(before, most))
        seconds = workload.bound(most)
        self._each_run = seconds / max(pending, 1)
        self._tally = Tally(before.counts, pending, seconds)
        self._attempts, self._each = before.attempts, self._pairs // most
        dispatch = Dispatch(self._jobs(before, most), at_once=most, workload=workload)
        on_progress(self._tally.progress())
        try:
            while True:
                self._stop.check()
                for number in dispatch.ready(time.monotonic()):
                    self._begin(number, dispatch.jobs[number].run)
                if not self._going:
                    break
                with self._stop.interruptible():
                    time.sleep(PULSE)
                for going in [*self._going.values()]:
                    self._hear(going, on_progress)
                    if going.number not in self._going:
                        dispatch.over(going.number, time.monotonic())
        except BaseException:
            self._end(on_progress)
            raise
        return self._over()

    def _jobs(self, before: Outcomes, most: int) -> Iterator[Job]:
        machines, name = self._survey.machines, self._archive.path.name
        gone = self._survey.unreached.keys()
        runs = (run for run in self._pending(before) if gone.isdisjoint(shards.ends(run)))
        for shard in shards.shards(self._plan, runs, machines, most, name):
            yield Job(shard.groups, shard.seconds, shard)

    def _pending(self, before: Outcomes) -> Iterator[Run]:
        for run in self._plan.runs():
            before.check(run)
            if run.number not in before and not self._plan.skip_reason(run.values):
                yield run

    def _over(self) -> Progress:
        shutil.rmtree(shards.folder(self._archive), ignore_errors=not self._not_put_back)
        if self._not_put_back:
            raise RestoreError("\n".join(self._not_put_back))
        if self._gone and (left := self._tally.left):
            who = "; ".join(f"{role}: {why}" for role, why in self._gone.items())
            raise HostError(f"{left} runs are left, on hosts that were lost: {who}")
        return self._tally.progress()

    def _begin(self, number: int, shard: Shard) -> None:
        shard = shard.without(self._gone)
        self._going[number] = _Going(number, shard, self._submit(shard, 1))

    def _submit(self, shard: Shard, tries: int) -> Future[ShardOutcome]:
        assert self._client
        machines = {role: self._survey.machines[role] for role in shard.hosts}
        runs = {run.number for run in shard.runs}
        order = Order(
            version=__version__,
            folder=str(self._archive.path.absolute()),
            campaign=self._archive.identity,
            machines=machines,
            features=self._survey.features,
            shard=shard,
            attempts={run: last for run, last in self._attempts.items() if run in runs},
            guard=self._guard,
            patience=self._patience,
            at_once=self._each,
            share=self._share,
            session=self._session,
        )
        key = f"{self._archive.identity}-{shard.name}-{tries}"
        return self._client.submit(carry_out, order, key=key, pure=False)

    def _hear(self, going: _Going, on_progress: Callable[[Progress], None]) -> None:
        """Copy a shard's new events. If its task ended, use the result or submit it once more."""
        over = going.future.done()  # read before the journal, which is complete once this is True
        self._take_in(going, on_progress)
        if not over:
            return
        answer = _answer(going.future) if going.future.status == "finished" else None
        if answer is not None:
            self._answered(going, answer)
        elif going.future.status == "error" and not _lost_workers(going.future):
            raise HostError(f"{going.shard.name}: a worker failed: {_problem(going.future)}")
        elif going.tries == TRIES:
            raise HostError(
                f"{going.shard.name}: its workers or the scheduler were lost {TRIES} times"
            )
        else:  # the next worker continues at the end of the shard's journal
            self._reconnect()
            going.tries += 1
            going.future = self._submit(going.shard, going.tries)

    def _answered(self, going: _Going, answer: ShardOutcome) -> None:
        self._gone |= answer.gone
        self.unshared = self.unshared or answer.unshared
        left = answer.exit_status == RestoreError.exit_status
        if answer.problem and not answer.gone:
            del self._going[going.number]
            raise (RestoreError if left else HostError)(answer.problem)
        if left:
            self._not_put_back.append(answer.problem)
        elif archive := self._shard(going.shard):
            shards.remove(archive)
        del self._going[going.number]

    def _take_in(self, going: _Going, on_progress: Callable[[Progress], None]) -> None:
        """Copy the new events of a shard into the campaign, and report its runs as progress."""
        if archive := self._shard(going.shard):
            going.head, records = shards.copy_new(self._archive, archive, going.head)
            for record in records:
                self._archive.roll()
                if record.status != "interrupted":
                    self._tally.add(record, self._each_run, self._each_run)
                on_progress(self._tally.progress(record))

    def _shard(self, shard: Shard) -> Archive | None:
        path = shards.folder(self._archive) / shard.name
        return Archive.open(path) if (path / "campaign.json").exists() else None

    def _reconnect(self) -> None:
        """If the scheduler does not answer, connect to it again; retry for up to RETURN seconds."""
        assert self._client
        if self._client.status == "running":
            with suppress(Exception):  # any error means that it does not answer
                self._client.scheduler_info()
                return
        with suppress(Exception):
            self._client.close(timeout=REACHED)
        limit = time.monotonic() + RETURN
        while True:
            with self._stop.interruptible():
                try:
                    self._client = client(self._address)
                except InputError:
                    if time.monotonic() > limit:
                        raise
                else:
                    return
                time.sleep(PULSE)

    def _end(self, on_progress: Callable[[Progress], None]) -> None:
        """Ask every worker to end, wait until no worker holds a shard, and copy the results."""
        (shards.folder(self._archive) / shards.STOP).touch()
        with suppress(Exception):  # a lost scheduler starts no more tasks
            assert self._client
            self._client.cancel([going.future for going in self._going.values()])
        for going in self._going.values():
            while (archive := self._shard(going.shard)) and not self._let_go(archive):
                time.sleep(PULSE)
            self._take_in(going, on_progress)

    def _let_go(self, archive: Archive) -> bool:
        """Return True if no worker holds the lock of a shard's journal."""
        try:
            archive.lock()
        except ArchiveInUse:
            return False
        archive.close()
        return True


def _answer(future: Future[ShardOutcome]) -> ShardOutcome | None:
    """Return the result of a finished task, or None if the scheduler was lost before."""
    from distributed import CancelledError

    try:
        return future.result()
    except (OSError, CancelledError):
        return None


def _lost_workers(future: Future[ShardOutcome]) -> bool:
    from distributed import KilledWorker

    return isinstance(future.exception(), KilledWorker)


def _problem(future: Future[ShardOutcome]) -> str:
    return one_line(future.exception()) or repr(future.exception())
