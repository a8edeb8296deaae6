"""How many toys a host broke during a run."""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.evidence.counted._base import growth
from netlimits.model import Command, Completed, Scalar


class Toys:
    """Evidence of toys."""

    name = "toys"

    def read(self, interface: str) -> Command:
        """The kernel's count."""
        return Command(("cat", "/proc/toys"))

    def figures(self, before: Completed, after: Completed) -> Mapping[str, Scalar]:
        """`toys_broken`"""
        first, second = (int(each.stdout) for each in (before, after))
        return {"toys_broken": growth("toys", first, second)}
