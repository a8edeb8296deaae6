"""Drop reasons: how the host can count dropped packets by reason, or what it lacks to do so."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.evidence import drops
from netlimits.model.drop_reasons import ALL_NAMESPACES


class Drops(Check):
    name = "drops"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        ways, _, spaces = str(site.fact(role, drops.FACT) or "").partition("spaces=")
        root = site.fact(role, "uid") == "0"
        boot = site.fact(role, "boot_id")
        shared = boot and [site.fact(r, "boot_id") for r in site.machines].count(boot) > 1
        if not ways:
            needs = "Linux 5.17, and histogram triggers or bpftrace"
            if not root:
                needs = "root, or NETLIMITS_DROPS of SECURITY.md's sudoers, and Linux 5.17"
            yield self.note(role, f"not counted by reason: that needs {needs}")
        elif shared and "bpftrace" not in ways:
            yield self.note(
                role,
                "those of other roles on this kernel cannot be separated, so none are reported",
                "install bpftrace" if root else "log in as root, with bpftrace installed",
            )
        else:
            way = "bpftrace" if shared else ways.split()[0]
            of_all = f", {ALL_NAMESPACES}" if way != "bpftrace" and spaces != "1" else ""
            yield self.note(role, f"counted by reason, with {way}{of_all}")
