"""The campaign: a straight line from a plan to a journal.

For each run: settings are applied and read back, the evidence is read, the client runs, the
evidence is read again, everything that was printed goes to disk, and only then is it parsed and
recorded.
Whatever happens, hosts are put back at the end: after an error, after Ctrl-C, and by
`netlimits restore` when this process was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from netlimits import outcome, pace, plan
from netlimits.archive import Archive, end_fields, records
from netlimits.errors import ConnectionLost, HostError, NetlimitsError, SettingError, ToolFailure
from netlimits.evidence import facts
from netlimits.guard import PATIENCE
from netlimits.hosts.base import Host
from netlimits.hosts.connect import BUDGET, within_budget
from netlimits.measuring import Measuring, client_command
from netlimits.model import Experiment, Machine, Measurement, Record, Run, SettingUse
from netlimits.outcome import Measured
from netlimits.restore import applied, guards, put_back
from netlimits.servers import Servers
from netlimits.stop import Interrupted, Stop
from netlimits.survey import Survey
from netlimits.tools import tool
from netlimits.tools.base import Features
from netlimits.witness import Witness

ATTEMPTS = 2
"""How often a run is begun by one process: once more after a connection was lost under it."""

Resolved = tuple[tuple[SettingUse, ...], Measured]
"""The settings of a configuration, and what it measures."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a campaign stands: runs done (failed ones among them), planned, seconds left."""

    done: int
    failed: int
    total: int
    seconds_left: float
    last: Record | None


class Campaign:
    """One process's work on a campaign, with hosts connected and the journal locked."""

    def __init__(
        self,
        archive: Archive,
        experiment: Experiment,
        found: Survey,
        hosts: Mapping[str, Host],
        stop: Stop,
        connect: Callable[[Machine], Host],
        patience: float | None = PATIENCE,
        budget: float = BUDGET,
    ) -> None:
        """`patience` is the guards', in seconds; None for no guards.

        `connect` makes a lost connection again, within `budget` seconds.
        """
        self.archive = archive
        self.experiment = experiment
        self.found = found
        self.stop = stop
        self._entries: list[dict[str, Any]] = []
        self._connect = connect
        self._budget = dict.fromkeys(hosts, budget)
        self._hosts = {role: Witness(host, self._entries) for role, host in hosts.items()}
        self._configurations: dict[str, Resolved] = {}
        self._servers = Servers()
        self._measuring = Measuring(self._host, found.machines, self._servers, stop)
        self._way = ""
        self._guards = guards(archive, self._host, patience)
        self._applied = applied(archive, self._host, found.facts, self._guards)

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Every run of the plan that has no outcome yet; then put the hosts back.

        Returns how it stood at the end. Raises Interrupted after Ctrl-C, with the hosts put back;
        RestoreError when one could not be.
        """
        with ExitStack() as last:  # in reverse: servers, settings, connections, whatever fails
            for host in self._hosts.values():
                last.callback(host.close)
            self._guards.claim()
            last.callback(put_back, self._applied, self._guards)
            last.callback(self._servers.stop)
            return self._every_run(on_progress)

    def _host(self, role: str) -> Witness:
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
                machine = self.found.machines[role]
                made, tries = within_budget(lambda: self._connect(machine), self._budget[role])
        except HostError as error:
            self._budget[role] = 0
            raise ConnectionLost(f"the connection does not come back: {error}") from None
        why = host.lost
        host.replace(made)
        seconds = round(time.monotonic() - began, 3)
        self.archive.append("reconnected", role=role, reason=why, tries=tries, seconds=seconds)
        self._refuse_another_boot(role)

    def _refuse_another_boot(self, role: str) -> None:
        said = self._hosts[role].run(facts.BOOT_ID.command(""))
        before, now = facts.value(self.found.facts[role], "boot_id"), said.stdout.strip()
        if before and now and now != before:
            self._guards.forget(role)
            raise HostError(
                f"it was booted in mid-campaign (boot {before} is now {now}): what was set there "
                "is gone, and this campaign stops; `netlimits resume --accept-changed-hosts` "
                "goes on all the same",
                host=role,
            )

    def _every_run(self, on_progress: Callable[[Progress], None]) -> Progress:
        made = plan.Plan(self.experiment, self.found.skipped)
        runs = [run for run in made.runs() if not made.skip(run.values)]
        by_number = {run.number: run for run in runs}
        before = records(self.archive, by_number)
        outcomes = {r.run.number: r for r in before if r.status != "interrupted"}
        attempts = {r.run.number: r.attempt for r in before}
        pending = [run for run in runs if run.number not in outcomes]
        failed = sum(r.status != "ok" for r in outcomes.values())
        clock = Clock(sum(self._seconds(run) for run in pending))
        progress = Progress(len(outcomes), failed, len(runs), clock.left, None)
        on_progress(progress)
        for run in pending:
            first = attempts.get(run.number, 0) + 1
            for attempt in range(first, first + ATTEMPTS):
                record = self._one_run(run, attempt, last=attempt == first + ATTEMPTS - 1)
                if record.status != "interrupted":
                    break
                on_progress(replace(progress, last=record))
            clock.spent(self._seconds(run), record.duration_s)
            failed += record.status != "ok"
            progress = Progress(progress.done + 1, failed, len(runs), clock.left, record)
            on_progress(progress)
        return progress

    def _one_run(self, run: Run, attempt: int, last: bool) -> Record:
        """One attempt, from its `start` in the journal to its `end`.

        A measurement under which a connection was lost is `interrupted`: a new attempt, which is
        a record of its own, may mend it. The `last` one then counts, as failed.
        """
        self.stop.check()
        for role, host in self._hosts.items():
            if host.lost:  # one that is gone for good ends the campaign, not run after run
                self._connect_again(role, self.stop.interruptible())
        self._guards.renew(self._longest(run))  # neither does one that somebody else took over
        self._entries.clear()
        started, clock = time.time(), time.monotonic()
        self.archive.append("start", run=run.number, attempt=attempt, started=started)
        settings, asked = self._resolved(run)
        interrupted: Interrupted | None = None
        status, reason = "ok", ""
        measurement = None
        measuring = False
        try:
            self._apply(settings)
            if asked.around.pace:
                asked = self._pace(asked)
            measuring = True
            self._measuring.measure(asked, self._features(asked))
            self._step(outcome.GUARD)
            self._guards.fired()
            self.archive.write_raw(run.number, attempt, self._entries)
            measurement = self._read(asked)
        except ToolFailure as error:
            status, reason = error.status, str(error)
        except (SettingError, HostError) as error:
            again = measuring and not last and isinstance(error, ConnectionLost)
            status, reason = "interrupted" if again else "failed", str(error)
        except Interrupted as error:
            status, reason, interrupted = "interrupted", str(error), error
        if measurement is None:
            self.archive.write_raw(run.number, attempt, self._entries)
        record = Record(
            run=run,
            attempt=attempt,
            status=status,  # type: ignore[arg-type]  # ToolFailure's statuses are Status's
            reason=reason,
            started=started,
            duration_s=round(time.monotonic() - clock, 6),
            figures=measurement.figures if measurement else {},
            interim=measurement.interim if measurement else (),
        )
        self.archive.append("end", **end_fields(record))
        if interrupted:
            raise interrupted
        return record

    def _read(self, asked: Measured) -> Measurement:
        """What the run's raw output says. A reader's bug costs the figures of one run, no more."""
        try:
            return outcome.read(asked, self._entries)
        except NetlimitsError:
            raise
        except Exception as error:
            raise ToolFailure(
                f"what it printed could not be read ({error!r}); it is kept: please report this, "
                "and `netlimits parse` reads it again"
            ) from error

    def _apply(self, settings: tuple[SettingUse, ...]) -> None:
        self._step("settings")
        for use in settings:
            for role in use.roles:
                interface = self.found.machines[role].interface or ""
                self._applied.reach(role, interface, use.name, use.options)

    def _pace(self, asked: Measured) -> Measured:
        """Pace the sender by the best way that its kernel takes; the tool's options with it."""
        assert asked.around.pace
        refused = []
        for way in [self._way] if self._way else pace.ways(asked.tool, self._features(asked)):
            use, options = pace.paced(way, asked.around.pace, asked.ends["local"], asked.options)
            try:
                self._apply((use,))
            except SettingError as error:
                refused.append(f"{way}: {error.problem}")
                continue
            self._way = way
            return replace(asked, options=options)
        raise SettingError(f"nothing paces: {'; '.join(refused)}", setting="pace")

    def _features(self, asked: Measured) -> Features:
        return self.found.features[asked.tool]

    def _resolved(self, run: Run) -> Resolved:
        """The settings and the measurement of a run, looked up once a configuration."""
        if run.config not in self._configurations:
            found = outcome.asked(self.experiment, run, self.found.machines)
            self._configurations[run.config] = found
        return self._configurations[run.config]

    def _seconds(self, run: Run) -> float:
        _, asked = self._resolved(run)
        return tool(asked.tool).seconds(asked.options)

    def _longest(self, run: Run) -> float:
        """Seconds until the deadline of the run's tool, whatever happens."""
        _, asked = self._resolved(run)
        return client_command(asked, self._features(asked), self.found.machines).deadline

    def _step(self, step: str) -> None:
        for host in self._hosts.values():
            host.step = step


class Clock:
    """The time left: what the runs left are meant to take, and as much beside it as so far."""

    def __init__(self, planned: float) -> None:
        self._planned = planned
        self._meant = 0.0
        self._took = 0.0

    def spent(self, meant: float, took: float) -> None:
        """Count one run: how long it was meant to take, how long it took."""
        self._planned -= meant
        self._meant += meant
        self._took += took

    @property
    def left(self) -> float:
        """Seconds."""
        return self._planned * (self._took / self._meant if self._meant else 1.0)
