"""Notes on the host itself about the original states of its settings.

Notes allow `netlimits restore --hosts FILE` to restore a host from any machine. A note is a JSON
file for one setting, written before the first change and removed after the restore. root's notes
are in /run/netlimits, which a reboot clears, as it resets the settings. Other logins' notes are in
their state folder.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple, NotRequired

from netlimits.model import Command, Completed, decoding
from netlimits.model.decoding import Place
from netlimits.model.state_folder import FOLDER
from netlimits.restore.originals import Original
from netlimits.settings import State


class Note(Place):
    state: dict[str, Any]
    link_address: str
    order: NotRequired[int]


class NoteFile(NamedTuple):
    """The file name and the text of a note; the text is one line."""

    name: str
    text: str


NOTES = (
    'for one in "$d"/*.json; do [ -e "$one" ] || [ -L "$one" ] || continue; '
    '[ -f "$one" ] && text=$(cat "$one" 2>/dev/null) || '
    '{ text=; [ -e "$one" ] || [ -L "$one" ] || continue; }; printf "%s\\n" "$text"; done'
)
"""Print one line per note; the line is empty if the note is empty, unreadable or not a file."""

_WRITE = (
    FOLDER
    + 'mkdir -p "$d" && cat >"$d/.$1" && mv -fT "$d/.$1" "$d/$1" || { rm -f "$d/.$1"; exit 1; }'
)
_READ = FOLDER + NOTES
_REMOVE = FOLDER + 'rm -rf "$d/$1" && { rmdir "$d" 2>/dev/null || true; }'


def note_file(
    original: Original, link_address: str, campaign: str, identity: str, since: float, order: int
) -> NoteFile:
    """Return the note about `original`; `order` counts the originals as they are recorded."""
    note = {
        "role": original.role,
        "interface": original.interface,
        "link_address": link_address,
        "setting": original.setting,
        "state": original.state,
        "campaign": campaign,
        "id": identity,
        "since": since,
        "order": order,
    }
    return NoteFile(_file_name(original, link_address), json.dumps(note) + "\n")


def write(note: NoteFile) -> Command:
    return Command(("sh", "-c", _WRITE, "sh", note.name), stdin=note.text, deadline=10)


def read() -> Command:
    return Command(("sh", "-c", _READ), deadline=10)


def remove(original: Original, link_address: str) -> Command:
    return Command(("sh", "-c", _REMOVE, "sh", _file_name(original, link_address)), deadline=10)


def notes(completed: Completed) -> tuple[list[dict[str, Any]], str]:
    """Parse the output of `read`; return (notes, the last change first; error message or "").

    The message is about damaged notes, which are left out.
    """
    readable, wrong = list[dict[str, Any]](), ""
    for line in completed.stdout.splitlines():
        try:
            note = decoding.parsed(line)
            if not decoding.has(note, Note):
                raise ValueError
            note.setdefault("order", 0)
            readable.append(note)
        except ValueError:
            wrong = (
                f"{completed.host}: a note in its netlimits folder is damaged: {line[:80]!r}; "
                "restore from its campaign's results: `netlimits restore RESULTS`; the note is in "
                "/run/netlimits (root) or ~/.local/state/netlimits"
            )
    return sorted(readable, key=lambda note: note["order"], reverse=True), wrong


def impossible(original: Original, now: State) -> str:
    """Return a difference between the host and a note that no setting can cause, or "".

    If there is such a difference, another user may have written the note.
    """
    if original.setting == "route":
        routes = original.state["routes"]
        gone = [r for r, metrics in routes.items() if "?" not in metrics and r not in now["routes"]]
        return f"the route {gone[0]} is missing, and `route` removes none" if gone else ""
    if original.setting == "mtu":
        was, is_ = original.state["ipv6"]["conf"], now["ipv6"]["conf"]
        name = "conf/forwarding"
        if name in was and is_.get(name, was[name]) != was[name]:
            return f"net/ipv6/{name} is {is_[name]}, not {was[name]}, and no setting changes it"
    return ""


def _file_name(original: Original, link_address: str) -> str:
    place = "\0".join((link_address, *original.place))
    return f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
