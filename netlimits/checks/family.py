"""A data address on every host for each version of IP that the plan needs."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Check, Finding, Site
from netlimits.model import Completed


class Families(Check):
    """Compares the plan with the machines' addresses."""

    name = "family"

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterator[Finding]:
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
