"""The registry of campaigns that this user started on this machine.

A results folder names logins and an ssh configuration, which may run commands. In a folder from
another user, that user chose them. So netlimits registers each campaign that it starts in
$XDG_STATE_HOME/netlimits/campaigns/ID.json (mode 0700). A folder is the user's own, and its logins
are used, if campaign.json and the ssh configurations are unchanged and its journal is the
registered file or a copy of it. The folder may have been moved. For any other folder,
`--hosts FILE` names the hosts.
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

from netlimits.archive.journal import NAME
from netlimits.model import decoding
from netlimits.model.folder import Folder
from netlimits.model.named_file import read_all

LIMIT = 2**20
"""Maximum bytes of an entry, and of an ssh configuration."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A campaign's entry: checksums, and its journal's inode and length."""

    id: str
    folder: str
    campaign: str
    logins: dict[str, str]
    inode: int
    lines: int
    size: int
    sha256: str
    changed: int
    """The journal's ctime in ns when its lock was released."""
    part: str = ""
    """The checksum of the last part that this user's netlimits wrote (`Archive.own_part`)."""


def place() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return base / "netlimits" / "campaigns"


def begun(identity: str, folder: Folder, campaign: str, lines: int = 1) -> Registration:
    """Return the entry of a new campaign; `campaign` is the SHA-256 of campaign.json."""
    return Registration(
        identity, str(folder.path.absolute()), campaign, {}, **_journal(folder, lines)
    )


def write(entry: Registration, configurations: Iterable[Path] = ()) -> None:
    """Register a campaign with the ssh configurations of its logins."""
    _keep(replace(entry, logins={str(path): _digest(path) for path in configurations}))


def extend(entry: Registration, folder: Folder, lines: int) -> None:
    """Register the length of a journal that this process had locked. Raises OSError."""
    _keep(replace(entry, **_journal(folder, lines)))


def with_part(entry: Registration, part: str) -> Registration:
    """Register the part written last by its checksum; return the new entry. Raises OSError."""
    _keep(extended := replace(entry, part=part))
    return extended


def _journal(folder: Folder, lines: int) -> dict[str, Any]:
    with folder.reader(NAME) as journal:
        about = os.fstat(journal.fileno())
        return {
            "inode": about.st_ino,
            "lines": lines,
            "size": about.st_size,
            "changed": about.st_ctime_ns,
            "sha256": hashlib.file_digest(journal, "sha256").hexdigest(),
        }


def forget(identity: str) -> None:
    """Remove the entry of a campaign whose folder is being removed too. Raises OSError."""
    (place() / f"{identity}.json").unlink(missing_ok=True)


def entry(identity: str) -> Registration | None:
    """Return a campaign's entry, None if this user did not start it on this machine."""
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
    """Return why a folder is not the registered one, "" if it is."""
    if registration is None:
        return "you did not start it on this machine"
    if folder.digest("campaign.json") != registration.campaign:
        return "its campaign.json has changed since you started it"
    for path, digest in registration.logins.items():
        try:
            changed = _digest(Path(path)) != digest
        except (OSError, ValueError):
            return f"{path}, its ssh configuration, is missing or cannot be read"
        if changed:
            return f"{path}, its ssh configuration, has changed since it was started"
    if not _continues(registration, folder):
        return "its journal is not the one that was written here"
    return ""


def _continues(registration: Registration, folder: Folder) -> bool:
    """Return True if the journal is the registered file, perhaps with new lines, or a copy."""
    with folder.reader(NAME) as file:
        about = os.fstat(file.fileno())
        same = about.st_ino == registration.inode
        if not same and about.st_size != registration.size:
            return False
        if same and (about.st_size, about.st_ctime_ns) == (registration.size, registration.changed):
            return True  # unchanged since its lock was released
        digest, left = hashlib.sha256(), registration.size
        while left and (piece := file.read(min(left, 2**20))):
            digest.update(piece)
            left -= len(piece)
    return not left and registration.sha256 == digest.hexdigest()


def _keep(entry: Registration) -> None:
    registry = place()
    registry.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = registry.stat()
    if about.st_uid != os.geteuid():
        raise PermissionError(1, "belongs to another user", str(registry))
    if stat.S_IMODE(about.st_mode) & 0o077:
        registry.chmod(0o700)
    fields: dict[str, Any] = asdict(entry)
    Folder(registry).write(f"{entry.id}.json", json.dumps(fields, indent=1) + "\n")


def _digest(path: Path) -> str:
    return hashlib.sha256(read_all(path, LIMIT)).hexdigest()
