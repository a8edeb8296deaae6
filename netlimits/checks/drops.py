"""Whether a host's kernel counts the packets that it drops by reason (evidence.drops)."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Check, Finding, Site
from netlimits.evidence import drops
from netlimits.model import Completed


class Drops(Check):
    """Reads the fact; two roles on one kernel need bpftrace."""

    name = "drops"

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterator[Finding]:
        ways = str(site.fact(role, drops.FACT) or "").split()
        boot = site.fact(role, "boot_id")
        shared = boot and [site.fact(r, "boot_id") for r in site.machines].count(boot) > 1
        if not ways:
            needs = "a login as root, Linux 5.17, and histogram triggers or bpftrace"
            yield Finding(role, self.name, "note", f"not counted by reason: that needs {needs}")
        elif shared and "bpftrace" not in ways:
            yield Finding(
                role,
                self.name,
                "note",
                "those of other roles on this kernel cannot be separated, so none are reported",
                "install bpftrace",
            )
        else:
            way = "bpftrace" if shared else ways[0]
            yield Finding(role, self.name, "note", f"counted by reason, with {way}")
