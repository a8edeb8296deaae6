"""Listening sockets of a host, from `ss`: whether a server is there already, or there yet."""

from __future__ import annotations

from netlimits.errors import HostError
from netlimits.model import Command, Completed

LISTENING = Command(("ss", "-Hltn"), deadline=10)


def near(first: int, last: int) -> Command:
    """Lists every TCP socket on a range of local ports, in whatever state."""
    return Command(("ss", "-Htan", f"( sport >= :{first} and sport <= :{last} )"), deadline=10)


def ports(completed: Completed) -> set[int]:
    """The local ports in what `near` printed."""
    rows = (line.split() for line in completed.stdout.splitlines())
    ends = (row[3].rpartition(":")[2] for row in rows if len(row) > 3)
    return {int(port) for port in ends if port.isascii() and port.isdigit()}


def listens(completed: Completed, address: str, port: int) -> bool:
    """Return True if something listens on `port` of `address`, or of every address.

    Raises HostError where `ss` printed something else than sockets.
    """
    anywhere = {"*", "0.0.0.0", "[::]", "::"}  # noqa: S104 - names of the wildcard, not a bind
    for line in completed.stdout.splitlines():
        fields = line.split()
        if len(fields) < 4 or fields[0] != "LISTEN":
            raise HostError(f"`ss -Hltn` printed no sockets, but: {completed.complaint}")
        bound, _, bound_port = fields[3].rpartition(":")
        if bound_port == str(port) and (
            bound.strip("[]").split("%")[0] == address or bound in anywhere
        ):
            return True
    return False
