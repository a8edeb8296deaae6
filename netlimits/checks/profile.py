"""perf: if the experiment profiles CPUs, perf must record all CPUs and show names of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.evidence import profile
from netlimits.model import Command, Completed, Profiling

_ANSWER = re.compile(r"^([a-z_]+)=(.*)$", re.MULTILINE)


class Profiles(Check):
    name = "profile"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        frequencies = [p.frequency for p in _profiling(site, role)]
        return (profile.trial(max(frequencies)),) if frequencies else ()

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        for answer in completed:
            problem, advice = _problem(site, role, answer)
            if problem:
                yield self.error(role, problem, advice)
                continue
            event = dict(_ANSWER.findall(answer.stdout)).get("event", "")
            yield self.note(role, f"perf takes {event}")


def _profiling(site: Site, role: str) -> Iterator[Profiling]:
    for requirement in site.requirements:
        if requirement.around.profile and role in requirement.around.profile.roles:
            yield requirement.around.profile


def _problem(site: Site, role: str, answer: Completed) -> tuple[str, str]:
    values = dict(_ANSWER.findall(answer.stdout))
    without = f"or leave {role} out of `profile`"
    if "perf" not in values:
        return "there is no perf", f"install it there (Debian: linux-perf), {without}"
    if not values.get("version"):
        return "perf does not run", f"install the package of its kernel {values.get('kernel')}"
    limit, frequency = values.get("limit", ""), max(p.frequency for p in _profiling(site, role))
    if limit.isdigit() and int(limit) < frequency:
        advice = "lower `frequency`, or raise kernel.perf_event_max_sample_rate"
        return f"the kernel takes at most {limit} samples/s, not {frequency}", advice
    if not values.get("event"):
        why = answer.complaint or "it recorded nothing"
        advice = f"allow perf as SECURITY.md's sudoers does, log in as root, {without}"
        return f"perf may not record all CPUs: {why}", advice
    if values.get("names") != "yes":
        advice = "set kernel.kptr_restrict to 0 or 1 there, or log in as root"
        return "the kernel hides the names of its functions", advice
    return "", ""
