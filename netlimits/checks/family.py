"""Whether every host has a data address of each version of IP that the plan asks for."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Check, Finding, Site
from netlimits.model import Completed


class Families(Check):
    """Judges from plan and addresses alone."""

    name = "family"

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterator[Finding]:
        """An error for each version that a host has no address of."""
        machine = site.machines[role]
        families = dict.fromkeys(a.around.family for a in site.requirements if a.around.family)
        for family in families:
            if machine.over(family).address is None:
                yield Finding(
                    role,
                    self.name,
                    "error",
                    f"{machine.interface} has no address of {family}",
                    f"give it one, or take {family} out of the experiment's `family`",
                )
        addresses = ", ".join(str(machine.over(family).address) for family in families)
        if families and "None" not in addresses:
            yield Finding(role, self.name, "note", f"data goes to {addresses}")
