"""Compare a host's network state before the first change with its state after the last restore.

Settings restore their own states; this module finds side effects. The first reading is kept in
`state/ROLE.json` of the results until the comparison. `side_effects` decides which differences the
campaign can have caused, and `undo_commands` undoes these. If one of these remains, it is an error,
but the host is released. All other differences are only reported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

from netlimits.archive.store import Archive
from netlimits.errors import ArchiveUnwritable, ConnectionLost, HostError, one_line
from netlimits.evidence.network import script
from netlimits.evidence.network.comparison import Difference, differences, uncompared
from netlimits.evidence.network.state import NetworkState, loaded, parsed, saved
from netlimits.hosts.base import Host
from netlimits.hosts.threads import concurrently
from netlimits.model import Command, Completed, Experiment, decoding
from netlimits.restore import undo_commands
from netlimits.restore.originals import quoted_lines
from netlimits.restore.side_effects import OF_DRIVERS, SideEffects

FOLDER = "state"

SETTLES = 1.5
"""Seconds before a reading is repeated, since a new IPv6 address is usable only after 1 s."""

MOST_BYTES = 64_000_000
"""Maximum size of a kept reading in bytes."""

LINES = 20
"""Maximum number of differences listed for a host."""

Sets = Mapping[str, Collection[str]]
"""Setting -> the names of the sysctls that it sets; empty for all settings but `sysctl`."""


def sets_of(experiment: Experiment, roles: Collection[str]) -> dict[str, Sets]:
    """Return the settings that an experiment may change on each role.

    If a setting names a role that is not in `roles`, it counts for all roles. This occurs in a
    mesh, where each host is sender and receiver, and in `run --against`, whose sides have their own
    roles.
    """
    sets: dict[str, dict[str, set[str]]] = {}
    for side in (experiment, *experiment.sides.values()):
        for use in side.settings:
            sysctls = use.options if use.name == "sysctl" else ()
            names = {*sysctls} if isinstance(sysctls, Mapping) else set()
            named = [role for role in use.roles if role in roles]
            for role in named if len(named) == len(use.roles) else roles:
                sets.setdefault(role, {}).setdefault(use.name, set()).update(names)
        if side.around.get("pace"):
            for role in roles:
                sets.setdefault(role, {}).setdefault("qdisc", set())
    return {
        role: {name: sorted(values) for name, values in some.items()} for role, some in sets.items()
    }


@dataclass(slots=True)
class ComparisonResult:
    """The result for all hosts.

    `ours` has the remaining differences that the campaign caused, by role. `others` has lines to
    report, mainly about differences that other users caused. `turn` is the lock of both.
    """

    ours: dict[str, list[str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    turn: Lock = field(default_factory=Lock)

    def problem(self) -> str:
        lines = [f"{role}: {line}" for role, some in self.ours.items() for line in _few(some)]
        return "these side effects were not restored:\n  " + "\n  ".join(lines) if lines else ""


class StateComparison:
    """Keeps and compares the network states of a campaign's hosts.

    `host` returns the host of a role; `sets` has the settings that may change on each role.
    """

    def __init__(
        self, archive: Archive, host: Callable[[str], Host], sets: Mapping[str, Sets] | None = None
    ) -> None:
        self._archive = archive
        self._host = host
        self._sets = sets or {}
        self.result = ComparisonResult()

    def take(self) -> None:
        """Read and save the state of each host that is changed. Raises ArchiveUnwritable."""

        def take(role: str) -> None:
            state = self._read(role, self._sets[role])
            kept = {"sets": {n: [*names] for n, names in self._sets[role].items()}, **saved(state)}
            try:
                self._archive.folder.make(FOLDER)
                self._archive.folder.write(_file(role), json.dumps(kept))
            except OSError as error:
                path = self._archive.path / _file(role)
                raise ArchiveUnwritable(f"{path}: {one_line(error)}") from None

        concurrently(take, [role for role in self._archive.machines if self._sets.get(role)])

    def compare(
        self, run: Callable[[str, Command], Completed], skipped: Collection[str] = ()
    ) -> ComparisonResult:
        """Compare hosts with their saved states, and restore our differences with `run`.

        The roles in `skipped` are left out.
        """
        self.result = ComparisonResult()
        roles = [role for role in self._archive.machines if role not in skipped]
        concurrently(lambda role: self._compare(role, run), [r for r in roles if self._kept(r)])
        ours = {line for some in self.result.ours.values() for line in some}
        self.result.others = [
            line for line in self.result.others if line.split(": ", 2)[-1] not in ours
        ]
        if self.result.ours or self.result.others:
            others = self.result.others[: 10 * LINES]
            self._archive.append("compared", ours=self.result.ours, others=others)
        return self.result

    def forget(self, roles: Iterable[str]) -> None:
        """Delete the saved states of roles."""
        with suppress(OSError):
            for role in roles:
                self._archive.folder.remove(_file(role))
            (self._archive.path / FOLDER).rmdir()

    def kept(self) -> tuple[str, ...]:
        """Return the roles with a saved state."""
        return tuple(role for role in self._archive.machines if self._kept(role))

    def _read(self, role: str, sets: Sets) -> NetworkState:
        interface = self._archive.machines[role].interface or "lo"
        commands = script.read(interface, bool(OF_DRIVERS & sets.keys()))
        try:
            answers = self._host(role).run_in_turn(commands)
        except ConnectionLost:
            answers = self._host(role).run_in_turn(commands)
        return parsed(answers, interface)

    def _kept(self, role: str) -> tuple[NetworkState, Sets] | None:
        """Return a role's saved state and its settings, or None if no readable state is saved."""
        try:
            data = self._archive.folder.read(_file(role), MOST_BYTES)
            sets = decoding.parsed(data)["sets"]
            if decoding.has(sets, dict[str, list[str]]):
                return loaded(data), sets
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def _compare(self, role: str, run: Callable[[str, Command], Completed]) -> None:
        kept = self._kept(role)
        assert kept
        before, sets = kept
        ours: tuple[Difference, ...] = ()
        try:
            now = self._read(role, sets)
            ours, others = self._separated(role, sets, before, now)
            if ours:
                time.sleep(SETTLES)
                now = self._read(role, sets)
                ours, others = self._separated(role, sets, before, now)
            if ours and (commands := undo_commands.commands(ours)):
                for command in commands:
                    run(role, command)
                self._report(role, [f"restored besides its settings: {d}" for d in ours])
                time.sleep(SETTLES)
                now = self._read(role, sets)
                ours, others = self._separated(role, sets, before, now)
        except HostError as error:
            why = str(error).removeprefix(f"{role}: ")
            if not ours:
                self._report(role, [f"its network state could not be compared: {why}"])
            else:  # our differences could not be undone
                with self.result.turn:
                    self.result.ours[role] = [*map(_by_hand, ours), why]
            return
        if now.boot != before.boot:
            self._report(role, ["it was rebooted since: its network state is not compared"])
            ours, others = (), ()
        else:
            self._report(role, [f"changed by somebody else, not restored: {d}" for d in others])
            if missing := uncompared(before, now):
                self._report(role, [f"not compared: {'; '.join(missing)}"])
        if ours:
            with self.result.turn:
                self.result.ours[role] = [_by_hand(d) for d in ours]
        else:
            self.forget([role])

    def _separated(
        self, role: str, sets: Sets, before: NetworkState, now: NetworkState
    ) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
        """Return (our differences, other users' differences); both are empty after a reboot."""
        if before.boot != now.boot:
            return (), ()
        every = differences(before, now)
        effects = SideEffects(self._archive.machines[role].interface or "lo", sets, before, now)
        ours = tuple(d for d in every if effects.includes(d))
        return ours, tuple(d for d in every if d not in ours)

    def _report(self, role: str, lines: list[str]) -> None:
        with self.result.turn:
            self.result.others += [f"{role}: {line}" for line in _few(lines)]


def _file(role: str) -> str:
    return f"{FOLDER}/{role}.json"


def _few(lines: list[str]) -> list[str]:
    more = len(lines) - LINES
    return [*lines[:LINES], f"and {more} more"] if more > 0 else lines


def _by_hand(difference: Difference) -> str:
    by_hand = quoted_lines(undo_commands.commands([difference]))
    return f"{difference}; by hand: {by_hand}" if by_hand else str(difference)
