"""What is told of every change to a host, so that it can be undone after a crash."""

from __future__ import annotations

from typing import Protocol

from netlimits.model import Command, Completed
from netlimits.restore.originals import Original


class UndoLog(Protocol):
    """Where `Changes` writes what it found, and through which it writes to hosts.

    Each method raises a NetlimitsError for what could not be done; a change is then not made, and
    what is put back counts as not put back.
    """

    def keep(self, original: Original) -> None:
        """Write an original down for good; the setting is changed after that."""

    def run(self, role: str, command: Command) -> Completed:
        """Have the host of a role run a command that changes it."""

    def putting_back(self, original: Original) -> None:
        """Take note that an original is about to be put back."""

    def put_back(self, original: Original) -> None:
        """Strike an original off: it is put back."""
