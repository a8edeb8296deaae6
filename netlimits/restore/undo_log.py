"""What is told of every change to a host, so that it can be undone after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from netlimits.model import Command, Completed
from netlimits.restore.originals import Original


class Changed(NamedTuple):
    """What commands that changed a host printed, and those that came right after the last one."""

    answers: tuple[Completed, ...]
    then: tuple[Completed, ...]


class UndoLog(Protocol):
    """Where `Changes` writes what it found, and through which it writes to hosts.

    Each method raises a NetlimitsError for what could not be done; a change is then not made, and
    what is restored counts as not restored.
    """

    def keep(self, original: Original) -> None:
        """Write an original down for good; the setting is changed after that."""

    def run(self, role: str, command: Command) -> Completed:
        """Have the host of a role run a command that changes it."""

    def begin_change(
        self, role: str, commands: Sequence[Command], then: Sequence[Command]
    ) -> Callable[[], Changed]:
        """Have the host of a role begin commands that change it, in turn, and then some that look.

        What is returned waits for them, and has to be called.
        """

    def putting_back(self, original: Original) -> None:
        """Take note that an original is about to be restored."""

    def put_back(self, original: Original) -> None:
        """Strike an original off: it is restored."""
