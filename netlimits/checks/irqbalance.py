"""irqbalance: it must not run if the experiment sets the CPUs or queues of interrupts."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.settings import setting


class Irqbalance(Check):
    name = "irqbalance"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        running = "irqbalance" in (site.fact(role, "services") or {})
        if running and any(setting(use.name).traits.places_interrupts for use in site.uses(role)):
            yield self.warning(
                role,
                "irqbalance runs and moves the interrupts that the experiment sets",
                "stop it while you measure (`systemctl stop irqbalance`), or make it a `switch`",
            )
        else:
            yield self.note(role, "runs" if running else "does not run")
