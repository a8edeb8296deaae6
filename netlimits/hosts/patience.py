"""Time limits for reaching hosts: one value, passed from the command line to every wait."""

from __future__ import annotations

from dataclasses import dataclass, replace

from netlimits.errors import InputError
from netlimits.model import Command
from netlimits.units import durations

USUAL = 60.0
"""Default patience in seconds."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limit in seconds for each step of reaching a host.

    Steps are the connection, the login, the shell, a server's start and each reconnection. A host
    also has this time to answer after a command's deadline. If the patience exceeds the default,
    the deadlines of commands and tools grow by the difference.
    """

    seconds: float = USUAL

    @property
    def more(self) -> float:
        """Seconds added to every command's deadline."""
        return max(0.0, self.seconds - USUAL)

    def allow(self, command: Command) -> Command:
        return replace(command, deadline=command.deadline + self.more) if self.more else command

    def connecting(self, configured: float | None) -> float:
        """Return the time limit of a connection in s; `configured` is ssh's ConnectTimeout."""
        if configured is None:
            return self.seconds
        return max(configured, self.seconds) if self.more else configured


def patience(text: str) -> Patience:
    """Parse `90s`, `2m` or `1h`. Raises InputError."""
    try:
        return Patience(durations.seconds(text))
    except ValueError as error:
        raise InputError(f"--patience {text}: {error}") from None
