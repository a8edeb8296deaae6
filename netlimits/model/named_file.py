"""Read a regular file that the user named; never wait for a pipe, a device or a file in /proc."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

QUICK = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags for opening a file.

The call does not wait for the other end of a pipe, and does not acquire a controlling terminal.
Child processes do not inherit the descriptor.
"""


def read_all(path: Path, limit: int) -> bytes:
    """Return the content of a file. Raises OSError if it has more than `limit` bytes.

    Return b"" for /dev/null and for files with size 0, which includes the files in /proc.
    """
    if str(path) == os.devnull:
        return b""
    try:
        data = read_at_most(path, limit)
    except OSError as error:
        if error.errno == errno.ENODATA:
            return b""
        raise
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"is larger than {limit >> 10} KiB", str(path))
    return data


def read_at_most(path: Path, limit: int) -> bytes:
    """Return up to `limit + 1` bytes of a file; `limit + 1` bytes mean that it is too large.

    Raises OSError if the file is no regular file, or if its size is 0, as for files in /proc.
    """
    _refuse(path.stat(), path)  # before `open`, which already affects some pipes and devices
    number = os.open(path, os.O_RDONLY | QUICK)
    with os.fdopen(number, "rb") as file:
        about = os.fstat(number)
        _refuse(about, path)
        return file.read(min(limit + 1, about.st_size))


def _refuse(about: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise OSError(errno.EISDIR, "is a folder", str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    if about.st_size == 0:
        raise OSError(errno.ENODATA, "is empty", str(path))
