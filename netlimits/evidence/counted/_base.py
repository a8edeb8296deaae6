"""The interface of evidence: counters of a host that are read right before and after each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Scalar


class Evidence(Protocol):
    """A command and a parser. New evidence is a module, a line in EVIDENCE, and a captured output.

    Attributes:
        name: The name of the readings in the raw output: `before NAME` and `after NAME`.
    """

    name: str

    def read(self, interface: str) -> Command:
        """Return the command that reads the counters.

        Args:
            interface: The host's data interface.

        Returns:
            A command that changes nothing and ends at once.
        """

    def figures(self, before: Completed, after: Completed) -> Mapping[str, Scalar]:
        """Return the figures between two readings.

        Args:
            before: The result of `read` before the run.
            after: The result after it.

        Returns:
            Name -> figure. METRICS has the same name with the prefix `local_` or `remote_`. The
            figures of an end are sums over its hosts. Figures that a host lacks are left out.

        Raises:
            ToolFailure: The readings do not belong together: a counter was reset, or the interface
                was removed.
        """


def growth(what: str, before: int, after: int, *, bits: int = 64) -> int:
    """Return how much a counter grew.

    Args:
        what: The name of the counter, for the error.
        before: The reading before the run.
        after: The reading after the run.
        bits: The width of the counter. A counter of 32 bits may have wrapped once.

    Returns:
        The growth in the counter's unit, 0 or more.

    Raises:
        ToolFailure: The counter was reset, or wrapped an unknown number of times.
    """
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
