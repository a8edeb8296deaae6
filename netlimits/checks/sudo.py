"""sudo: if the login is not root, sudo must allow every command that needs root.

Such commands are the changes of every configuration, the commands that restore them, and packet
traces. `sudo -l COMMAND` shows if a command is allowed, without running it. Up to 200 commands are
tested.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.errors import SettingError
from netlimits.evidence import trace
from netlimits.experiment import pacing
from netlimits.model import Command, Completed, SettingUse, Setup
from netlimits.settings import options_of, setting

MOST = 200
"""Maximum number of commands to ask sudo about; later commands differ little."""

WIDTH = 160
"""Maximum characters of a command in a message."""


class Sudo(Check):
    name = "sudo"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        if site.fact(role, "uid") == "0":
            return ()
        argvs = dict.fromkeys(as_root(site, role))
        return tuple(
            Command(("sudo", "-n", "-l", "--", *argv), deadline=10) for argv in list(argvs)[:MOST]
        )

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        refused: dict[str, list[Completed]] = {}
        for answer in completed:
            if answer.status != 0:
                refused.setdefault(answer.command.argv[4], []).append(answer)
        for program, answers in refused.items():
            first = answers[0]
            why = first.complaint or "refused"
            more = f" (and {len(answers) - 1} more such)" if len(answers) > 1 else ""
            yield self.error(
                role,
                f"the login is not root and may not run `sudo -n {_cut(first.command.argv[4:])}`"
                f"{more}: {why}",
                f"allow {program} without a password as SECURITY.md's sudoers does, or log in as "
                "root",
            )
        if not refused:
            root = site.fact(role, "uid") == "0"
            permission = (
                "the login is root" if root else f"all {len(completed)} commands are allowed"
            )
            yield self.note(role, permission)


def _cut(argv: tuple[str, ...]) -> str:
    """Return a command line cut to WIDTH: restoring an MTU takes a hundred sysctls."""
    line = shlex.join(argv)
    return line if len(line) <= WIDTH else f"{line[:WIDTH]} …"


def as_root(site: Site, role: str) -> Iterator[tuple[str, ...]]:
    """Yield the argument vectors that need root on a host; some may come twice."""
    interface = site.interface(role)
    for use in site.uses(role):
        yield from _of_setting(site, role, use)
    for requirement in site.requirements:
        for use in _pacing(requirement, site, role):
            yield from _of_setting(site, role, use)
        if requirement.around.trace and role in requirement.around.trace.roles:
            yield trace.command(interface, requirement.around.trace, 10, None).argv


def _of_setting(site: Site, role: str, use: SettingUse) -> Iterator[tuple[str, ...]]:
    kind, interface = setting(use.name), site.interface(role)
    state = site.states.get((role, kind.read(interface, use.options)))
    if state is None:
        return
    # the change starts from the present state, or from one that another configuration left
    for from_state in (state, {}):
        try:
            options = options_of(use, role, site.machines)
            yield from _rooted(kind.change(interface, from_state, options))
        except SettingError:  # `survey.settings` reports this error
            return
    yield from _rooted(kind.undo(interface, state, {}))


def _pacing(requirement: Setup, site: Site, role: str) -> Iterator[SettingUse]:
    """Yield the qdiscs that may pace a setup on a role."""
    if (
        requirement.around.pace
        and role in site.experiment.all_ends["local"]
        and requirement.tool in site.features
    ):
        for way in pacing.ways(requirement.tool, site.features[requirement.tool]):
            use, _ = pacing.paced(
                requirement.tool, way, requirement.around.pace, (role,), requirement.options
            )
            yield use


def _rooted(commands: Iterable[Command]) -> Iterator[tuple[str, ...]]:
    for command in commands:
        # without the state, the route's own command line has placeholders, which sudo refuses
        if command.sudo and not {"NETWORK", "…"} & set(command.argv):
            yield command.argv
        yield from (by_hand.argv for by_hand in command.by_hand if by_hand.sudo)
