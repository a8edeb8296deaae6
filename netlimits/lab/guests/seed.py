"""Initial file systems of machines: cpio archives with each machine's name, addresses and keys.

Documentation/driver-api/early-userspace/buffer-format.rst of the kernel specifies the format. An
initial file system may consist of several archives. Here the common archive comes first, and an
archive with the machine's own files follows. At every boot, its folder /host is copied to /etc.
"""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from netlimits.lab.layout import DATA_LINK, MANAGEMENT_LINK, Lab

INITIAL = "initrd"
"""The machine's own initial file system, in its folder."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or a folder if `content` is None, that belongs to root."""

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


def write(lab: Lab, host: str, initial: Path) -> None:
    own = archive(_entries(lab, host))
    target = lab.host_folder(host) / INITIAL
    target.touch(0o600)  # it holds the host's key
    target.write_bytes(initial.read_bytes() + own)


def _entries(lab: Lab, host: str) -> list[Entry]:
    folder = lab.host_folder(host)
    values = {
        "name": lab.namespace(host),
        "management_link": lab.link_address(host, MANAGEMENT_LINK),
        "data_link": lab.link_address(host, DATA_LINK),
        "management": lab.management(host),
        "data": lab.data(host),
        "mtu": lab.mtu,
    }
    variables = "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in values.items())
    return [
        Entry("host/hostname", f"{lab.namespace(host)}\n".encode(), 0o644),
        Entry("host/hosts", ("\n".join(lab.etc_hosts(host)) + "\n").encode(), 0o644),
        Entry("host/netlimits"),
        Entry("host/netlimits/host", variables.encode(), 0o644),
        Entry("host/netlimits/management", lab.management(host).encode(), 0o644),
        Entry("host/ssh"),
        Entry("host/ssh/host_key", (folder / "host_key").read_bytes(), 0o600),
        Entry("host/ssh/authorized_keys", lab.key.with_suffix(".pub").read_bytes(), 0o644),
    ]
