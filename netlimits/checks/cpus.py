"""CPU time that other programs use, and CPU frequency scaling.

With a governor other than `performance`, the clock rate depends on the load, and so does the
service demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.errors import ToolFailure
from netlimits.evidence import cpu
from netlimits.model import Command, Completed

BUSY_PCT = 10.0
"""Maximum % of the whole machine that other programs may use without a warning."""

_GOVERNORS = "cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor 2>/dev/null"
_SAMPLE = (
    f"{cpu.SCRIPT}; echo; sleep 0.5; {cpu.SCRIPT}; echo; cat /proc/loadavg; {_GOVERNORS}; true"
)


class Cpus(Check):
    name = "cpu"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        return (Command(("sh", "-c", _SAMPLE), deadline=10),)

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        first, second, rest = _parts(completed[0].stdout)
        yield from self._governor(role, rest[1:])
        try:
            before, after = (cpu.times(_as(completed[0], part)) for part in (first, second))
            busy = cpu.use(before, after).util_pct
        except ToolFailure:
            yield self.note(role, "/proc/stat does not show how busy it is")
            return
        load = rest[0].split()[0] if rest and re.match(r"\d+\.\d+ ", rest[0]) else "not known"
        if busy > BUSY_PCT:
            yield self.warning(
                role,
                f"{busy:.0f} % busy with something else (load average {load})",
                "stop it (`top` names it): it adds to the tool's CPU and lowers its throughput",
            )
        else:
            yield self.note(role, f"{busy:.0f} % busy, load average {load}")

    def _governor(self, role: str, governors: list[str]) -> Iterator[Finding]:
        slow = sorted({name for name in governors if re.fullmatch(r"[a-z_]{1,32}", name)})
        if slow and slow != ["performance"]:
            yield self.warning(
                role,
                f"the CPU governor is {', '.join(slow)}: its clock follows the load",
                "`cpupower frequency-set -g performance` while you measure",
            )


def _parts(stdout: str) -> tuple[str, str, list[str]]:
    first, _, later = stdout.partition("\n\n")
    second, _, rest = later.partition("\n\n")
    return first, second, rest.splitlines()


def _as(completed: Completed, part: str) -> Completed:
    return Completed(completed.host, completed.command, 0, part, "", completed.seconds)
