"""Write archives that the kernel unpacks at boot: cpio's "newc" format.

Documentation/driver-api/early-userspace/buffer-format.rst of the kernel specifies the format.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of root, or a folder if `content` is None."""

    path: str
    content: bytes | None = None
    mode: int = 0o755


def archive(entries: Iterable[Entry]) -> bytes:
    """Return an archive, padded to a multiple of 512 bytes. A folder must precede its content."""
    parts = [_member(number, entry) for number, entry in enumerate(entries, 1)]
    parts.append(_padded(_head(0, 0, 0, "TRAILER!!!")))
    data = b"".join(parts)
    return data + bytes(-len(data) % 512)


def _member(number: int, entry: Entry) -> bytes:
    kind = stat.S_IFDIR if entry.content is None else stat.S_IFREG
    content = entry.content or b""
    head = _head(number, kind | entry.mode, len(content), entry.path)
    return _padded(head) + _padded(content)


def _head(number: int, mode: int, size: int, path: str) -> bytes:
    name = path.encode() + b"\0"
    # inode, mode, uid, gid, links, time, size, device (2), special device (2), name's length, sum
    fields = (number, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name), 0)
    return b"070701" + "".join(f"{field:08X}" for field in fields).encode() + name


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)
