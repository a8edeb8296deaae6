"""The plan's settings against what the hosts have: what cannot be had, before anything is set."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks import base
from netlimits.checks.base import Finding, Site
from netlimits.errors import SettingError
from netlimits.hosts.base import Host
from netlimits.model import Command
from netlimits.settings import setting
from netlimits.settings.base import State

States = dict[tuple[str, Command], State]


def findings(site: Site, host: Host, role: str, states: States) -> Iterator[Finding]:
    """An error for each setting of a role that the host refuses or lacks; fills `states`."""
    interface, experiment = site.interface(role), site.experiment
    seen: list[str] = []
    refused: set[str] = set()
    for use in site.uses(role):
        seen.append(use.name)
        kind = setting(use.name)
        read = kind.read(interface, use.options)
        try:
            if (role, read) not in states:
                states[role, read] = kind.state(host.run(read))
            kind.change(interface, states[role, read], use.options)
        except SettingError as error:
            problem = f"{experiment.path}:{use.line}: {error.problem}"
            if problem not in refused:
                refused.add(problem)
                yield base.error(role, use.name, problem)
    if seen and not refused:
        names = ", ".join(dict.fromkeys(seen))
        yield Finding(role, "settings", "note", f"{names} can be had")
