"""The tools' servers: started when a run needs them, ended with the campaign.

They listen on the data address alone where the tool can: nuttcp and nttcp cannot (SECURITY.md).

A server that lasts for the campaign may be another's, which is left alone; one that lasts for a
run is always ours, since another's would not end with the run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from netlimits.errors import HostError
from netlimits.evidence import sockets
from netlimits.hosts.base import Host, Server
from netlimits.model import Command
from netlimits.tools import tool
from netlimits.tools.base import Ends
from netlimits.witness import Witness

SERVER_UP = 5.0
"""Seconds that a server may take to listen."""


class Servers:
    """The servers of one campaign, by tool and role."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], Server] = {}
        self._commands: dict[tuple[str, str], Command] = {}

    def serve(self, name: str, options: Mapping[str, Any], host: Host, ends: Ends) -> None:
        """See that a tool's server listens at `ends` of a host. Raises HostError."""
        key, command = (name, host.name), tool(name).server(options, ends)
        if key in self._running and self._commands[key] != command:
            self._running.pop(key).stop()  # other options, say other CPUs, make another server
        if key in self._running and self._running[key].alive():
            return
        if key not in self._running and _listens(host, ends):
            if tool(name).server_lasts == "campaign" and command == tool(name).server({}, ends):
                return
            raise HostError(
                f"port {ends.port} of {ends.address} is taken by another server", host=host.name
            )
        self._commands[key] = command
        server = self._running[key] = host.serve(command)
        deadline = time.monotonic() + SERVER_UP
        while not _listens(host, ends):
            if not server.alive() or time.monotonic() > deadline:
                said = self._running.pop(key).stop()
                printed = " ".join((said.stderr or said.stdout).split())[:200]
                raise HostError(
                    f"{tool(name).server_program} does not listen on {ends.address} port "
                    f"{ends.port}: {printed or 'it printed nothing'}",
                    host=host.name,
                )
            time.sleep(0.02)

    def run_is_over(self, name: str, host: Witness) -> None:
        """End the tool's server if it was for one run, and keep what it printed."""
        server = self._running.get((name, host.name))
        if server and tool(name).server_lasts == "run":
            host.keep(self._running.pop((name, host.name)).stop(), "server")

    def stop(self) -> None:
        """End all that run."""
        for server in self._running.values():
            server.stop()
        self._running.clear()


def _listens(host: Host, ends: Ends) -> bool:
    return sockets.listens(host.run(sockets.LISTENING), ends.address, ends.port)
