"""The interface of evidence: a counter read on a host right before and right after each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Scalar


class Evidence(Protocol):
    """A command and a parser. New evidence is one file, one line in EVIDENCE, and a capture.

    Attributes:
        name: Its name in the raw output: `before NAME` and `after NAME`.
    """

    name: str

    def read(self, interface: str) -> Command:
        """Return the command that reads it; it changes nothing and ends at once.

        Args:
            interface: The host's data interface.
        """

    def figures(self, before: Completed, after: Completed) -> Mapping[str, Scalar]:
        """Return what changed between two readings.

        Args:
            before: The result of `read` before the run.
            after: The result after it.

        Returns:
            Figures by the name of a METRICS row without its `local_` or `remote_`. Each can be
            added over the hosts of one end. What a host lacks is left out.

        Raises:
            ToolFailure: If the readings do not belong together: a counter that went back, an
                interface that was removed.
        """


def growth(what: str, before: int, after: int, *, bits: int = 64) -> int:
    """Return how much a counter grew, also if it wrapped. Raises ToolFailure if it was reset."""
    if after >= before:
        return after - before
    wrapped = after - before + 2**32
    if bits == 32 and wrapped < 2**31:
        return wrapped
    why = "it was reset meanwhile"
    if bits > 32 and before < 2**32 and wrapped < 2**31:
        why += ", or has only 32 bits and wrapped around an unknown number of times"
    raise ToolFailure(
        f"{what} went back from {before} to {after} during the run: {why}", status="invalid"
    )
