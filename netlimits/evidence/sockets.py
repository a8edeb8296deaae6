"""Listening sockets of a host, from `ss`: whether a server is there already, or there yet."""

from __future__ import annotations

from netlimits.model import Command, Completed

LISTENING = Command(("ss", "-Hltn"), deadline=10)


def listens(completed: Completed, address: str, port: int) -> bool:
    """Whether something listens on `port` of `address`, or of every address."""
    anywhere = {"*", "0.0.0.0", "[::]", "::"}  # noqa: S104 - names of the wildcard, not a bind
    for line in completed.stdout.splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        bound, _, bound_port = fields[3].rpartition(":")
        if bound_port == str(port) and (
            bound.strip("[]").split("%")[0] == address or bound in anywhere
        ):
            return True
    return False
