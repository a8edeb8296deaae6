"""One measurement: the tool's client between two readings of the evidence on every host.

Nothing of ours runs on a host during the measured seconds but the tool itself, one sample of
sockets and processes in the middle, and a packet trace where the experiment asks for one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netlimits import outcome
from netlimits.errors import HostError
from netlimits.evidence import EVIDENCE, cpu, sample, trace
from netlimits.model import Command, Machine
from netlimits.outcome import Measured
from netlimits.servers import SERVER_UP, Servers
from netlimits.stop import Stop
from netlimits.tools import parallel, tool
from netlimits.tools.base import Ends, Features
from netlimits.witness import Witness

TRACE_MARGIN = 3.0
"""Seconds that a trace may last beyond the run that it is of."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """What a measurement needs: hosts by role, where they are, servers, and Ctrl-C's switch."""

    host: Callable[[str], Witness]
    machines: Mapping[str, Machine]
    servers: Servers
    stop: Stop

    def measure(self, asked: Measured, features: Features) -> None:
        """The client between two readings of the evidence on every host, and what it needs."""
        client, servers = self._ends(asked)
        for host in servers:
            host.step = "server"
            there = address(self.machines, asked, host.name)
            self.servers.serve(asked.tool, asked.options, host, there)
        try:
            self._read_evidence(outcome.BEFORE, (client, *servers))
            with ExitStack() as beside:
                for role in asked.around.trace.roles if asked.around.trace else ():
                    beside.enter_context(self._traced(asked, self.host(role)))
                for host in (client, *servers):
                    beside.enter_context(self._sampled(asked, host))
                self._read_cpu(outcome.BEFORE, (client, *servers))
                client.step = outcome.CLIENT
                with self.stop.interruptible():
                    client.run(client_command(asked, features, self.machines))
                self._read_cpu(outcome.AFTER, (client, *servers))
            self._read_evidence(outcome.AFTER, (client, *servers))
        finally:
            for host in servers:
                self.servers.run_is_over(asked.tool, host)

    def _ends(self, asked: Measured) -> tuple[Witness, tuple[Witness, ...]]:
        """The client's host and the servers'."""
        local, remote = (tuple(map(self.host, asked.ends[end])) for end in ("local", "remote"))
        return local[0], remote

    def _read_cpu(self, step: str, hosts: Sequence[Witness]) -> None:
        def read(host: Witness) -> None:
            host.step = step
            host.run(cpu.READ)

        at_once(read, hosts)

    def _read_evidence(self, step: str, hosts: Sequence[Witness]) -> None:
        def read(host: Witness) -> None:
            for evidence in EVIDENCE:
                host.step = f"{step} {evidence.name}"
                host.run(evidence.read(self.machines[host.name].interface or ""))

        at_once(read, hosts)

    @contextmanager
    def _sampled(self, asked: Measured, host: Witness) -> Iterator[None]:
        """One look at the sockets and processes of a host in the middle of the run."""
        command = sample.command(
            tool(asked.tool).seconds(asked.options) / 2, *self._looked_for(asked, host.name)
        )
        look = host.aside(command)
        try:
            yield
        finally:
            host.keep_aside(look, outcome.SAMPLE)

    @contextmanager
    def _traced(self, asked: Measured, host: Witness) -> Iterator[None]:
        """A packet trace of a host's data link, from before the client starts."""
        assert asked.around.trace
        interface = self.machines[host.name].interface or ""
        seconds = tool(asked.tool).seconds(asked.options) + TRACE_MARGIN
        control = port(asked) if asked.tool == "netperf" else None
        host.step = outcome.TRACE
        there = trace.sockets(host.run(trace.PACKET_SOCKETS))
        server = host.serve(trace.command(interface, asked.around.trace, seconds, control))
        deadline = time.monotonic() + SERVER_UP
        while trace.sockets(host.run(trace.PACKET_SOCKETS)) <= there:
            if not server.alive() or time.monotonic() > deadline:
                said = " ".join(server.stop().stderr.split())[:200]
                raise HostError(f"tcpdump does not listen: {said or 'no reason'}", host=host.name)
            time.sleep(0.02)
        try:
            yield
        finally:
            host.keep(server.stop(), outcome.TRACE)

    def _looked_for(self, asked: Measured, role: str) -> tuple[str, tuple[str, ...], int]:
        """The program, the other end's data addresses and the port to sample on a host."""
        here = "local" if role in asked.ends["local"] else "remote"
        program = tool(asked.tool).name if here == "local" else tool(asked.tool).server_program
        others = asked.ends["remote" if here == "local" else "local"]
        peers = tuple(self.machines[other].address or "" for other in others)
        return program, peers, port(asked)


def at_once(act: Callable[[Witness], None], hosts: Sequence[Witness]) -> None:
    """`act` on every host at the same time; the first error in their order is raised."""
    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(act, hosts))


def port(asked: Measured) -> int:
    """Where the tool's server listens."""
    return int(asked.options.get("port", tool(asked.tool).port))


def address(machines: Mapping[str, Machine], asked: Measured, role: str) -> Ends:
    """Where the tool's server of a role listens; ADDRESS where that is not known yet."""
    return Ends(machines[role].address or "ADDRESS", port(asked))


def client_command(asked: Measured, features: Features, machines: Mapping[str, Machine]) -> Command:
    """The client, or all of them at the same time: `streams` to each server."""
    servers = [role for role in asked.ends["remote"] for _ in range(asked.around.streams)]
    make = tool(asked.tool).client
    return parallel.together(
        [make(asked.options, features, address(machines, asked, role)) for role in servers]
    )
