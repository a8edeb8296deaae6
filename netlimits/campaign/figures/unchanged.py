"""Checks that nobody else changed the hosts during a run: settings, interface, routes, CPUs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from netlimits.archive.raw import SETTING_AFTER, WATCH_AFTER, WATCH_BEFORE, RawEntry
from netlimits.campaign.specifications import Specification
from netlimits.errors import SettingError, ToolFailure
from netlimits.evidence import watch
from netlimits.model import Completed
from netlimits.settings import setting


def refuse(specification: Specification, entries: Sequence[RawEntry]) -> None:
    """Raise ToolFailure (`invalid`) if hosts were changed during the run; it lists the changes."""
    changes = {role: [*_of_host(specification, entries, role)] for _, role in specification.roles()}
    watched = {role for role, lines in changes.items() if lines}
    lines = [f"{role}: {line}" for role, of_role in changes.items() for line in of_role]
    lines += _of_settings(specification, entries, watched)
    if lines:
        text = "; ".join(dict.fromkeys(lines))
        raise ToolFailure(f"changed during the run, not by netlimits: {text}", status="invalid")


def _of_settings(
    specification: Specification, entries: Sequence[RawEntry], watched: Collection[str]
) -> Iterator[str]:
    """Yield a line for each setting that, after the run, differs from the configuration.

    `watched` are the hosts with reported changes; on them only the settings are checked that
    `evidence.watch` does not read.
    """
    readings = [entry for entry in entries if entry.step == SETTING_AFTER]
    uses = [(use, role) for use in specification.setup.settings for role in use.roles]
    for use, role in uses:
        interface = specification.machines[role].interface or ""
        argv = setting(use.name).read(interface, use.options).argv
        entry = next((e for e in readings if e.host == role and e.argv == argv), None)
        if entry is None:
            continue
        readings.remove(entry)
        try:
            unmet = setting(use.name).unmet(setting(use.name).state(entry.completed), use.options)
        except SettingError as error:
            unmet = (error.problem,)
        if not setting(use.name).traits.watched or role not in watched:
            yield from (f"{role}: {use.name}: {line}" for line in unmet)


def _of_host(
    specification: Specification, entries: Sequence[RawEntry], role: str
) -> tuple[str, ...]:
    if not (pair := _readings(entries, role)):
        return ()
    machine = specification.machines[role]
    address = machine.over(specification.around.family).address
    return watch.changes(*pair, machine.interface or "", [address] if address else [])


def _readings(entries: Sequence[RawEntry], role: str) -> tuple[Completed, Completed] | None:
    by_step = {e.step: e.completed for e in entries if e.host == role}
    before, after = by_step.get(WATCH_BEFORE), by_step.get(WATCH_AFTER)
    return (before, after) if before and after else None
