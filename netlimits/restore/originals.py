"""The original state of settings, its records, and the order in which it is restored."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from netlimits.model import Command, Completed
from netlimits.settings import MADE_ANEW, State


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
    """The results of commands that changed a host, and of those right after the last one."""

    answers: tuple[Completed, ...]
    then: tuple[Completed, ...]


class UndoLog(Protocol):
    """Where `Changes` records what it found, and through which it changes hosts.

    If a method raises, the change is not made, or a restored setting counts as not restored.
    """

    def keep(self, original: Original) -> None:
        """Record an original durably; the setting is changed after that."""

    def run(self, role: str, command: Command) -> Completed:
        """Run a command that changes the host of a role."""

    def begin_change(
        self, role: str, commands: Sequence[Command], then: Sequence[Command], guarded: bool
    ) -> Callable[[], Changed]:
        """Start changes, only under a guard if `guarded`, and then commands that read."""

    def begin_restore(self, original: Original) -> None:
        """Record that the restore of an original begins."""

    def end_restore(self, original: Original) -> None:
        """Remove the record of an original that was restored."""


def restore_order(changed: Iterable[Original]) -> tuple[Original, ...]:
    """Return changes in the order of their restore: last first, MTU and channels before dependants.

    A dependent setting that was restored earlier would be lost with the queues.
    """
    back = [*changed][::-1]
    for name, later in MADE_ANEW.items():
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


def typed(commands: Iterable[Command]) -> str:
    """Return commands as a person would type them, in backquotes; "" for none."""
    return "; ".join(f"`{line}`" for command in commands for line in in_words(command))


def in_words(command: Command) -> tuple[str, ...]:
    """Return the lines that a person would type for a command: one, except for a script."""
    if command.by_hand or command.argv[:2] == ("sh", "-c"):
        return tuple(line for each in command.by_hand for line in in_words(each))
    fed = f"echo {shlex.quote(command.stdin.strip())} | " if command.stdin else ""
    # sysctl prints tabs and accepts blanks; a tab typed at a terminal starts completion
    return ((fed + shlex.join(command.argv)).replace("\t", " "),)
