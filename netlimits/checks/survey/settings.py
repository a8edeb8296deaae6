"""Settings of the plan: the hosts must support them. This check only reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netlimits.checks import _base
from netlimits.checks._base import Finding, Site
from netlimits.checks.survey.prompt import PromptHost
from netlimits.errors import SettingError
from netlimits.model import Command
from netlimits.settings import TRIED, State, options_of, setting

States = dict[tuple[str, Command], State]

SETTINGS_READ = "settings"


def findings(site: Site, host: PromptHost, role: str, states: States) -> Iterator[Finding]:
    """Yield an error for each setting that the host rejects or lacks, or else a note.

    The state that is read for each setting is added to `states`.
    """
    interface, experiment = site.interface(role), site.experiment
    seen: list[str] = []
    refused: set[str] = set()
    for use in site.uses(role):
        seen.append(use.name)
        try:
            options = options_of(use, role, site.machines)
        except SettingError:  # `never` reports this error
            continue
        for refusal in _refusals(use.name, options, interface, host, role, states):
            problem = f"{use.place(experiment.path)}: {refusal}"
            if problem not in refused:
                refused.add(problem)
                yield _base.error(role, use.name, problem)
    if seen and not refused:
        names = ", ".join(dict.fromkeys(seen))
        untried = ", ".join(name for name in dict.fromkeys(seen) if name in TRIED)
        note = f"; not tried: {untried} (--try writes them)" if untried else ""
        yield Finding(role, SETTINGS_READ, "note", f"available: {names}{note}")


def never(site: Site, role: str) -> Iterator[Finding]:
    """Yield an error for each setting of a role that no host would accept."""
    problems: dict[str, str] = {}
    for use in site.uses(role):
        try:
            options = options_of(use, role, site.machines)
            setting(use.name).change(site.interface(role), {}, options)
        except SettingError as error:
            problems[f"{use.place(site.experiment.path)}: {error.problem}"] = use.name
    for problem, name in problems.items():
        yield _base.error(role, name, problem)


def _refusals(
    name: str, options: Any, interface: str, host: PromptHost, role: str, states: States
) -> list[str]:
    """Return why a host rejects a setting: one sentence, or one for each rejected option."""
    kind = setting(name)
    read = kind.read(interface, options)
    try:
        if (role, read) not in states:
            states[role, read] = kind.state(host.run(read))
        if kind.change(interface, states[role, read], options):
            kind.check_found(interface, states[role, read])
    except SettingError as error:
        single = [{key: value} for key, value in options.items()] if kind.traits.separate else []
        each = [
            refusal
            for option in (single if len(single) > 1 else [])
            for refusal in _refusals(name, option, interface, host, role, states)
        ]
        return each or [error.problem]
    return []
