"""The campaign: a straight line from a plan to a journal.

For each run: settings are applied and read back, the evidence is read, the client runs, the
evidence is read again, everything that was printed goes to disk, and only then is it parsed and
recorded.
Whatever happens, hosts are put back at the end: after an error, after Ctrl-C, and by
`netlimits restore` when this process was killed.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Any

from netlimits.archive import done, raw
from netlimits.archive.records import end_fields, run_fields
from netlimits.archive.store import Archive
from netlimits.campaign import interpret, specifications, steps
from netlimits.campaign.controller import Controller, controller_figures
from netlimits.campaign.interrupt import Interrupted, Stop
from netlimits.campaign.measurement import Testbed
from netlimits.campaign.preparation import Preparation, SettingStep
from netlimits.campaign.progress import Progress, TimeLeft
from netlimits.campaign.recorder import Recorder
from netlimits.campaign.specifications import Specification
from netlimits.checks.survey import Survey
from netlimits.errors import (
    ArchiveUnwritable,
    ConnectionLost,
    HostError,
    NetlimitsError,
    SettingError,
    ToolFailure,
)
from netlimits.evidence import facts
from netlimits.experiment import pacing
from netlimits.experiment.plan import Plan
from netlimits.hosts.base import Host
from netlimits.hosts.connect import within_budget
from netlimits.hosts.servers import Servers
from netlimits.hosts.threads import at_once
from netlimits.model import ControllerCost, Machine, Measurement, Record, Run, SettingUse
from netlimits.restore.changes import Changes
from netlimits.restore.guard.guards import PATIENCE
from netlimits.restore.put_back import CampaignLog, guards, put_back
from netlimits.tools import Features

KEPT = 1000
"""Configurations whose specifications are kept, and runs: memory does not grow with either."""

ATTEMPTS = 2
"""How often a run is begun by one process: once more after a connection was lost under it."""


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
        self._entries: list[raw.RawEntry] = []
        self._connect = connect
        self._budget = {role: host.patience.seconds for role, host in hosts.items()}
        self._hosts = {role: Recorder(host, self._entries) for role, host in hosts.items()}
        self._specifications: dict[str, Specification] = {}
        self._servers = Servers(stop.check)
        self._measuring = Testbed(self._host, survey.machines, self._servers, stop)
        self._way = ""
        self._preparation = Preparation(survey.machines)
        self._guards = guards(archive, self._host, guard)
        log = CampaignLog(archive, self._guards, survey.facts)
        self._changes = Changes(self._host, log)

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Every run of the plan that has no outcome yet; then put the hosts back.

        Returns how it stood at the end. Raises Interrupted after Ctrl-C, with the hosts put back;
        RestoreError when one could not be.
        """
        with ExitStack() as last:  # in reverse: servers, settings, connections, whatever fails
            for host in self._hosts.values():
                last.callback(host.close)
            last.push(self._synced)
            self._guards.claim()
            last.callback(put_back, self._changes, self._guards)
            last.callback(self._servers.stop)
            return self._every_run(on_progress)

    def _synced(self, kind: type[BaseException] | None, *_: object) -> None:
        """Have the journal on disk. Beside another error, that one stands."""
        try:
            self.archive.sync()
        except ArchiveUnwritable:
            if kind is None:
                raise

    def _host(self, role: str) -> Recorder:
        """The host of a role, connected again when its connection was lost."""
        if self._hosts[role].lost:
            self._connect_again(role, nullcontext())
        return self._hosts[role]

    def _connect_again(self, role: str, waiting: AbstractContextManager[None]) -> None:
        """Make a lost connection again, within the budget, and write that down.

        Raises ConnectionLost when it does not come back: from then on there is one try at a
        time, so that a put-back does not wait for it again and again. Raises HostError when the
        host was booted since, which undid what was set there.
        """
        host, began = self._hosts[role], time.monotonic()
        try:
            with waiting:
                machine = self.survey.machines[role]
                new_host, tries = within_budget(lambda: self._connect(machine), self._budget[role])
        except HostError as error:
            self._budget[role] = 0
            raise ConnectionLost(f"the connection does not come back: {error}") from None
        why = host.lost
        host.replace(new_host)
        seconds = round(time.monotonic() - began, 3)
        self.archive.append("reconnected", role=role, reason=why, tries=tries, seconds=seconds)
        self._refuse_another_boot(role)

    def _refuse_another_boot(self, role: str) -> None:
        answer = self._hosts[role].run(facts.BOOT_ID.command(""))
        before, now = facts.value(self.survey.facts[role], "boot_id"), answer.stdout.strip()
        if before and now and now != before:
            self._guards.forget(role)
            raise HostError(
                f"it was booted in mid-campaign (boot {before} is now {now}): what was set there "
                "is gone, and this campaign stops; `netlimits resume --accept-changed-hosts` "
                "goes on all the same",
                host=role,
            )

    def _every_run(self, on_progress: Callable[[Progress], None]) -> Progress:
        before = done.done(self.archive)
        counts = before.outcomes
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
            for attempt in range(first, first + ATTEMPTS):
                record = self._one_run(run, attempt, last=attempt == first + ATTEMPTS - 1)
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

    def _pending(self, before: done.Done) -> Iterator[Run]:
        """The planned runs that have no outcome yet, in their order; a stream."""
        for run in self.plan.runs(min([before.first_left, *before.told])):
            if run.number in before.told:
                before.hold_to(run)
            if run.number not in before and not self.plan.skip(run.values):
                yield run

    def _twice(self, before: done.Done) -> tuple[Iterator[Run], Callable[[], Iterable[Run]]]:
        """The pending runs, and what gives them once more: a few without drawing their order anew.

        The first is gone through to its end before.
        """
        pending = self._pending(before)
        known = [*itertools.islice(pending, KEPT)]
        more = [*itertools.islice(pending, 1)]
        if more:
            return itertools.chain(known, more, pending), lambda: self._pending(before)
        return iter(known), lambda: known

    def _one_run(self, run: Run, attempt: int, last: bool) -> Record:
        """One attempt, from its `start` in the journal to its `end`.

        A measurement under which a connection was lost is `interrupted`: a new attempt, which is
        a record of its own, may mend it. The `last` one then counts, as failed.
        """
        self.stop.check()
        for role, host in self._hosts.items():
            if host.lost:  # one that is gone for good ends the campaign, not run after run
                self._connect_again(role, self.stop.interruptible())
        self._guards.keep(self._longest(run))
        self._entries.clear()
        started, clock = time.time(), time.monotonic()
        self.archive.add("start", **run_fields(run), attempt=attempt, started=started)
        controller = Controller()
        specification = self._specification(run)
        interrupted: Interrupted | None = None
        status, reason = "ok", ""
        measurement = None
        measuring, digest = False, ""
        cost: ControllerCost | None = None
        try:
            specification = self._prepare(specification)
            self.archive.sync()
            measuring = True
            features, questions = self._features(specification), self._guards.questions()
            answers = self._measuring.measure(specification, features, questions)
            self._step(raw.GUARD)
            self._guards.fired(answers)
            cost = controller.cost()
            digest = self._write_raw(run, attempt)
            measurement = self._read(specification)
        except ToolFailure as error:
            status, reason = error.status, str(error)
        except (SettingError, HostError) as error:
            again = measuring and not last and isinstance(error, ConnectionLost)
            status, reason = "interrupted" if again else "failed", str(error)
        except Interrupted as error:
            status, reason, interrupted = "interrupted", str(error), error
        if not digest:
            digest = self._write_raw(run, attempt)
        cost = cost or controller.cost()
        record = Record(
            run=run,
            attempt=attempt,
            status=status,  # type: ignore[arg-type]  # ToolFailure's statuses are Status's
            reason=reason,
            started=started,
            duration_s=round(time.monotonic() - clock, 6),
            figures={**measurement.figures, **controller_figures(cost)} if measurement else {},
            interim=measurement.interim if measurement else (),
            raw=digest,
            cost=cost,
        )
        self.archive.add("end", **end_fields(record))  # on disk before the next one is measured
        if interrupted:
            raise interrupted
        return record

    def _write_raw(self, run: Run, attempt: int) -> str:
        """Have an attempt's raw output on disk, after the line that says that it began."""
        self.archive.sync()
        return self.archive.write_raw(run.number, attempt, self._entries)

    def _read(self, specification: Specification) -> Measurement:
        """What the run's raw output says. A reader's bug costs the figures of one run, no more."""
        try:
            return interpret.read(specification, self._entries)
        except NetlimitsError:
            raise
        except Exception as error:
            raise ToolFailure(
                f"what it printed could not be read ({error!r}); it is kept: please report this, "
                "and `netlimits parse` reads it again"
            ) from error

    def _prepare(self, specification: Specification) -> Specification:
        """Bring the hosts to a run's settings, and its pace; the specification with that pace.

        The sender is paced by the best way that its kernel takes.
        """
        self._step(steps.SETTINGS)
        paces = list(self._paces(specification))
        first = paces[0][1] if paces else None
        setup = specification.setup
        for turn in self._preparation.turns(setup, specification.ends, first, self._hosts):
            self._take(turn)
        refused = []
        for way, use, options in paces:
            try:
                self._take(self._preparation.paced(use))
            except SettingError as error:
                refused.append(f"{way}: {error.problem}")
                continue
            self._way = way
            return replace(specification, setup=replace(setup, options=options))
        if refused:
            raise SettingError(f"nothing paces: {'; '.join(refused)}", setting="pace")
        return specification

    def _take(self, turn: Sequence[SettingStep]) -> None:
        """One setting on its hosts: on several at the same time, on one machine in turn."""
        self.stop.check()
        machines: defaultdict[str | None, list[SettingStep]] = defaultdict(list)
        for step in turn:
            machines[self.survey.machines[step.role].ssh].append(step)

        def take(steps: Sequence[SettingStep]) -> None:
            for step in steps:
                self._take_one(step)

        left, waits = [], []
        errors: list[Exception] = []
        for own in machines.values():
            try:
                wait = self._begin(own)
            except Exception as error:
                errors.append(error)
            else:
                waits += [wait] if wait else []
                left += [] if wait else [own]
        for act in (self.archive.sync, lambda: at_once(take, left), *waits):
            try:  # an error of one leaves no other with an answer unread
                act()
            except Exception as error:
                errors.append(error)
        if errors:  # what ends the campaign before what fails a run
            raise min(errors, key=lambda error: isinstance(error, SettingError | HostError))

    def _begin(self, steps: Sequence[SettingStep]) -> Callable[[], object] | None:
        """Have a machine begin its only step, where that costs no look and so no thread."""
        if len(steps) > 1 or steps[0].act != "reach":
            return None
        (step,) = steps
        return self._changes.begin(step.role, step.interface, step.name, step.options)

    def _take_one(self, step: SettingStep) -> None:
        place = (step.role, step.interface, step.name)
        if step.act == "look":
            self._changes.look(*place, step.options)
        elif step.act == "leave":
            self._changes.as_found(place)
        else:
            self._changes.reach(*place, step.options)

    def _paces(
        self, specification: Specification
    ) -> Iterator[tuple[str, SettingUse, Mapping[str, Any]]]:
        """Each way to pace, the best first, or the one that was taken before; nothing unpaced."""
        if pace := specification.around.pace:
            features = self._features(specification)
            for way in [self._way] if self._way else pacing.ways(specification.tool, features):
                yield (
                    way,
                    *pacing.paced(
                        specification.tool,
                        way,
                        pace,
                        specification.ends["local"],
                        specification.options,
                    ),
                )

    def _features(self, specification: Specification) -> Features:
        features = self.survey.features
        program = specification.options.get("program", specification.tool)
        return features.get(program, features[specification.tool])

    def _specification(self, run: Run) -> Specification:
        """The specification of a run; it is made once for each configuration."""
        if run.config not in self._specifications:
            if len(self._specifications) >= KEPT:
                self._specifications.pop(next(iter(self._specifications)))
            self._specifications[run.config] = specifications.specified(
                self.plan.setup(run.values),
                self.plan.experiment.ends_of(run.values),
                self.survey.machines,
                self.survey.facts,
            )
        return self._specifications[run.config]

    def _seconds(self, run: Run) -> float:
        return self._specification(run).seconds

    def _longest(self, run: Run) -> float:
        """Seconds until the deadline of the run's tool, whatever happens, on the slowest host."""
        specification = self._specification(run)
        planned = steps.measurement(
            specification, self._features(specification), self.survey.machines
        )
        client = planned.client.command
        return max(host.patience.allow(client).deadline for host in self._hosts.values())

    def _step(self, step: str) -> None:
        for host in self._hosts.values():
            host.step = step
