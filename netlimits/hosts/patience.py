"""How long a host may take: one value, handed down from the command line to every wait.

A host may be slow (an emulated machine, a login that asks a directory that does not answer) and is
a host all the same. So what reaches it is generous, and one number raises all of it at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from netlimits.errors import InputError
from netlimits.model import Command
from netlimits.units import durations

USUAL = 60.0
"""Seconds of patience where nobody asked for another."""


@dataclass(frozen=True, slots=True)
class Patience:
    """`seconds` is what each step to a host may take, and an answer beyond a command's deadline.

    Steps are the connection, the login, the shell, a server that shall listen, and a connection
    that is made again. Commands and tools have deadlines of their own, for their work; they get
    as much more as this exceeds the usual.
    """

    seconds: float = USUAL

    @property
    def more(self) -> float:
        """Seconds that every command's deadline is extended by."""
        return max(0.0, self.seconds - USUAL)

    def allow(self, command: Command) -> Command:
        """The command with the deadline that it has on such a host."""
        return replace(command, deadline=command.deadline + self.more) if self.more else command

    def connecting(self, configured: float | None) -> float:
        """Seconds for a connection: as configured (ConnectTimeout), unless more was asked for."""
        if configured is None:
            return self.seconds
        return max(configured, self.seconds) if self.more else configured


def patience(text: str) -> Patience:
    """`90s`, `2m`, `1h` as Patience. Raises InputError."""
    try:
        return Patience(durations.seconds(text))
    except ValueError as error:
        raise InputError(f"--patience {text}: {error}") from None
