"""Qdiscs of the plan: the host's kernel must have them and accept their parameters.

The check adds each qdisc to the loopback interface of a temporary network namespace. If the login
may not create a namespace (`unshare`), the check only warns that it could not test the qdiscs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import setting

_TRY = (
    'n=-n; [ "$(id -u)" = 0 ] || n=-rn; unshare "$n" true 2>/dev/null || exit 125; '
    'unshare "$n" sh -c "$1"'
)
UNTRIED = 125
"""Exit status of a trial if the login may not create a namespace."""


class Qdiscs(Check):
    name = "qdisc"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        """Return trials of the plan's qdiscs, and of EXAMPLES if the plan has a qdisc or a pace."""
        wishes = list(wanted(site, role))
        examples = EXAMPLES if wishes or _paced(site, role) else ()
        return tuple(trial(options) for options in [*wishes, *examples])

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        wishes = list(wanted(site, role))
        tried = zip(EXAMPLES, completed[len(wishes) :], strict=False)
        kernel_kinds = [options["kind"] for options, answer in tried if answer.status == 0]
        answers = list(zip(wishes, completed, strict=False))
        if any(answer.status == UNTRIED for answer in completed):
            kinds = ", ".join(sorted({o["kind"] for o, _ in answers})) or "what paces"
            advice = "try it as root: `unshare -n tc qdisc add dev lo root KIND`"
            problem = f"whether this kernel has {kinds} cannot be tested by this login"
            yield self.warning(role, problem, advice)
            return
        for options, answer in answers:
            if answer.status != 0:
                yield from self._refused(role, options, answer, kernel_kinds)
        yield from self._pacing(site, role, kernel_kinds)
        if answers and all(answer.status == 0 for _, answer in answers):
            kinds = ", ".join(sorted({options["kind"] for options, _ in answers}))
            yield self.note(role, f"the kernel has {kinds}")

    def _refused(
        self, role: str, options: dict[str, Any], answer: Completed, kernel_kinds: list[str]
    ) -> Iterator[Finding]:
        why = answer.complaint or f"tc exited {answer.status}"
        unknown = "kind is unknown" in why
        advice = (
            f"ask for one that it has ({', '.join(kernel_kinds) or 'none of ours'}), or load the "
            f"module: `modprobe sch_{options['kind']}`"
            if unknown
            else "correct the parameters of `qdisc` in the experiment"
        )
        problem = f"the kernel refuses {options['kind']}: {why}"
        yield self.error(role, problem, advice)

    def _pacing(self, site: Site, role: str, kernel_kinds: list[str]) -> Iterator[Finding]:
        if not _paced(site, role):
            return
        if not {"fq", "tbf"} & set(kernel_kinds):
            yield self.error(
                role,
                "the kernel has neither fq nor tbf, so nothing paces",
                "load one: `modprobe sch_fq`",
            )
            return
        by = "fq" if "fq" in kernel_kinds else "tbf, which shapes the whole interface"
        yield self.note(role, f"paced by {by}")


def wanted(site: Site, role: str) -> Iterator[dict[str, Any]]:
    """Yield the options of the plan's qdiscs on a role, except kinds in _OF_THE_DEVICE."""
    for use in site.uses(role):
        if use.name == "qdisc" and use.options["kind"] not in _OF_THE_DEVICE:
            yield dict(use.options)


def _paced(site: Site, role: str) -> bool:
    paced = any(requirement.around.pace for requirement in site.requirements)
    return paced and role in site.experiment.all_ends["local"]


def trial(options: dict[str, Any]) -> Command:
    """Return the command that fails unless the kernel accepts a qdisc with these options."""
    try:
        commands = setting("qdisc").change("lo", {}, options)
    except SettingError:
        commands = ()
    lines = [shlex.join(c.argv) for c in commands if "del" not in c.argv]
    script = "ip link set lo up && " + " && ".join(lines or ["false"])
    return Command(("sh", "-c", _TRY, "sh", script), deadline=10)


EXAMPLES: tuple[dict[str, Any], ...] = (
    {"kind": "fq"},
    {"kind": "tbf", "rate": "1gbit", "burst": "128kb", "limit": "1mb"},
    {"kind": "htb", "rate": "1gbit", "burst": "128kb"},
    {"kind": "pfifo", "limit": 1000},
    {"kind": "bfifo", "limit": "1mb"},
    {"kind": "pfifo_fast"},
)
"""Qdiscs to try. If the kernel lacks a qdisc of the plan, the advice names those it has."""

_OF_THE_DEVICE = ("noqueue", "mq")
"""Kinds that every kernel has, but that a loopback interface may not accept."""
