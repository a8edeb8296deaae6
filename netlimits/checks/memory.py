"""Default socket buffers that the plan sets: the host must have enough memory for them.

A UDP receiver that falls behind fills its socket buffer. If memory runs out, the kernel kills the
server or hangs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.model import Command

SYSCTLS = ("net.core.rmem_default", "net.core.wmem_default")
MEMINFO = Command(("cat", "/proc/meminfo"), deadline=10)
SHARE = 0.5
"""Maximum share of the memory that one buffer may take without a warning."""


class Memory(Check):
    name = "memory"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        return (MEMINFO,) if any(_buffers(site, role)) else ()

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        for answer in completed:
            total = re.search(r"^MemTotal:\s+(\d+) kB$", answer.stdout, re.MULTILINE)
            if total is None:
                yield self.note(role, "/proc/meminfo has no MemTotal")
                return
            memory = int(total[1]) * 1024
            large = {name: size for name, size in _buffers(site, role) if size > SHARE * memory}
            for name, size in large.items():
                yield self.warning(
                    role,
                    f"{name} lets one socket hold {size / 2**20:,.0f} MiB of the host's "
                    f"{memory / 2**20:,.0f} MiB: if the receiver falls behind, the kernel kills "
                    "its server",
                    f"set {int(memory / 8):d} or less",
                )
            if not large:
                yield self.note(role, f"{memory / 2**20:,.0f} MiB")


def _buffers(site: Site, role: str) -> Iterator[tuple[str, int]]:
    """Yield (sysctl, bytes) for each of SYSCTLS that the plan sets on a role."""
    for use in site.uses(role):
        for name in SYSCTLS if use.name == "sysctl" else ():
            value = use.options.get(name)
            wanted = value["want"] if isinstance(value, Mapping) else value
            if isinstance(wanted, int):
                yield name, wanted
