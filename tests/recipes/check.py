"""Whether a host's weather is fine."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.model import Command


class Weather(Check):
    """Asks a barometer."""

    name = "weather"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        """Return the command that reads the barometer."""
        return (Command(("barometer",)),)

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        """A warning of a storm."""
        if completed[0].stdout.strip() != "fair":
            yield self.warning(role, "there is a storm", "wait for it to pass")
