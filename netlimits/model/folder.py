"""Read and write private files in a folder that may contain malicious links.

Another user may have put links, pipes or devices into a results folder. So `Folder` follows no
symbolic link within the folder, and opens only regular files. To replace a file atomically, it
writes a new file and renames it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from netlimits.model.named_file import QUICK

DATA_LIMIT = 2**34
"""Maximum size in bytes of a file to checksum. Ten million runs give no larger file."""

_LIMITS = {".json": 64 * 2**20, ".yaml": 64 * 2**20}


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with untrusted content. Names are relative to it, such as `raw/000001-1`.

    Methods raise OSError for a name that they reject; `strerror` gives the reason.
    """

    path: Path

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open a regular file and return its descriptor.

        For writing, the file must have no second hard link, since writing would change another
        file's content.
        """
        with self._within(name) as (folder, last):
            _refuse_strange(os.stat(last, dir_fd=folder, follow_symlinks=False), name)
            number = os.open(last, flags | os.O_NOFOLLOW | QUICK, dir_fd=folder)
        try:
            about = os.fstat(number)
            _refuse_strange(about, name)
            if flags & (os.O_WRONLY | os.O_RDWR) and about.st_nlink != 1:
                raise OSError(errno.EMLINK, "has a second name elsewhere (a hard link)", name)
        except BaseException:
            os.close(number)
            raise
        return number

    def reader(self, name: str) -> BufferedReader:
        return os.fdopen(self.open(name), "rb")

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a file. Raises ValueError if it has more than `limit` bytes."""
        with self.reader(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"is larger than {limit >> 20} MiB")
        return data

    def digest(self, name: str) -> str:
        """Return the SHA-256 of a file in hex. Raises OSError if the file is too large."""
        limit = _LIMITS.get(PurePosixPath(name).suffix, DATA_LIMIT)
        with self.reader(name) as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise OSError(errno.EFBIG, f"is larger than {limit >> 20} MiB", name)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def names(self, name: str) -> list[str]:
        with self._within(f"{name}/.") as (folder, _):
            return os.listdir(folder)  # noqa: PTH208  a descriptor, which no Path is

    def make(self, name: str) -> None:
        """Create a subfolder that only its owner can access. Do nothing if it exists."""
        with self._within(name) as (folder, last):
            try:
                os.mkdir(last, 0o700, dir_fd=folder)
            except FileExistsError:
                if not stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise OSError(errno.ENOTDIR, "is no folder", name) from None

    @contextmanager
    def atomic(self, name: str) -> Iterator[BinaryIO]:
        """Yield a new file for writing. On success it replaces `name`; on error it is removed."""
        with self._within(name) as (folder, last):
            temporary = f".{os.getpid()}.{last}"
            with suppress(FileNotFoundError):  # left by a killed process that had the same id
                os.unlink(temporary, dir_fd=folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            number = os.open(temporary, flags, 0o600, dir_fd=folder)
            try:
                with os.fdopen(number, "w+b") as file:
                    os.fchmod(number, 0o600)  # regardless of the umask
                    yield cast(BinaryIO, file)
                    file.flush()
                    os.fsync(number)
                os.rename(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)

    def write(self, name: str, data: bytes | str) -> None:
        with self.atomic(name) as file:
            file.write(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)

    def sync(self, name: str) -> None:
        """Write the directory entries of a subfolder to disk with fsync."""
        with self._within(f"{name}/.") as (folder, _):
            os.fsync(folder)

    def remove(self, name: str) -> None:
        """Remove a file or a link (not its target). Do nothing if `name` does not exist."""
        with self._within(name) as (folder, last), suppress(FileNotFoundError):
            os.unlink(last, dir_fd=folder)

    @contextmanager
    def _within(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder that contains `name`, and the last part of `name`.

        If `name` ends in `/.`, the descriptor is that of the folder `name`. Links are not followed.
        """
        *steps, last = PurePosixPath(name).parts if not name.endswith("/.") else (*name.split("/"),)
        if (not steps and not last) or ".." in (*steps, last) or name.startswith("/"):
            raise OSError(errno.EINVAL, "is no name in a folder", name)
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for step in steps:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                try:
                    inner = os.open(step, flags, dir_fd=folder)
                except OSError as error:
                    if error.errno in (errno.ENOTDIR, errno.ELOOP):
                        why = f"{step} is a link or no folder, and was not entered"
                        raise OSError(error.errno, why, name) from None
                    raise
                os.close(folder)
                folder = inner
            yield folder, last
        finally:
            os.close(folder)


def _refuse_strange(about: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(about.st_mode):
        raise OSError(errno.ELOOP, "is a link, which is not followed here", name)
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", name)
