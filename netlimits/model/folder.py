"""Files written whole or not at all, readable by their owner alone, and reached through no link.

A results folder may come from somebody else, who can have put links, pipes and devices into it.
`Folder` opens what lies in one: each step from the folder down is a folder itself and no link to
one, the last a regular file. What is replaced is written beside its place under a name that did not
exist, and moved there, so that nothing that was under either name is written through.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedRandom, BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from netlimits.model.named_file import QUICK

DATA_LIMIT = 2**34
"""Bytes of a file of a folder whose checksum is made: ten million runs take less."""

_LIMITS = {".json": 64 * 2**20, ".yaml": 64 * 2**20}
"""The same of files that are read as a whole, by their names' ends."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder whose content others may have made; names in it are relative, as `raw/000001-1`.

    Every method raises OSError whose `strerror` says what is wrong with the name.
    """

    path: Path

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """A regular file's descriptor. One to be written to must have no second name.

        Raises OSError for anything else.
        """
        with self._within(name) as (folder, last):
            _refuse_strange(os.stat(last, dir_fd=folder, follow_symlinks=False), name)
            number = os.open(last, flags | os.O_NOFOLLOW | QUICK, dir_fd=folder)
        try:
            about = os.fstat(number)
            _refuse_strange(about, name)
            if flags & (os.O_WRONLY | os.O_RDWR) and about.st_nlink != 1:
                raise OSError(
                    errno.EMLINK, "is a file with a second name elsewhere (a hard link)", name
                )
        except BaseException:
            os.close(number)
            raise
        return number

    def lock_file(self, name: str) -> BufferedRandom:
        """A regular file for locks, opened for writing, and made where it is not there."""
        with self._within(name) as (folder, last):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | QUICK
            number = os.open(last, flags, 0o600, dir_fd=folder)
        file = os.fdopen(number, "r+b")
        try:
            _refuse_strange(os.fstat(number), name)
        except BaseException:
            file.close()
            raise
        return file

    def reader(self, name: str) -> BufferedReader:
        """A regular file, opened for reading."""
        return os.fdopen(self.open(name), "rb")

    def read(self, name: str, limit: int) -> bytes:
        """A file's bytes. Raises ValueError for more than `limit`."""
        with self.reader(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"is larger than {limit >> 20} MiB")
        return data

    def digest(self, name: str) -> str:
        """The SHA-256 of a file, in hex. Raises OSError for one larger than any of ours."""
        limit = _LIMITS.get(PurePosixPath(name).suffix, DATA_LIMIT)
        with self.reader(name) as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise OSError(errno.EFBIG, f"is larger than {limit >> 20} MiB", name)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def names(self, name: str) -> list[str]:
        """What lies in a folder of this one."""
        with self._within(f"{name}/.") as (folder, _):
            return os.listdir(folder)  # noqa: PTH208  a descriptor, which no Path is

    def make(self, name: str) -> None:
        """Make a folder in it that its owner alone can enter; a folder that exists is kept.

        Raises OSError for what is there and is no folder.
        """
        with self._within(name) as (folder, last):
            try:
                os.mkdir(last, 0o700, dir_fd=folder)
            except FileExistsError:
                if not stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise OSError(errno.ENOTDIR, "is no folder", name) from None

    @contextmanager
    def whole(self, name: str) -> Iterator[BinaryIO]:
        """A file to write to, which is under its name, on disk, once all is well, else gone."""
        with self._within(name) as (folder, last):
            beside = f".{os.getpid()}.{last}"
            with suppress(FileNotFoundError):  # left by a process of this number that was killed
                os.unlink(beside, dir_fd=folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            number = os.open(beside, flags, 0o600, dir_fd=folder)
            try:
                with os.fdopen(number, "w+b") as file:
                    os.fchmod(number, 0o600)  # whatever the umask
                    yield cast(BinaryIO, file)
                    file.flush()
                    os.fsync(number)
                os.rename(beside, last, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(beside, dir_fd=folder)

    def write(self, name: str, data: bytes | str) -> None:
        """Write a file so that it is there whole or not at all."""
        with self.whole(name) as file:
            file.write(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)

    def sync(self, name: str) -> None:
        """Have on disk which files a folder of this one has."""
        with self._within(f"{name}/.") as (folder, _):
            os.fsync(folder)

    def remove(self, name: str) -> None:
        """Remove a file; of a link the name alone, while what it leads to stays."""
        with self._within(name) as (folder, last), suppress(FileNotFoundError):
            os.unlink(last, dir_fd=folder)

    @contextmanager
    def _within(self, name: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a name lies in, reached through no link, and its end.

        What leads to the results folder itself is the user's own affair, and may be a link.
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
                        why = f"{step} is a link or no folder, and is not entered"
                        raise OSError(error.errno, why, name) from None
                    raise
                os.close(folder)
                folder = inner
            yield folder, last
        finally:
            os.close(folder)


def _refuse_strange(about: os.stat_result, name: str) -> None:
    """Raise OSError for anything but a regular file."""
    if stat.S_ISLNK(about.st_mode):
        raise OSError(errno.ELOOP, "is a link, and nothing is opened through one here", name)
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", name)
