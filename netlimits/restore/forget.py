"""Free the hosts of a dead campaign without restoring the settings that it changed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from netlimits.archive.records import unfinished
from netlimits.archive.store import Archive
from netlimits.errors import HostInUse, NetlimitsError
from netlimits.hosts.base import Host, must
from netlimits.model import Command, decoding
from netlimits.model.state_folder import FOLDER
from netlimits.restore.comparison import StateComparison
from netlimits.restore.guard import script
from netlimits.restore.guard.claim import LONGEST, holder, printable
from netlimits.restore.guard.claims import snapshot
from netlimits.restore.guard.guards import Guards
from netlimits.restore.guard.terms import FROM_NOTES, forced
from netlimits.restore.notes import Note
from netlimits.restore.originals import Original, from_event, quoted_lines
from netlimits.restore.restoration import identity

_LIST = (
    FOLDER + 'for f in "$d"/*.json; do [ -e "$f" ] || [ -L "$f" ] || continue; '
    'printf "%s/" "${f##*/}"; [ ! -f "$f" ] || head -c 1000000 "$f" | tr "\\n" " "; echo; done'
)
_REMOVE = FOLDER + 'for n; do rm -rf "$d/$n"; done; rmdir "$d" 2>/dev/null || true'


def forget_journal(
    archive: Archive, hosts: Mapping[str, Host], force: bool, tell: Callable[[str], object]
) -> None:
    """Free the hosts of a campaign without a restore; `tell` gets a line for each setting.

    Raises HostError if another campaign is using a host or left notes there.
    """
    this_process = holder(archive.path.name, identity(archive))
    left = {role: _left(role, host) for role, host in hosts.items()}
    for role, notes in left.items():
        for note in notes.values():
            if note and note.get("id") != this_process.id:
                name = printable(str(note.get("campaign", "")))[:LONGEST]
                raise HostInUse(
                    f"campaign {name} left this host changed too; restore that first, or give up "
                    "both: `netlimits restore --hosts FILE --forget`",
                    host=role,
                )
    _remove(Guards(hosts.__getitem__, hosts, this_process, None), left, force)
    for event in unfinished(archive):
        tell(_given_up(from_event(event)))
        place = {key: event[key] for key in ("role", "interface", "setting")}
        archive.append("forgotten", **place)
    states = StateComparison(archive, hosts.__getitem__)
    for role in states.kept():
        tell(f"given up: {role}: the comparison of its network state with the state before")
    states.forget(archive.machines)


def forget_notes(hosts: Mapping[str, Host], force: bool, tell: Callable[[str], object]) -> None:
    """Remove the notes on hosts, and free the hosts without a restore.

    `tell` gets a line for each note and claim. Raises HostError if a campaign is using a host.
    """
    left = {role: _left(role, host) for role, host in hosts.items()}
    claims = {role: [*snapshot(hosts.__getitem__, role).claimed()] for role in hosts}
    _remove(Guards(hosts.__getitem__, hosts, holder("", secrets.token_hex(8)), None), left, force)
    for role in hosts:
        for name, note in left[role].items():
            if note:
                state = (note["interface"], note["setting"], note["state"])
                tell(_given_up(Original(role, *state)))
            else:
                tell(f"given up: {role}: the note {printable(name)}, which is damaged")
        for path, _, claim in claims[role]:
            tell(f"given up: {role}: the claim of {claim or printable(path)}")


def _left(role: str, host: Host) -> dict[str, dict[str, Any] | None]:
    """Return {file name: note about this host}; the note is None if it is damaged."""
    links = snapshot(lambda _: host, role).links
    listed = must(host.run(Command(("sh", "-c", _LIST), deadline=10))).stdout
    return {
        name: note for name, note in _notes(listed) if not note or note["link_address"] in links
    }


def _remove(
    guarding: Guards, left: Mapping[str, Mapping[str, dict[str, Any] | None]], force: bool
) -> None:
    guarding.claim(forced(FROM_NOTES, force))
    for role, notes in left.items():
        if notes:
            remove = Command(("sh", "-c", _REMOVE, "forget", *notes), deadline=10)
            must(guarding.run(role, remove))
    guarding.release()


def _notes(printed: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    for line in printed.splitlines():
        name, _, text = line.partition("/")
        if not re.fullmatch(r"[^/\0]+\.json", name):
            continue
        try:
            note = decoding.parsed(text)
        except ValueError:
            note = None
        yield name, note if decoding.has(note, Note) else None


def _given_up(original: Original) -> str:
    where = f"given up: {original.role}: {original.interface}: {original.setting}"
    try:
        commands = script.commands(original)
    except (NetlimitsError, LookupError, TypeError, ValueError, AttributeError):
        return where
    by_hand = quoted_lines(commands)
    return f"{where}; to restore it by hand: {by_hand}" if by_hand else where
