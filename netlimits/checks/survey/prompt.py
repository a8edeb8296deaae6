"""A host on which a batch of commands has one deadline, little more than that of one command.

If one command hangs (on a driver or a mount), others that need the same resource hang as well. With
a deadline for each command, the hangs would add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netlimits.errors import HostError
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.hosts.shell import command_name
from netlimits.model import Command, Completed

MORE = 1.0
"""Seconds that each further command of a batch adds to the longest deadline."""


class PromptHost:
    """A host that raises HostError if a command does not end within its deadline."""

    def __init__(self, host: Host) -> None:
        self.name = host.name
        self._host = host

    @property
    def patience(self) -> Patience:
        return self._host.patience

    def run(self, command: Command) -> Completed:
        """Run a command on the host. Raises HostError if it does not end in time."""
        return self._ended(self._host.run(command), command.deadline)

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        """Run commands in order under a shared deadline. Raises HostError if they do not end."""
        longest = max((command.deadline for command in commands), default=0.0)
        seconds = longest + MORE * (len(commands) - 1)
        shared = [replace(command, deadline=seconds / len(commands)) for command in commands]
        return [self._ended(each, seconds) for each in self._host.run_in_turn(shared)]

    def _ended(self, completed: Completed, seconds: float) -> Completed:
        if completed.timed_out:
            allowed = seconds + self.patience.more
            name = command_name(completed.command.argv)
            raise HostError(
                f"{name} did not end within {allowed:g} s; find out what it waits for on that "
                "host, or raise --patience if the host is only slow",
                host=self.name,
            )
        return completed
