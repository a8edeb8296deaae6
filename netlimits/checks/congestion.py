"""Congestion controls of the plan: the kernel must have them, and let the login use them.

A tool whose login is not root may use only the controls in `tcp_allowed_congestion_control`. In a
network namespace other than the initial one, a control that the experiment sets by sysctl must be
in this list too, even for root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.model import Command

AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
READ_ONLY = "444"
"""File mode of ALLOWED in every network namespace except the initial one."""
DEFAULT = "net.ipv4.tcp_congestion_control"
ALLOWING = "net.ipv4.tcp_allowed_congestion_control"
SYSCTL, OPTION = "sysctl", "option"


class Congestion(Check):
    name = "congestion control"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        names = _names(site, role)
        if not names:
            return ()
        return (
            Command(("cat", AVAILABLE), deadline=10),
            Command(("cat", ALLOWED), deadline=10),
            Command(("stat", "-c", "%a", ALLOWED), deadline=10),
            *(Command(("modprobe", "-n", "-q", f"tcp_{name}"), deadline=10) for name in names),
        )

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        if not completed or completed[0].status != 0:
            return  # unknown, because the list cannot be read
        algorithms = wants(site, role)
        available, allowed = (set(c.stdout.split()) for c in completed[:2])
        inside = completed[2].stdout.strip() == READ_ONLY
        loadable = {
            n for n, c in zip(_names(site, role), completed[3:], strict=True) if not c.status
        }
        root = site.fact(role, "uid") == "0"
        allowed |= _allowed_by_the_plan(site, role)
        if not inside:  # in the initial namespace every user may use the default control
            allowed |= {name for name, how in algorithms if how == SYSCTL}
        problems: dict[str, Finding] = {}
        for name, how in algorithms:
            problem, advice = "", ""
            if name not in available and name not in loadable:
                problem = f"the kernel has no {name}; it has {', '.join(sorted(available))}"
                advice = "choose one of these, or install its kernel module"
            elif completed[1].status == 0 and name not in allowed:
                if how == OPTION and not root:
                    problem = f"only root may use {name}; others may use {_listed(allowed)}"
                    advice = f"`sysctl -w {ALLOWING}='{' '.join(sorted(allowed | {name}))}'`"
                elif how == SYSCTL and inside:
                    problem = (
                        f"{name} is not allowed in a network namespace; allowed are "
                        f"{_listed(allowed)}"
                    )
                    advice = f"allow it outside: `sysctl -w {ALLOWING}='…{name}'`"
            if problem:  # report a name once, even if the plan sets it in several ways
                finding = self.error(role, problem, advice)
                problems.setdefault(name, finding)
        yield from problems.values()
        if not problems:
            yield self.note(role, f"available: {_listed(n for n, _ in algorithms)}")


def wants(site: Site, role: str) -> list[tuple[str, str]]:
    """Return (name, SYSCTL or OPTION) for each congestion control that the plan sets on a role."""
    controls: dict[tuple[str, str], None] = {}
    for use in site.uses(role):
        if use.name == "sysctl" and DEFAULT in use.options:
            controls[str(use.options[DEFAULT]), SYSCTL] = None
    ends = [r for roles in site.experiment.all_ends.values() for r in roles]
    for requirement in site.requirements:
        if role in ends and "congestion_control" in requirement.options:
            for name in str(requirement.options["congestion_control"]).split(","):
                controls[name.strip(), OPTION] = None
    return [pair for pair in controls if pair[0]]


def _names(site: Site, role: str) -> list[str]:
    return list(dict.fromkeys(name for name, _ in wants(site, role)))


def _allowed_by_the_plan(site: Site, role: str) -> set[str]:
    texts = [str(use.options.get(ALLOWING, "")) for use in site.uses(role) if use.name == "sysctl"]
    return {name for text in texts for name in text.split()}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names))) or "none"
