"""A journal's lines: numbered, chained by checksums, appended with one write each.

    {"n":17,"crc":"5f0c3a9e","event":"end","at":1795258333.53,…}

`n` counts from 1. `crc` is the CRC-32 of the rest of the line, seeded with that of the previous
line, so it covers the whole journal up to here. Missing lines at the end are detected by `store`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from netlimits.archive import formats
from netlimits.errors import ArchiveError, ArchiveInUse, ArchiveUnwritable, one_line
from netlimits.model.folder import Folder

NAME = "journal.jsonl"
LINE_LIMIT = 2**30
"""Maximum bytes of an event; an import of a million runs takes a third of this limit."""

_ENVELOPE = re.compile(rb'\{"n":([1-9][0-9]{0,18}),"crc":"([0-9a-f]{8})",')


@dataclass(slots=True)
class Head:
    """A position between lines: lines and bytes before it, CRC and offset of the last line."""

    lines: int = 0
    size: int = 0
    crc: int = 0
    last: int = 0

    def sealed(self, body: bytes) -> bytes:
        """Return an event's JSON as the next line, including the newline."""
        rest = body[1:]
        crc = zlib.crc32(rest, self.crc)
        return b'{"n":%d,"crc":"%08x",%s\n' % (self.lines + 1, crc, rest)

    def problem(self, line: bytes) -> str:
        """Return the problem of a line that should be the next one, "" if there is none."""
        match = _ENVELOPE.match(line)
        if not match:
            return "is damaged"
        number, due = int(match[1]), self.lines + 1
        if number > due:
            lost = "line" if number == due + 1 else f"{number - due} lines"
            return f"is line {number} of this journal: the {lost} before it {_are(number - due)}"
        if number < due:
            return f"is line {number} of this journal: it is duplicated, or was moved"
        if zlib.crc32(line[match.end() :].removesuffix(b"\n"), self.crc) != int(match[2], 16):
            return "was changed: its checksum is wrong"
        return ""

    def add(self, line: bytes) -> None:
        """Advance past a line that has no problem."""
        self.lines += 1
        self.last = self.size
        self.size += len(line)
        match = _ENVELOPE.match(line)
        assert match
        self.crc = int(match[2], 16)

    def is_in(self, file: BinaryIO) -> bool:
        """Return True if the journal in `file` has a line with this checksum that ends here.

        The checksum also covers all previous lines.
        """
        envelope = b'{"n":%d,"crc":"%08x",' % (self.lines, self.crc)
        try:
            begin = os.pread(file.fileno(), len(envelope), self.last)
            end = os.pread(file.fileno(), 1, self.size - 1)
        except (OSError, OverflowError):
            return False
        return begin == envelope and end == b"\n"


def _are(count: int) -> str:
    return "is lost" if count == 1 else "are lost"


@dataclass(slots=True)
class Journal:
    """The journal of a folder, which this process can append to while it holds the lock."""

    folder: Folder
    head: Head = field(default_factory=Head)
    _file: IO[bytes] | None = None
    _pending: bool = False
    _lost: str = ""

    @property
    def path(self) -> Path:
        return self.folder.path / NAME

    # -- reading ------------------------------------------------------------------------------

    def lines(
        self, begin: Head | None = None, end: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (number, line) of every complete line from `begin` to the byte `end`."""
        try:
            with self.folder.reader(NAME) as file:
                head = replace(begin or Head())
                file.seek(head.size)
                yield from self._lines(file, head, end)
        except OSError as error:
            raise ArchiveError(f"{self.path}: {one_line(error)}") from None

    def _lines(
        self, file: BinaryIO | IO[bytes], head: Head, end: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        size = os.fstat(file.fileno()).st_size
        while end is None or head.size < end:
            number = head.lines + 1
            if size - head.size > LINE_LIMIT and cast(BufferedReader, file).peek(1)[:1] != b"{":
                # a damaged file may have a large hole, which would take minutes to read
                raise self._damaged(number, "is damaged")
            if not (line := file.readline(LINE_LIMIT)):
                return
            if not line.endswith(b"\n") and len(line) < LINE_LIMIT:
                if not head.problem(line[:-1]):
                    raise self._damaged(number, "was changed: it has no end")
                return
            if problem := head.problem(line):
                raise self._damaged(number, problem)
            head.add(line)
            yield number, line

    def _damaged(self, number: int, problem: str) -> ArchiveError:
        return ArchiveError(f"{self.path}:{number}: {problem}; restore the file from a copy")

    def events(
        self, begin: Head | None = None, end: int | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (line number, event). Raises ArchiveError with the number of a damaged line."""
        for number, line in self.lines(begin, end):
            event = formats.event(line)
            if event is None:
                raise self._damaged(number, "is damaged")
            yield number, event

    def having(self, text: bytes, begin: Head | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events whose line contains the text; other lines are not parsed."""
        for _, line in self.lines(begin):
            if text in line and (event := formats.event(line)):
                yield event

    # -- appending ----------------------------------------------------------------------------

    def lock(self, begin: Head | None = None) -> None:
        """Lock the journal for this process, and cut off an incomplete last line.

        The lines after `begin` are checked. Raises ArchiveInUse if another process has the lock.
        """
        try:
            file = os.fdopen(self.folder.open(NAME, os.O_RDWR), "r+b", buffering=0)
        except OSError as error:
            raise ArchiveError(f"{self.path}: {one_line(error)}") from None
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArchiveInUse(
                    f"{self.folder.path}: another netlimits is running this campaign; wait for it "
                    "or end it"
                ) from None
            self.head = replace(begin or Head())
            with os.fdopen(os.dup(file.fileno()), "rb") as reader:
                reader.seek(self.head.size)
                for _ in self._lines(reader, self.head):
                    pass
            file.truncate(self.head.size)
            file.seek(0, os.SEEK_END)
        except OSError as error:
            file.close()
            raise ArchiveError(f"{self.path}: {one_line(error)}") from None
        except BaseException:
            file.close()
            raise
        self._file = file

    def close(self) -> None:
        if self._file:
            with suppress(ArchiveUnwritable):  # callers that need this error call `sync` first
                self.sync()
            self._file.close()
            self._file = None

    def append(self, event: dict[str, Any], *, durable: bool = True) -> None:
        """Append an event with one write; a `durable` event is on disk when this returns."""
        assert self._file, "lock() comes first"
        self._refuse_lost()
        body = json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace")
        line = self.head.sealed(body)
        end = self._file.seek(0, os.SEEK_END)
        syncing = False
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                syncing = True
                os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(end)  # an incomplete line must not precede the next line
            problem = f"{self.path}: {error.strerror}"
            if syncing and self._pending:  # the failed sync may also have lost earlier events
                self._lost = problem
            raise ArchiveUnwritable(problem) from None
        self._pending = not durable
        self.head.add(line)

    def sync(self) -> None:
        """Write all appended events to disk. After a failure each call raises ArchiveUnwritable."""
        self._refuse_lost()
        if not self._pending or not self._file:
            return
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._lost = f"{self.path}: {error.strerror}"
        self._refuse_lost()
        self._pending = False

    def _refuse_lost(self) -> None:
        """Raise ArchiveUnwritable if the kernel once failed to write lines to disk."""
        if self._lost:
            raise ArchiveUnwritable(self._lost)
