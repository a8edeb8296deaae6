"""Versions of IP in the plan: every host needs a data address of each version."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site


class Families(Check):
    name = "family"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        machine = site.machines[role]
        families = dict.fromkeys(a.around.family for a in site.requirements if a.around.family)
        for family in families:
            if machine.over(family).address is None:
                yield self.error(
                    role,
                    f"{machine.interface} has no address of {family}",
                    f"give it one, or take {family} out of the experiment's `family`",
                )
        addresses = ", ".join(str(machine.over(family).address) for family in families)
        if families and "None" not in addresses:
            yield self.note(role, f"data goes to {addresses}")
