"""Two roles on one kernel: the same boot id, so the same CPUs, counted twice."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site


class Kernels(Check):
    name = "kernel"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        mine = site.fact(role, "boot_id")
        roles = list(site.machines)
        same = [r for r in roles[: roles.index(role)] if mine and site.fact(r, "boot_id") == mine]
        if same:
            yield self.warning(
                role,
                f"is the same machine as {same[0]} (one boot id): each one's CPU figures hold both",
                "compare such runs with one another only",
            )
        else:
            yield self.note(role, str(site.fact(role, "kernel") or "not known"))
