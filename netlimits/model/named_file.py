"""Read a file that a user names, without waiting for a pipe, a device or a kernel file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

QUICK = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Do not wait for a pipe's other end, acquire a terminal, or leak into a child process."""


def read_all(path: Path, limit: int) -> bytes:
    """Return all bytes of a file. Raises OSError for more than `limit`.

    /dev/null and the files of /proc count as empty.
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
    """Return the first `limit + 1` bytes: the last one shows that the file is larger than `limit`.

    Raises OSError for an empty file, such as those in /proc, and for anything but a regular file.
    """
    _refuse(path.stat(), path)  # opening a pipe or device could already have an effect
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
