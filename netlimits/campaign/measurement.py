"""One measurement: the tool's client between two readings of the evidence on every host.

Nothing of ours runs on a host during the measured seconds but the tool itself, a few looks at
sockets and processes, and a packet trace where the experiment asks for one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netlimits.archive import raw
from netlimits.campaign import parallel
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.recorder import Recorder
from netlimits.campaign.specifications import Specification
from netlimits.errors import HostError
from netlimits.evidence import EVIDENCE, cpu, trace
from netlimits.evidence.sample import snapshots
from netlimits.hosts.servers import Servers
from netlimits.hosts.threads import at_once
from netlimits.model import Command, Machine, ServerAddress
from netlimits.tools import Features, tool

LOOKS_MARGIN = 15.0
"""Seconds beyond a run's own after which nothing is looked at any more."""

TRACE_MARGIN = 3.0
"""Seconds that a trace may last beyond the run that it is of."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """What a measurement needs: hosts by role, where they are, servers, and Ctrl-C's switch."""

    host: Callable[[str], Recorder]
    machines: Mapping[str, Machine]
    servers: Servers
    stop: Stop

    def measure(self, specification: Specification, features: Features) -> None:
        """The client between two readings of the evidence on every host, and what it needs."""
        client, servers = self._ends(specification)
        ends = {}
        for host in servers:
            host.step = "server"
            server_address = address(self.machines, specification, host.name)
            ends[host.name] = self.servers.serve(
                tool(specification.tool), specification.options, host, server_address
            )
        try:
            self._read_evidence(raw.BEFORE, (client, *servers))
            with ExitStack() as beside:
                for role in specification.around.trace.roles if specification.around.trace else ():
                    beside.enter_context(self._traced(specification, self.host(role)))
                for host in (client, *servers):
                    beside.enter_context(self._sampled(specification, host, ends))
                self._read_cpu(raw.BEFORE, (client, *servers))
                client.step = raw.CLIENT
                with self.stop.interruptible():
                    client.run(client_command(specification, features, self.machines, ends))
                self._read_cpu(raw.AFTER, (client, *servers))
            self._read_evidence(raw.AFTER, (client, *servers))
        finally:
            for host in servers:
                if completed := self.servers.run_is_over(tool(specification.tool), host):
                    host.keep(completed, "server")

    def _ends(self, specification: Specification) -> tuple[Recorder, tuple[Recorder, ...]]:
        """The client's host and the servers'."""
        local, remote = (
            tuple(map(self.host, specification.ends[end])) for end in ("local", "remote")
        )
        return local[0], remote

    def _read_cpu(self, step: str, hosts: Sequence[Recorder]) -> None:
        def read(host: Recorder) -> None:
            host.step = step
            host.run(cpu.READ)

        at_once(read, hosts)

    def _read_evidence(self, step: str, hosts: Sequence[Recorder]) -> None:
        def read(host: Recorder) -> None:
            for evidence in EVIDENCE:
                host.step = f"{step} {evidence.name}"
                host.run(evidence.read(self.machines[host.name].interface or ""))

        at_once(read, hosts)

    @contextmanager
    def _sampled(
        self, specification: Specification, host: Recorder, ends: Mapping[str, ServerAddress]
    ) -> Iterator[None]:
        """Looks at the sockets and processes of a host during the run."""
        look = host.background(
            self._looks(specification, host.name, next(iter(ends.values())).port)
        )
        try:
            yield
        finally:
            host.keep_background(look, raw.SAMPLE)

    @contextmanager
    def _traced(self, specification: Specification, host: Recorder) -> Iterator[None]:
        """A packet trace of a host's data link, from before the client starts."""
        assert specification.around.trace
        interface = self.machines[host.name].interface or ""
        seconds = tool(specification.tool).seconds(specification.options) + TRACE_MARGIN
        control = port(specification) if specification.tool == "netperf" else None
        host.step = raw.TRACE
        sockets_before = trace.sockets(host.run(trace.PACKET_SOCKETS))
        server = host.serve(trace.command(interface, specification.around.trace, seconds, control))
        deadline = time.monotonic() + host.patience.seconds
        while trace.sockets(host.run(trace.PACKET_SOCKETS)) <= sockets_before:
            if not server.alive() or time.monotonic() > deadline:
                printed = " ".join(server.stop().stderr.split())[:200]
                raise HostError(
                    f"tcpdump does not listen: {printed or 'no reason'}", host=host.name
                )
            time.sleep(0.02)
        try:
            yield
        finally:
            host.keep(server.stop(), raw.TRACE)

    def _looks(self, specification: Specification, role: str, at: int) -> Command:
        """Two looks, a quarter from either end; one for each interim result where data arrives."""
        here = "local" if role in specification.ends["local"] else "remote"
        program = (
            tool(specification.tool).name
            if here == "local"
            else tool(specification.tool).server_program
        )
        others = specification.ends["remote" if here == "local" else "local"]
        family = specification.around.family
        peers = tuple(self.machines[other].over(family).address or "" for other in others)
        longest = tool(specification.tool).seconds(specification.options) + LOOKS_MARGIN
        if here == specification.receiver:
            every = abs(float(specification.options.get("interim_seconds", 1)))
            interface = self.machines[role].interface or ""
            return snapshots.command(
                *(program, peers, at),
                first=0,
                every=every,
                interface=interface,
                deadline=longest,
            )
        # of repetitions the first: a connection has no past in the next one
        omitted = float(specification.options.get("omit", 0))
        once = omitted + float(specification.options.get("seconds", longest - LOOKS_MARGIN))
        return snapshots.command(
            program, peers, at, first=once / 4, every=once / 2, count=2, deadline=longest
        )


def port(specification: Specification) -> int:
    """Where the tool's server listens."""
    return int(specification.options.get("port", tool(specification.tool).port))


def address(
    machines: Mapping[str, Machine], specification: Specification, role: str
) -> ServerAddress:
    """Where the tool's server of a role listens; ADDRESS where that is not known yet."""
    unknown = "::ADDRESS" if specification.around.family == "ipv6" else "ADDRESS"
    return ServerAddress(
        machines[role].over(specification.around.family).address or unknown, port(specification)
    )


def client_command(
    specification: Specification,
    features: Features,
    machines: Mapping[str, Machine],
    ends: Mapping[str, ServerAddress] | None = None,
) -> Command:
    """The client, or all of them at the same time: `streams` to each server.

    `ends` is where the servers listen, as far as they do.
    """
    addresses = {
        role: address(machines, specification, role) for role in specification.ends["remote"]
    }
    addresses |= ends or {}
    servers = [
        role for role in specification.ends["remote"] for _ in range(specification.around.streams)
    ]
    make = tool(specification.tool).client
    return parallel.together(
        [make(specification.options, features, addresses[role]) for role in servers]
    )
