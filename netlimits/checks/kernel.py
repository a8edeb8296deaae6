"""Hosts that share one kernel (the same boot id): their CPU figures include each other's use."""

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
                f"shares a kernel with {same[0]} (one boot id): the CPU figures of each include "
                "the other",
                "compare such runs only with each other",
            )
        else:
            yield self.note(role, str(site.fact(role, "kernel") or "not known"))
