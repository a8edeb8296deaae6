"""What we found on a host before we changed it, written down on the host itself.

The journal undoes what a killed campaign left, but it lies with the controller. A note on the
host lets `netlimits restore --hosts FILE` do it from any machine. A note is one JSON file for each
setting of a role's interface, made before the first change and removed once it is restored. It
lies under /run/netlimits for root, since offloads do not outlive a boot either, and in the login's
own state folder otherwise. The scripts are constants; what varies goes in as arguments.
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
    """The content of a host's note about a setting that was changed."""

    state: dict[str, Any]
    link_address: str
    order: NotRequired[int]


class NoteFile(NamedTuple):
    """A note as it lies on a host: its file's name, and its text, which is one line."""

    name: str
    text: str


NOTES = (
    'for one in "$d"/*.json; do [ -e "$one" ] || [ -L "$one" ] || continue; '
    '[ -f "$one" ] && text=$(cat "$one" 2>/dev/null) || '
    '{ text=; [ -e "$one" ] || [ -L "$one" ] || continue; }; printf "%s\\n" "$text"; done'
)
"""A line for each note; an empty one for what is empty, cannot be read, or is no file."""

_WRITE = (
    FOLDER
    + 'mkdir -p "$d" && cat >"$d/.$1" && mv -fT "$d/.$1" "$d/$1" || { rm -f "$d/.$1"; exit 1; }'
)
_READ = FOLDER + NOTES
_REMOVE = FOLDER + 'rm -rf "$d/$1" && { rmdir "$d" 2>/dev/null || true; }'


def note_file(
    original: Original, link_address: str, campaign: str, identity: str, since: float, order: int
) -> NoteFile:
    """The note about `original`, the `order`-th thing changed.

    `link_address` is the interface's MAC, `identity` what tells this campaign from all others.
    """
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
    """The command that leaves a note on a host."""
    return Command(("sh", "-c", _WRITE, "sh", note.name), stdin=note.text, deadline=10)


def read() -> Command:
    """The command that prints every note on a host, one a line."""
    return Command(("sh", "-c", _READ), deadline=10)


def remove(original: Original, link_address: str) -> Command:
    """The command that takes the note about `original` away."""
    return Command(("sh", "-c", _REMOVE, "sh", _file_name(original, link_address)), deadline=10)


def notes(completed: Completed) -> tuple[list[dict[str, Any]], str]:
    """The notes in what `read` printed, last change first; and what is wrong with others, or ""."""
    whole, wrong = list[dict[str, Any]](), ""
    for line in completed.stdout.splitlines():
        try:
            note = decoding.parsed(line)
            if not decoding.has(note, Note):
                raise ValueError
            note.setdefault("order", 0)
            whole.append(note)
        except ValueError:
            wrong = (
                f"{completed.host}: a note in its netlimits folder is damaged: {line[:80]!r}; "
                "its campaign's results know what it said: `netlimits restore RESULTS`; it lies in "
                "/run/netlimits (root) or ~/.local/state/netlimits"
            )
    return sorted(whole, key=lambda note: note["order"], reverse=True), wrong


def beyond(original: Original, now: State) -> str:
    """What a note would restore although no setting of ours removes it; "" for nothing.

    A note may be another's: in `now`, what is there at first look, such a thing would have to be
    missing for a reason that is not there. It is for a person to decide.
    """
    if original.setting == "route":
        routes = original.state["routes"]
        gone = [r for r, metrics in routes.items() if "?" not in metrics and r not in now["routes"]]
        return f"the route {gone[0]} is not there, and settings make none" if gone else ""
    if original.setting == "mtu":
        was, is_ = original.state["ipv6"]["conf"], now["ipv6"]["conf"]
        name = "conf/forwarding"
        if name in was and is_.get(name, was[name]) != was[name]:
            return f"net/ipv6/{name} is {is_[name]}, not {was[name]}, and settings change it not"
    return ""


def _file_name(original: Original, link_address: str) -> str:
    place = "\0".join((link_address, *original.place))
    return f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
