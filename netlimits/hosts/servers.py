"""Start the tools' servers when a run needs them, and end them with the run or the campaign.

If another user's server already listens on the port, a tool with a campaign-long server uses that
server and leaves it running. Some servers (nttcp) cannot reuse their port while earlier connections
are in TIME_WAIT. At each start, such a server gets the first free port, searched from its usual
port downwards. If the experiment sets `port`, the start waits until that port is free.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from netlimits.errors import HostError
from netlimits.hosts.base import Host, Server, must
from netlimits.model import Command, Completed, ServerAddress

TIME_WAIT = 60.0
"""Seconds that the kernel keeps a closed connection's port (TCP_TIMEWAIT_LEN)."""

PORTS = 30
"""Number of ports to try, from the usual port downwards, if a server cannot reuse its port."""

LISTENING = Command(("ss", "-Hltn"), deadline=10)
BOUND = Command(("ss", "-Hlun"), deadline=10)
"""Commands that list the ports of TCP servers (LISTENING) and UDP servers (BOUND)."""


class Program(Protocol):
    """The part of a tool (tools.Tool) that starts servers."""

    name: str
    server_program: str
    server_lasts: Literal["campaign", "run"]
    reuses_port: bool
    listens_on: Literal["tcp", "udp"]

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """Return the command that starts the server at the address and port `ends`."""


class Servers:
    """The servers of one campaign, by tool and role.

    Only the thread of a host's present run may use the host's servers.
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
        """Start the tool's server if it does not run, and return the address that it listens on.

        The port differs from the port of `ends` if the tool cannot reuse a port. `check` is called
        repeatedly during the wait for a free port. Raises HostError.
        """
        key, command = (tool.name, host.name), tool.server(options, ends)
        if key in self._running and self._commands[key] != command:
            self._running.pop(key).stop()  # other options, such as other CPUs, need a new server
        if key in self._running and self._running[key].alive():
            return self._ends[key]
        self._commands[key] = command
        if not tool.reuses_port:
            ends = self._free(host, ends, check, fixed="port" in options)
            command = tool.server(options, ends)
        elif key not in self._running and _listens(host, ends, tool):
            if tool.server_lasts == "campaign" and command == tool.server({}, ends):
                return ends
            raise HostError(
                f"another server listens on port {ends.port} of {ends.address}; stop it "
                f"(`ss -ltnp` shows it), or set another `port` in the experiment",
                host=host.name,
            )
        self._ends[key] = ends
        server = self._running[key] = host.serve(command)
        deadline = time.monotonic() + host.patience.seconds
        while not _listens(host, ends, tool):
            alive = server.alive()
            if not alive or time.monotonic() > deadline:
                completed = self._running.pop(key).stop()
                printed = completed.complaint
                if alive and not must(host.run(LISTENING)).stdout.strip():
                    raise HostError(
                        f"`{' '.join(LISTENING.argv)}` lists no socket at all, so netlimits "
                        f"cannot see whether {tool.server_program} listens; run it there by hand",
                        host=host.name,
                    )
                raise HostError(
                    f"{tool.server_program} does not listen on {ends.address} port "
                    f"{ends.port}: {printed or 'it printed nothing'}; run it there by hand",
                    host=host.name,
                )
            time.sleep(0.02)
        return ends

    def _free(
        self, host: Host, ends: ServerAddress, check: Callable[[], None], *, fixed: bool
    ) -> ServerAddress:
        ports = [ends.port] if fixed else range(ends.port, ends.port - PORTS, -1)
        waited = TIME_WAIT + host.patience.seconds
        deadline = time.monotonic() + waited
        while True:
            which = f"( sport >= :{ports[-1]} and sport <= :{ports[0]} )"
            listed = must(host.run(Command(("ss", "-Htan", which), deadline=10))).stdout
            rows = (row.split() for row in listed.splitlines())
            taken = {row[3].rpartition(":")[2] for row in rows if len(row) > 3}
            free = next((port for port in ports if str(port) not in taken), None)
            if free is not None:
                return ServerAddress(ends.address, free)
            if time.monotonic() > deadline:
                which = f"port {ends.port} is" if fixed else f"{PORTS} ports up to {ends.port} are"
                raise HostError(
                    f"{which} taken, and stayed so for {waited:.0f} s; stop what uses them "
                    "(`ss -tanp` shows it)",
                    host=host.name,
                )
            check()
            time.sleep(0.5)

    def end_run(self, tool: Program, host: Host) -> Completed | None:
        """End the tool's server and return its output, or None if it lasts for the campaign."""
        key = (tool.name, host.name)
        if key in self._running and tool.server_lasts == "run":
            return self._running.pop(key).stop()
        return None

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()
        self._running.clear()


def _listens(host: Host, ends: ServerAddress, tool: Program) -> bool:
    command = LISTENING if tool.listens_on == "tcp" else BOUND
    return listens(must(host.run(command)), ends.address, ends.port)


def listens(completed: Completed, address: str, port: int) -> bool:
    """Return True if the output of `ss` has a server on `port` of `address` or all addresses."""
    anywhere = {"*", "0.0.0.0", "[::]", "::"}  # noqa: S104 - names of the wildcard, not a bind
    for line in completed.stdout.splitlines():
        fields = line.split()
        if len(fields) < 4 or fields[0] not in ("LISTEN", "UNCONN"):
            raise HostError(
                f"`{' '.join(completed.command.argv)}` printed no sockets, but: "
                f"{completed.complaint}; run it there by hand"
            )
        bound, _, bound_port = fields[3].rpartition(":")
        if bound_port == str(port) and (
            bound.strip("[]").split("%")[0] == address or bound in anywhere
        ):
            return True
    return False
