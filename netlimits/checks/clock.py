"""The clocks of the hosts: they must agree if the plan compares times of several hosts."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site

TOLERABLE = 0.1
"""Maximum offset in seconds without a warning: a tenth of what an interim result covers."""


class Clock(Check):
    name = "clock"

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        first = next(iter(site.clocks), role)
        if role not in site.clocks:
            yield self.note(role, "`date` prints no fractions of a second")
            return
        if role == first:
            return
        offset = site.clocks[role].ahead_of(site.clocks[first])
        comparison = (
            f"{offset.offset_s:+.4f} s against {first}'s, give or take {offset.bound_s:.4f} s"
        )
        if abs(offset.offset_s) - offset.bound_s <= TOLERABLE:
            yield self.note(role, comparison)
        elif aligned(site):
            yield self.warning(
                role,
                f"{comparison}: the times of several hosts are compared",
                "set both clocks by NTP or PTP (chronyc, timedatectl)",
            )
        else:
            yield self.note(role, f"{comparison}; this plan compares no hosts' times")


def aligned(site: Site) -> bool:
    """Return True if the plan compares times of hosts: it has several senders or traced hosts."""
    traced = {
        role
        for requirement in site.requirements
        if requirement.around.trace
        for role in requirement.around.trace.roles
    }
    return len(site.experiment.ends["local"]) > 1 or len(traced) > 1
