"""Original states of settings: the record, the undo log, and the order of the restore."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from netlimits.model import Command, Completed
from netlimits.settings import RECREATES, State


@dataclass(frozen=True, slots=True)
class Original:
    """The state of one setting on one interface of one host before its first change."""

    role: str
    interface: str
    setting: str
    state: State

    @property
    def place(self) -> tuple[str, str, str]:
        return (self.role, self.interface, self.setting)


class Changed(NamedTuple):
    """The results of changes (`answers`) and of the readings after the last change (`then`)."""

    answers: tuple[Completed, ...]
    then: tuple[Completed, ...]


class UndoLog(Protocol):
    """The interface by which `Changes` records originals and changes hosts.

    If a method raises an error, the change is not made, or the setting counts as not restored.
    """

    def keep(self, original: Original) -> None:
        """Record an original durably, before its setting is changed."""

    def run(self, role: str, command: Command) -> Completed:
        """Run a command that changes the host of a role."""

    def begin_change(
        self, role: str, commands: Sequence[Command], then: Sequence[Command], guarded: bool
    ) -> Callable[[], Changed]:
        """Start `commands`, which change a host, and then the readings `then`.

        If `guarded`, nothing is changed unless a guard would restore it. The returned function
        waits for the results.
        """

    def begin_restore(self, original: Original) -> None:
        """Prepare to restore an original, for example extend the host's claim and guard."""

    def end_restore(self, original: Original) -> None:
        """Record that an original was restored."""


def restore_order(changed: Iterable[Original]) -> tuple[Original, ...]:
    """Return originals in the order of their restore: the last change first, with an exception.

    Channels and MTU come before the settings that the kernel resets with them. Otherwise their
    restore would undo the restore of these settings.
    """
    back = [*changed][::-1]
    for name, later in RECREATES.items():
        for first in [change for change in back if change.setting == name]:
            at = back.index(first)
            waiting = [
                change
                for change in back[:at]
                if change.setting in later and change.place[:2] == first.place[:2]
            ]
            ahead = [change for change in back[: at + 1] if change not in waiting]
            back[: at + 1] = ahead + waiting
    return tuple(back)


def from_event(event: Mapping[str, Any]) -> Original:
    return Original(event["role"], event["interface"], event["setting"], event["state"])


def quoted_lines(commands: Iterable[Command]) -> str:
    """Return the commands as a person would type them, each in backquotes; "" if there are none."""
    return "; ".join(f"`{line}`" for command in commands for line in shell_lines(command))


def shell_lines(command: Command) -> tuple[str, ...]:
    """Return the lines that a person would type for a command; a script may have several."""
    if command.by_hand or command.argv[:2] == ("sh", "-c"):
        return tuple(line for each in command.by_hand for line in shell_lines(each))
    fed = f"echo {shlex.quote(command.stdin.strip())} | " if command.stdin else ""
    # replace the tabs that sysctl prints: typed at a terminal, a tab starts completion
    return ((fed + shlex.join(command.argv)).replace("\t", " "),)
