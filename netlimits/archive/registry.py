"""The campaigns that this user began on this machine, and how their folders were left.

A results folder names logins: names for ssh, a configuration of ssh with commands in it. From
somebody else they would be theirs to choose. So what a campaign began with is written down outside
of its folder too, in the user's own state folder ($XDG_STATE_HOME/netlimits/campaigns, mode 0700):

    ID.json   the checksums of campaign.json and of each ssh_config that it names, with all that
              these include; the inode of the journal, and how far it went when a netlimits last
              let go of it, with its SHA-256

A folder is the user's own where all of that holds: its campaign.json and the configurations of ssh
are unchanged, and its journal is that very file (wherever the folder was moved to), or, in a copy,
goes exactly as far. Then its logins are used as they were; else whoever restores or resumes says
which hosts count.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from netlimits.archive.journal import BlockDigest
from netlimits.model import decoding
from netlimits.model.folder import Folder
from netlimits.model.named_file import whole

LIMIT = 2**20
"""Bytes of an entry, and of a configuration of ssh."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A campaign's entry in the registry: checksums, and its journal's inode and extent."""

    id: str
    folder: str
    campaign: str
    logins: dict[str, str]
    inode: int
    lines: int
    size: int
    sha256: str
    changed: int = 0
    """When the journal was last changed by then, in ns of its file system (ctime); 0: not known."""
    part: str = ""
    """The checksum of the last part that was written here (archive.parts): what it says counts."""


def place() -> Path:
    """The folder of the registry."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return base / "netlimits" / "campaigns"


def begun(
    identity: str, folder: Folder, campaign: str, extent: tuple[int, int, str]
) -> Registration:
    """The entry of a campaign whose journal has this extent: lines, bytes, SHA-256.

    `campaign` is the SHA-256 of its campaign.json. Raises OSError.
    """
    with folder.reader("journal.jsonl") as journal:
        inode = os.fstat(journal.fileno()).st_ino
    return Registration(identity, str(folder.path.absolute()), campaign, {}, inode, *extent)


def write(entry: Registration, configurations: Iterable[Path] = ()) -> None:
    """Write down a campaign of ours and the configurations of ssh that it logs in by.

    Raises OSError, and ValueError for such a configuration that cannot be.
    """
    _keep(replace(entry, logins={str(path): _digest(path) for path in configurations}))


def extend(entry: Registration, folder: Folder, lines: int, size: int, sha256: str) -> None:
    """Register how far a campaign's journal goes by now. Raises OSError."""
    with folder.reader("journal.jsonl") as journal:
        changed = os.fstat(journal.fileno()).st_ctime_ns
    _keep(replace(entry, lines=lines, size=size, sha256=sha256, changed=changed))


def rolled(entry: Registration, part: str) -> Registration:
    """Register a part of its journal by its checksum; the entry with it. Raises OSError."""
    _keep(extended := replace(entry, part=part))
    return extended


def entry(identity: str) -> Registration | None:
    """A campaign's entry; None if this user did not begin it on this machine."""
    registry = place()
    try:
        about = registry.stat()
        if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o022:
            return None
        content = Folder(registry).read(f"{identity}.json", LIMIT)
        registration = decoding.typed(content, Registration)
    except (OSError, ValueError):
        return None
    return registration if registration.id == identity else None


def doubt(registration: Registration | None, folder: Folder) -> str:
    """Why a folder is not, or no longer, the one that was registered; "" when it is.

    Raises OSError for a folder that cannot be read.
    """
    if registration is None:
        return "it was not begun here by you"
    if folder.digest("campaign.json") != registration.campaign:
        return "its campaign.json is not what it was when you began it"
    for path, digest in registration.logins.items():
        try:
            changed = _digest(Path(path)) != digest
        except (OSError, ValueError):
            return f"{path}, which it logs in by, is gone or cannot be read"
        if changed:
            return f"{path}, which it logs in by, was changed since it began"
    if not _continues(registration, folder):
        return "its journal is not the one that was written here"
    return ""


def _continues(registration: Registration, folder: Folder) -> bool:
    """Whether the journal is the file that was written here, or a copy that holds no more."""
    with folder.reader("journal.jsonl") as file:
        about = os.fstat(file.fileno())
        same = about.st_ino == registration.inode
        if not same and about.st_size != registration.size:
            return False
        if same and (about.st_size, about.st_ctime_ns) == (registration.size, registration.changed):
            return True  # nothing was written since
        blocks, left = BlockDigest(), registration.size
        while left and (part := file.read(min(left, 2**20))):
            blocks.update(part)
            left -= len(part)
    return not left and registration.sha256 == blocks.hexdigest()


def _keep(entry: Registration) -> None:
    registry = place()
    registry.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = registry.stat()
    if about.st_uid != os.geteuid():
        raise PermissionError(1, "belongs to somebody else", str(registry))
    if stat.S_IMODE(about.st_mode) & 0o077:
        registry.chmod(0o700)
    fields: dict[str, Any] = asdict(entry)
    Folder(registry).write(f"{entry.id}.json", json.dumps(fields, indent=1) + "\n")


def _digest(path: Path) -> str:
    return hashlib.sha256(whole(path, LIMIT)).hexdigest()
