"""Restore hosts, from a campaign's journal or from the notes on the hosts.

Before the first change, an original state is recorded in the journal, in a note on the host and in
the host's guard. After the restore, the note is removed first; then the journal records the
restore. If the process is killed between these two steps, the setting is restored a second time,
never left out. Guards and claims end last.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
import socket
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from netlimits.archive.records import unfinished
from netlimits.archive.store import Archive
from netlimits.errors import NetlimitsError, RestoreError
from netlimits.evidence import facts
from netlimits.hosts.base import Host, must
from netlimits.model import Command
from netlimits.restore import notes
from netlimits.restore.changes import Changes
from netlimits.restore.comparison import StateComparison
from netlimits.restore.guard.claim import holder
from netlimits.restore.guard.guards import PATIENCE, Guards
from netlimits.restore.guard.terms import FROM_NOTES, RESTORE, forced
from netlimits.restore.originals import Original, from_event


def guards(
    archive: Archive, host: Callable[[str], Host], patience: float | None = PATIENCE
) -> Guards:
    this_process = holder(archive.path.name, identity(archive))
    return Guards(host, archive.machines, this_process, patience)


def identity(archive: Archive) -> str:
    """Return a campaign's identity: a hash of this machine, its folder, its start and its seed."""
    if lease := archive.meta.get("lease"):  # a shard has the same identity on any machine
        return str(lease)
    folder = archive.path.stat()
    origin = (socket.gethostname(), folder.st_ino, archive.meta["created"], archive.meta["seed"])
    return hashlib.sha256(repr(origin).encode()).hexdigest()[:16]


class CampaignLog:
    """The undo log of a campaign: the journal, notes on the hosts, and the hosts' guards."""

    def __init__(
        self, archive: Archive, guards: Guards, known_facts: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._archive = archive
        self._guards = guards
        self._facts = known_facts
        self._order = itertools.count(1)
        self.run = guards.run
        self.begin_change = guards.begin_change
        self.begin_restore = guards.begin_restore

    def keep(self, original: Original) -> None:
        self._archive.append("found", **_place(original), state=original.state)
        name, campaign = self._archive.path.name, identity(self._archive)
        address = self._link_address(original)
        order = next(self._order)
        note = notes.note_file(original, address, name, campaign, time.time(), order)
        self._guards.arm(original, note)

    def end_restore(self, original: Original) -> None:
        must(self.run(original.role, notes.remove(original, self._link_address(original))))
        self._archive.append("put_back", **_place(original))

    def _link_address(self, original: Original) -> str:
        link = facts.value(self._facts[original.role], "link") or {}
        return str(link.get("address", ""))


class NoteLog:
    """The undo log of a restore from notes; `removals` has the commands that remove the notes."""

    def __init__(
        self, guards: Guards, removals: Mapping[tuple[str, str, str], list[Command]]
    ) -> None:
        self._removals = removals
        self.run = guards.run
        self.begin_change = guards.begin_change
        self.begin_restore = guards.begin_restore

    def keep(self, original: Original) -> None:
        """Do nothing, since the note exists already."""

    def end_restore(self, original: Original) -> None:
        for removal in self._removals[original.place]:
            must(self.run(original.role, removal))


def _place(original: Original) -> dict[str, str]:
    return dict(zip(("role", "interface", "setting"), original.place, strict=True))


def restore_all(
    changes: Changes,
    guarding: Guards,
    states: StateComparison | None = None,
    skipped: Collection[str] = (),
) -> None:
    """Restore all changes, compare the hosts' network states, and release the restored hosts.

    The states are compared only if `states` is given, and not for the roles `skipped`. Raises
    RestoreError.
    """
    problems = []
    try:
        try:
            changes.restore()
        except RestoreError as error:
            problems.append(str(error))
        if states:
            left = {*skipped, *(original.role for original in changes.changed)}
            problems += filter(None, [states.compare(guarding.run, left).problem()])
    finally:
        guarding.release({original.role for original in changes.changed})
    if problems:
        raise RestoreError("\n".join(problems))


def restore_from_journal(
    archive: Archive,
    hosts: Mapping[str, Host],
    force: bool = False,
    *,
    ours: bool = True,
    unreached: Collection[str] = (),
    tell: Callable[[str], object] = lambda _: None,
) -> tuple[Original, ...]:
    """Restore the settings that a killed process left changed, and return their originals.

    The caller must hold the journal's lock. Hosts of the roles `unreached` are left out. If the
    journal is not `ours`, the hosts' network states are not compared. `tell` gets a line for each
    difference that other users caused. Raises HostError if another campaign is using a host, and
    RestoreError if a setting could not be restored.
    """
    left = tuple(from_event(event) for event in unfinished(archive))
    originals = tuple(original for original in left if original.role not in unreached)
    host_facts = {role: archive.facts(role) for role in archive.machines}
    guarding = guards(archive, hosts.__getitem__, None)
    guarding.claim(forced(RESTORE, force))
    log = CampaignLog(archive, guarding, host_facts)
    states = StateComparison(archive, hosts.__getitem__)
    skipped = [role for role in archive.machines if role not in hosts or role in unreached]
    try:
        restore_all(
            Changes(hosts.__getitem__, log, originals, ours=ours),
            guarding,
            states if ours else None,
            skipped,
        )
    finally:
        for line in states.result.others:
            tell(line)
    return originals


def restore_from_notes(hosts: Mapping[str, Host], force: bool = False) -> tuple[Original, ...]:
    """Restore the originals in the notes on the hosts, and return them. Raises RestoreError."""
    done: list[Original] = []
    left = dict.fromkeys(hosts, "")
    this_process = holder("", secrets.token_hex(8))
    guarding = Guards(hosts.__getitem__, hosts, this_process, None)
    guarding.claim(forced(FROM_NOTES, force))
    try:
        for role, host in hosts.items():
            try:
                done += _from_notes(role, host, guarding)
                del left[role]
            except NetlimitsError as error:
                left[role] = str(error)
    finally:
        guarding.release(left)
    if left:
        raise RestoreError("\n".join(left.values()))
    return tuple(done)


def _from_notes(role: str, host: Host, guarding: Guards) -> tuple[Original, ...]:
    """Restore the originals in one host's notes, and return them.

    Raises RestoreError, also if a note is damaged.
    """
    originals: dict[tuple[str, str, str], Original] = {}
    removals: dict[tuple[str, str, str], list[Command]] = {}
    readable, wrong = notes.notes(must(host.run(notes.read())))
    for note in readable:  # last change first
        noted = Original(str(note["role"]), note["interface"], note["setting"], note["state"])
        mac = _link_address(host, noted.interface)
        if mac != note["link_address"]:  # another host's note, in a shared home folder
            continue
        place = (role, *noted.place[1:])
        later = originals[place].state if place in originals else {}
        originals[place] = Original(*place, {**later, **noted.state})
        removals.setdefault(place, []).append(notes.remove(noted, mac))
    left = tuple(originals.values())[::-1]
    problems = [wrong] if wrong else []
    try:
        Changes(lambda _: host, NoteLog(guarding, removals), left, noted=True).restore()
    except RestoreError as error:
        problems.insert(0, str(error))
    if problems:
        raise RestoreError("\n".join(problems))
    return left[::-1]


def _link_address(host: Host, interface: str) -> str:
    completed = host.run(Command(("cat", f"/sys/class/net/{interface}/address"), deadline=10))
    return completed.stdout.strip()
