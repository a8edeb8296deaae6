"""A host's whole network state, compared once before the first change and after the last restore.

Each setting restores what it knows of; this finds the rest. The reading before lies in
`state/ROLE.json` of the campaign's folder until it is compared, so that `netlimits restore RESULTS`
compares too when the campaign was killed. A difference that a setting of the campaign can have made
(`side_effects` has the rule) is restored where there is a way (`ways_back`); what is left of those
is an error. Every other difference is somebody else's: it is reported and left.

Such an error does not keep a host: its settings are restored, so notes, guard and claim go. The
reading before stays, and `restore` compares again, until all is as found or forgotten.
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
from netlimits.hosts.threads import at_once
from netlimits.model import Command, Completed, Experiment, decoding
from netlimits.restore import ways_back
from netlimits.restore.originals import typed
from netlimits.restore.side_effects import OF_DRIVERS, SideEffects

FOLDER = "state"

SETTLES = 1.5
"""Seconds after which what differs is read again: an address of IPv6 takes one to be usable."""

MOST_BYTES = 64_000_000
"""Bytes of a reading that is kept."""

LINES = 20
"""Differences of a host that are told one by one."""

Sets = Mapping[str, Collection[str]]
"""Setting -> the names that an experiment sets (of sysctls)."""


def sets_of(experiment: Experiment, roles: Collection[str]) -> dict[str, Sets]:
    """Return what an experiment may set on each role; a role that is none of them is all of them.

    So it is of a mesh, whose hosts are senders and receivers in turn, and of a duet's second side.
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
    return {role: {name: sorted(of) for name, of in some.items()} for role, some in sets.items()}


@dataclass(slots=True)
class Found:
    """The result of a comparison: our own differences by role, and lines for those of others."""

    ours: dict[str, list[str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    turn: Lock = field(default_factory=Lock)

    def problem(self) -> str:
        """Return what is left of our own changes, a line each; "" when nothing is."""
        lines = [f"{role}: {line}" for role, some in self.ours.items() for line in _few(some)]
        return "these side effects were not restored:\n  " + "\n  ".join(lines) if lines else ""


class WholeState:
    """The network state of a campaign's hosts, by role. `host` gives the host of a role."""

    def __init__(
        self, archive: Archive, host: Callable[[str], Host], sets: Mapping[str, Sets] | None = None
    ) -> None:
        self._archive = archive
        self._host = host
        self._sets = sets or {}
        self.found = Found()

    def take(self) -> None:
        """Read and keep the state of every host on which something will be set.

        Raises HostError, and ArchiveUnwritable where it cannot be kept.
        """

        def take(role: str) -> None:
            state = self._read(role, self._sets[role])
            kept = {"sets": {n: [*of] for n, of in self._sets[role].items()}, **saved(state)}
            try:
                self._archive.folder.make(FOLDER)
                self._archive.folder.write(_file(role), json.dumps(kept))
            except OSError as error:
                path = self._archive.path / _file(role)
                raise ArchiveUnwritable(f"{path}: {one_line(error)}") from None

        at_once(take, [role for role in self._archive.machines if self._sets.get(role)])

    def compare(
        self, run: Callable[[str, Command], Completed], beside: Collection[str] = ()
    ) -> Found:
        """Compare what is kept with the hosts as they are, and restore what is ours.

        The hosts of the roles `beside` are left to another time. `run` changes a host that is ours.
        """
        self.found = Found()
        roles = [role for role in self._archive.machines if role not in beside]
        at_once(lambda role: self._compare(role, run), [r for r in roles if self._kept(r)])
        ours = {line for some in self.found.ours.values() for line in some}
        self.found.others = [
            line for line in self.found.others if line.split(": ", 2)[-1] not in ours
        ]
        if self.found.ours or self.found.others:
            told = {"ours": self.found.ours, "others": self.found.others[: 10 * LINES]}
            self._archive.append("compared", **told)
        return self.found

    def forget(self, roles: Iterable[str]) -> None:
        """Remove what is kept of the hosts of these roles."""
        with suppress(OSError):
            for role in roles:
                self._archive.folder.remove(_file(role))
            (self._archive.path / FOLDER).rmdir()

    def kept(self) -> tuple[str, ...]:
        """Return the roles whose state has not been compared yet, or was not as found."""
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
        """The reading before the first change and what is set; None where there is none."""
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
            ours, others = self._parted(role, sets, before, now)
            if ours:
                time.sleep(SETTLES)
                now = self._read(role, sets)
                ours, others = self._parted(role, sets, before, now)
            if ours and (commands := ways_back.commands(ours)):
                for command in commands:
                    run(role, command)
                self._tell(role, [f"restored besides its settings: {d}" for d in ours])
                time.sleep(SETTLES)
                now = self._read(role, sets)
                ours, others = self._parted(role, sets, before, now)
        except HostError as error:
            why = str(error).removeprefix(f"{role}: ")
            if not ours:
                self._tell(role, [f"its network state could not be compared: {why}"])
            else:  # it is known what differs, and could not be restored
                with self.found.turn:
                    self.found.ours[role] = [*map(_by_hand, ours), why]
            return
        if now.boot != before.boot:
            self._tell(role, ["it was rebooted since: its network state is not compared"])
            ours, others = (), ()
        else:
            self._tell(role, [f"changed by somebody else, not restored: {d}" for d in others])
            if missing := uncompared(before, now):
                self._tell(role, [f"not compared: {'; '.join(missing)}"])
        if ours:
            with self.found.turn:
                self.found.ours[role] = [_by_hand(d) for d in ours]
        else:
            self.forget([role])

    def _parted(
        self, role: str, sets: Sets, before: NetworkState, now: NetworkState
    ) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
        """Return our own differences, and those of others; none after a reboot."""
        if before.boot != now.boot:
            return (), ()
        every = differences(before, now)
        effects = SideEffects(self._archive.machines[role].interface or "lo", sets, before, now)
        ours = tuple(d for d in every if effects.includes(d))
        return ours, tuple(d for d in every if d not in ours)

    def _tell(self, role: str, lines: list[str]) -> None:
        with self.found.turn:
            self.found.others += [f"{role}: {line}" for line in _few(lines)]


def _file(role: str) -> str:
    return f"{FOLDER}/{role}.json"


def _few(lines: list[str]) -> list[str]:
    more = len(lines) - LINES
    return [*lines[:LINES], f"and {more} more"] if more > 0 else lines


def _by_hand(difference: Difference) -> str:
    """Return a difference with the commands that undo it by hand."""
    by_hand = typed(ways_back.commands([difference]))
    return f"{difference}; by hand: {by_hand}" if by_hand else str(difference)
