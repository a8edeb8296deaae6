"""The tools' servers: started when a run needs them, ended with the campaign.

They listen on the data address alone where the tool can: nuttcp and nttcp cannot (SECURITY.md).

A server that lasts for the campaign may be another's, which is left alone; one that lasts for a
run is always ours, since another's would not end with the run.

A server that cannot take a port again while connections of the last one to it are in TIME_WAIT
(nttcp, for a minute) gets a port of its own at each start, the first below its customary one that
is free; where the experiment says the `port`, the start waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from netlimits.errors import HostError
from netlimits.hosts import sockets
from netlimits.hosts.base import Host, Server, must
from netlimits.model import Command, Completed, ServerAddress

TIME_WAIT = 60.0
"""Seconds that the kernel keeps a closed connection's port (TCP_TIMEWAIT_LEN)."""

PORTS = 30
"""How many ports below its own a server may take where it needs another one each time."""


class Program(Protocol):
    """A program with a server: the part of a tool (tools.Tool) that is used here."""

    name: str
    server_program: str
    server_lasts: Literal["campaign", "run"]
    reuses_port: bool

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """The command that serves there."""


class Servers:
    """The servers of one campaign, by tool and role.

    What is kept of a host has one thread at a time, that of the run which the host is in; `stop`
    comes after the last run.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], Server] = {}
        self._commands: dict[tuple[str, str], Command] = {}
        self._ends: dict[tuple[str, str], ServerAddress] = {}

    def serve(
        self,
        tool: Program,
        options: Mapping[str, Any],
        host: Host,
        ends: ServerAddress,
        check: Callable[[], None] = lambda: None,
    ) -> ServerAddress:
        """Make sure that a tool's server listens at `ends` of a host, or on a port near it.

        Returns where it listens. Raises HostError, and whatever `check` raises when it is time to
        stop, while a port is waited for.
        """
        key, command = (tool.name, host.name), tool.server(options, ends)
        if key in self._running and self._commands[key] != command:
            self._running.pop(key).stop()  # other options, say other CPUs, make another server
        if key in self._running and self._running[key].alive():
            return self._ends[key]
        self._commands[key] = command
        if not tool.reuses_port:
            ends = self._free(host, ends, check, fixed="port" in options)
            command = tool.server(options, ends)
        elif key not in self._running and _listens(host, ends):
            if tool.server_lasts == "campaign" and command == tool.server({}, ends):
                return ends
            raise HostError(
                f"port {ends.port} of {ends.address} is taken by another server", host=host.name
            )
        self._ends[key] = ends
        server = self._running[key] = host.serve(command)
        deadline = time.monotonic() + host.patience.seconds
        while not _listens(host, ends):
            alive = server.alive()
            if not alive or time.monotonic() > deadline:
                completed = self._running.pop(key).stop()
                printed = completed.complaint
                if alive and not must(host.run(sockets.LISTENING)).stdout.strip():
                    raise HostError(
                        f"`{' '.join(sockets.LISTENING.argv)}` lists no socket at all, so nobody "
                        f"can see whether {tool.server_program} listens; run it there by hand",
                        host=host.name,
                    )
                raise HostError(
                    f"{tool.server_program} does not listen on {ends.address} port "
                    f"{ends.port}: {printed or 'it printed nothing'}",
                    host=host.name,
                )
            time.sleep(0.02)
        return ends

    def _free(
        self, host: Host, ends: ServerAddress, check: Callable[[], None], *, fixed: bool
    ) -> ServerAddress:
        """The ends with a port that no old connection uses. Raises HostError if there is none."""
        ports = [ends.port] if fixed else range(ends.port, ends.port - PORTS, -1)
        deadline = time.monotonic() + TIME_WAIT + host.patience.seconds
        while True:
            taken = sockets.ports(must(host.run(sockets.near(ports[-1], ports[0]))))
            free = next((port for port in ports if port not in taken), None)
            if free is not None:
                return ServerAddress(ends.address, free, ends.extra)
            if time.monotonic() > deadline:
                which = f"port {ends.port} is" if fixed else f"{PORTS} ports up to {ends.port} are"
                raise HostError(f"{which} taken, and stays so", host=host.name)
            check()
            time.sleep(0.5)

    def run_is_over(self, tool: Program, host: Host) -> Completed | None:
        """End the tool's server if it was for one run; returns what it printed, else None."""
        key = (tool.name, host.name)
        if key in self._running and tool.server_lasts == "run":
            return self._running.pop(key).stop()
        return None

    def stop(self) -> None:
        """End every running server."""
        for server in self._running.values():
            server.stop()
        self._running.clear()


def _listens(host: Host, ends: ServerAddress) -> bool:
    listed = must(host.run(sockets.LISTENING))
    return sockets.listens(listed, ends.address, ends.port)
