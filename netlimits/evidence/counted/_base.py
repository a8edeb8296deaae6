"""What evidence is: something read on a host right before and right after each run.

Pure: a piece of evidence makes the command and reads what it printed; `campaign.measurement` runs
it, the raw output keeps it, `campaign.figures.interpret` subtracts the two readings into figures
under plain names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from netlimits.model import Command, Completed, Scalar


class Evidence(Protocol):
    """One command and one parser. One file, one line in EVIDENCE, a capture under tests/."""

    name: str
    """What it is called in the raw output: `before NAME` and `after NAME`."""

    def read(self, interface: str) -> Command:
        """The command that reads it; it changes nothing and ends at once."""

    def figures(self, before: Completed, after: Completed) -> Mapping[str, Scalar]:
        """What changed between two readings: figures without `local_` or `remote_`.

        Each is a count that several hosts of one end add up to, under the name of a METRICS row
        less its end. What a host does not have at all is left out. Raises ToolFailure when the
        readings do not belong together (a counter that went back, an interface that is gone).
        """
