"""The campaign: a straight line from a plan to a journal.

For each run: settings are applied and read back, /proc/stat is read, the client runs, /proc/stat
is read again, everything that was printed goes to disk, and only then is it parsed and recorded.
Whatever happens, hosts are put back at the end: after an error, after Ctrl-C, and by
`netlimits restore` when this process was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from netlimits import experiment as experiments
from netlimits import outcome, plan
from netlimits.archive import Archive, end_fields, raw_entry, records
from netlimits.errors import ConnectError, ConnectionLost, HostError, SettingError, ToolFailure
from netlimits.evidence import cpu, sockets
from netlimits.hosts.base import Host, Server
from netlimits.model import Command, Completed, Experiment, Machine, Record, Run, SettingUse
from netlimits.restore import applied
from netlimits.settings import setting
from netlimits.stop import Interrupted, Stop
from netlimits.survey import Survey, ends
from netlimits.tools import tool
from netlimits.tools.base import Ends, Features

SERVER_UP = 5.0
"""Seconds that a server may take to listen."""


Resolved = tuple[tuple[SettingUse, ...], tuple[str, dict[str, Any]]]
"""The settings of a configuration, and the tool with its options."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a campaign stands: runs done (failed ones among them), planned, seconds left."""

    done: int
    failed: int
    total: int
    seconds_left: float
    last: Record | None


class Witness:
    """A host that keeps, in `entries`, everything that a run had it do."""

    def __init__(self, host: Host, entries: list[dict[str, Any]]) -> None:
        self.name = host.name
        self.step = ""
        self.lost = False
        self._host = host
        self._entries = entries

    def replace(self, host: Host) -> None:
        """Go on with another connection to the same machine."""
        self._host.close()
        self._host, self.lost = host, False

    def run(self, command: Command) -> Completed:
        """The same as the host's, kept."""
        try:
            completed = self._host.run(command)
        except ConnectionLost:
            self.lost = True
            raise
        self._entries.append(raw_entry(completed, self.step))
        return completed

    def serve(self, command: Command) -> Server:
        """The same as the host's."""
        return self._host.serve(command)

    def close(self) -> None:
        """The same as the host's."""
        self._host.close()


class Campaign:
    """One process's work on a campaign, with hosts connected and the journal locked."""

    def __init__(
        self,
        archive: Archive,
        experiment: Experiment,
        found: Survey,
        hosts: Mapping[str, Host],
        stop: Stop,
        reconnect: Callable[[Machine], Host],
    ) -> None:
        self.archive = archive
        self.experiment = experiment
        self.found = found
        self.stop = stop
        self._entries: list[dict[str, Any]] = []
        self._reconnect = reconnect
        self._hosts = {role: Witness(host, self._entries) for role, host in hosts.items()}
        self._configurations: dict[str, Resolved] = {}
        self._servers: dict[str, Server] = {}
        self._applied = applied(archive, self._host, found.facts)

    def carry_out(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Every run of the plan that has no outcome yet; then put the hosts back.

        Returns how it stood at the end. Raises Interrupted after Ctrl-C, with the hosts put back;
        RestoreError when one could not be.
        """
        with ExitStack() as last:  # in reverse: servers, settings, connections, whatever fails
            for host in self._hosts.values():
                last.callback(host.close)
            last.callback(self._applied.put_back)
            last.callback(self._stop_servers)
            return self._every_run(on_progress)

    def _host(self, role: str) -> Witness:
        """The host of a role, connected anew when its connection was lost."""
        host = self._hosts[role]
        if host.lost:
            try:
                host.replace(self._reconnect(self.found.machines[role]))
            except ConnectError as error:
                raise ConnectionLost(f"the connection does not come back: {error}") from None
        return host

    def _every_run(self, on_progress: Callable[[Progress], None]) -> Progress:
        runs = list(plan.runs(self.experiment))
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
            record = self._one_run(run, attempts.get(run.number, 0) + 1)
            clock.spent(self._seconds(run), record.duration_s)
            failed += record.status != "ok"
            progress = Progress(progress.done + 1, failed, len(runs), clock.left, record)
            on_progress(progress)
        return progress

    def _one_run(self, run: Run, attempt: int) -> Record:
        """One attempt, from its `start` in the journal to its `end`."""
        self.stop.check()
        for role in self._hosts:
            self._host(role)  # a host that is gone ends the campaign, not run after run
        self._entries.clear()
        started, clock = time.time(), time.monotonic()
        self.archive.append("start", run=run.number, attempt=attempt, started=started)
        settings, (name, options) = self._resolved(run)
        interrupted: Interrupted | None = None
        status, reason = "ok", ""
        measurement = None
        try:
            self._apply(settings)
            self._measure(name, options)
            self.archive.write_raw(run.number, attempt, self._entries)
            measurement = outcome.measured(name, options, self._entries, ends(self.experiment))
        except ToolFailure as error:
            status, reason = error.status, str(error)
        except (SettingError, HostError) as error:
            status, reason = "failed", str(error)
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

    def _apply(self, settings: tuple[SettingUse, ...]) -> None:
        self._step("settings")
        for use in settings:
            for role in use.roles:
                interface = self.found.machines[role].interface or ""
                self._applied.reach(role, interface, use.name, use.options)

    def _measure(self, name: str, options: Mapping[str, Any]) -> None:
        """The client between two readings of /proc/stat, on each end."""
        local, remote = (self._host(role) for role in ends(self.experiment).values())
        destination = self._destination(name)
        self._step("server")
        self._serve(name, options, destination)
        client = tool(name).client(options, self.found.features[name], destination)
        try:
            self._step(outcome.BEFORE)
            for host in {local.name: local, remote.name: remote}.values():
                host.run(cpu.READ)
            self._step(outcome.CLIENT)
            with self.stop.interruptible():
                local.run(client)
            self._step(outcome.AFTER)
            for host in {local.name: local, remote.name: remote}.values():
                host.run(cpu.READ)
        finally:
            if tool(name).server_lasts == "run":
                self._entries.append(raw_entry(self._servers.pop(name).stop(), "server"))

    def _destination(self, name: str) -> Ends:
        server = self.found.machines[ends(self.experiment)["remote"]]
        return Ends(address=server.address or "", port=tool(name).port)

    def _serve(self, name: str, options: Mapping[str, Any], destination: Ends) -> None:
        """See that the tool's server listens: ours, or one that ran before and is left alone.

        A server that lasts for one run is always ours: another's would not end with the run.
        """
        host = self._host(ends(self.experiment)["remote"])
        if name in self._servers and self._servers[name].alive():
            return
        if name not in self._servers and _listens(host, destination):
            if tool(name).server_lasts == "campaign":
                return
            raise HostError(
                f"port {destination.port} of {destination.address} is taken by another server",
                host=host.name,
            )
        server = self._servers[name] = host.serve(tool(name).server(options, destination))
        deadline = time.monotonic() + SERVER_UP
        while not _listens(host, destination):
            if not server.alive() or time.monotonic() > deadline:
                said = server.stop()
                del self._servers[name]
                printed = " ".join((said.stderr or said.stdout).split())[:200]
                raise HostError(
                    f"{tool(name).server_program} does not listen on {destination.address} port "
                    f"{destination.port}: {printed or 'it printed nothing'}",
                    host=host.name,
                )
            time.sleep(0.02)

    def _stop_servers(self) -> None:
        for server in self._servers.values():
            server.stop()
        self._servers.clear()

    def _resolved(self, run: Run) -> Resolved:
        """The settings and the measurement of a run, looked up once a configuration."""
        if run.config not in self._configurations:
            self._configurations[run.config] = experiments.resolved(self.experiment, run.values)
        return self._configurations[run.config]

    def _seconds(self, run: Run) -> float:
        _, (name, options) = self._resolved(run)
        return tool(name).seconds(options)

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


def commands(
    experiment: Experiment, run: Run, machines: Mapping[str, Machine], features: Features
) -> Iterator[tuple[str, Command]]:
    """(role, command) in the order of one run; a change is sent only where the host differs."""
    settings, (name, options) = experiments.resolved(experiment, run.values)
    for use in settings:
        for role in use.roles:
            interface = machines[role].interface or "INTERFACE"
            yield role, setting(use.name).read(interface, use.options)
            for command in setting(use.name).change(interface, {}, use.options):
                yield role, command
                yield role, setting(use.name).read(interface, use.options)
    local, remote = ends(experiment).values()
    destination = Ends(machines[remote].address or "ADDRESS", tool(name).port)
    yield remote, tool(name).server(options, destination)
    yield from ((role, cpu.READ) for role in dict.fromkeys((local, remote)))
    yield local, tool(name).client(options, features, destination)
    yield from ((role, cpu.READ) for role in dict.fromkeys((local, remote)))


def _listens(host: Host, destination: Ends) -> bool:
    return sockets.listens(host.run(sockets.LISTENING), destination.address, destination.port)
