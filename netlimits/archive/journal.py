"""A journal's lines: numbered, chained by checksums, appended one write at a time.

    {"n":17,"crc":"5f0c3a9e","event":"end","at":1795258333.53,…}

`n` counts from 1 without a gap. `crc` is the CRC-32 of all that follows it on its line, begun with
the line before's: so it stands for the whole journal up to here. A line that was lost, doubled,
moved or changed is found without reading its JSON, and named. What no line can tell is that the
last ones are gone; that is held against what else knows of them (archive).
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from netlimits.archive import formats
from netlimits.archive.blocks import BlockDigest
from netlimits.errors import ArchiveError, ArchiveInUse, ArchiveUnwritable, one_line
from netlimits.model.folder import Folder

NAME = "journal.jsonl"
LINE_LIMIT = 2**30
"""Bytes of one event: an import of a million runs is a third of that."""

_ENVELOPE = re.compile(rb'\{"n":([1-9][0-9]{0,18}),"crc":"([0-9a-f]{8})",')


@dataclass(slots=True)
class Head:
    """How far a journal goes: lines, bytes, the last line's checksum and where it begins."""

    lines: int = 0
    size: int = 0
    crc: int = 0
    last: int = 0

    def sealed(self, body: bytes) -> bytes:
        """An event's JSON as the next line, with its newline."""
        rest = body[1:]
        crc = zlib.crc32(rest, self.crc)
        return b'{"n":%d,"crc":"%08x",%s\n' % (self.lines + 1, crc, rest)

    def problem(self, line: bytes) -> str:
        """What is wrong with a line that should come next; "" when nothing is."""
        match = _ENVELOPE.match(line)
        if not match:
            return "is damaged"
        number, due = int(match[1]), self.lines + 1
        if number > due:
            lost = "line" if number == due + 1 else f"{number - due} lines"
            return f"is line {number} of this journal: the {lost} before it {_are(number - due)}"
        if number < due:
            return f"is line {number} of this journal: it is there twice, or was moved"
        if zlib.crc32(line[match.end() :].removesuffix(b"\n"), self.crc) != int(match[2], 16):
            return "was changed: its checksum does not hold"
        return ""

    def add(self, line: bytes) -> None:
        """Count a line that has no problem."""
        self.lines += 1
        self.last = self.size
        self.size += len(line)
        match = _ENVELOPE.match(line)
        assert match
        self.crc = int(match[2], 16)


def _ends(file: int, head: Head) -> bool:
    envelope = b'{"n":%d,"crc":"%08x",' % (head.lines, head.crc)
    try:
        begin, end = os.pread(file, len(envelope), head.last), os.pread(file, 1, head.size - 1)
    except (OSError, OverflowError):
        return False
    return begin == envelope and end == b"\n"


def _are(count: int) -> str:
    return "is lost" if count == 1 else "are lost"


@dataclass(slots=True)
class Journal:
    """The journal of a folder, for reading, and for appending while it is locked."""

    folder: Folder
    head: Head = field(default_factory=Head)
    digest: BlockDigest = field(default_factory=BlockDigest)
    """The checksum of it all, kept up while it is locked."""
    _file: IO[bytes] | None = None
    _pending: bool = False
    _lost: str = ""

    @property
    def path(self) -> Path:
        """Where it lies, as errors name it."""
        return self.folder.path / NAME

    # -- reading ------------------------------------------------------------------------------

    def lines(
        self, begin: Head | None = None, end: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """(number, line) of every whole line, each held against its checksum.

        From a place on that is known (`begin`), and up to `end` bytes where it is said. A torn last
        line is left out. Raises ArchiveError naming the line that is wrong.
        """
        try:
            with self.folder.reader(NAME) as file:
                head = replace(begin or Head())
                file.seek(head.size)
                yield from self._lines(file, head, end)
        except OSError as error:
            raise ArchiveError(f"{self.path}: {one_line(error)}") from None

    def ends(self, heads: Iterable[Head]) -> Iterator[bool]:
        """Of each of these places whether it is the end of a line, as it says.

        A line's checksum stands for all before it, so that nothing else is read.
        """
        with suppress(OSError), self.folder.reader(NAME) as file:
            number = file.fileno()
            for head in heads:
                yield _ends(number, head)

    def _lines(
        self, file: BinaryIO | IO[bytes], head: Head, end: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        size = os.fstat(file.fileno()).st_size
        while end is None or head.size < end:
            number = head.lines + 1
            if size - head.size > LINE_LIMIT and cast(BufferedReader, file).peek(1)[:1] != b"{":
                raise ArchiveError(f"{self.path}:{number}: is damaged")  # holes, read for minutes
            if not (line := file.readline(LINE_LIMIT)):
                return
            if not line.endswith(b"\n") and len(line) < LINE_LIMIT:
                if not head.problem(line[:-1]):
                    raise ArchiveError(f"{self.path}:{number}: was changed: it has no end")
                return
            if problem := head.problem(line):
                raise ArchiveError(f"{self.path}:{number}: {problem}")
            head.add(line)
            yield number, line

    def events(
        self, begin: Head | None = None, end: int | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, event) in order. Raises ArchiveError naming the line of one that is damaged."""
        for number, line in self.lines(begin, end):
            event = formats.event(line)
            if event is None:
                raise ArchiveError(f"{self.path}:{number}: is damaged")
            yield number, event

    def extensions(self, begin: Head | None = None) -> list[dict[str, Any]]:
        """Each `extended` event, without the time that it takes to read the JSON of all others."""
        lines = [line for _, line in self.lines(begin) if b'"extended"' in line]
        events = (formats.event(line) for line in lines)
        return [event for event in events if event and event["event"] == "extended"]

    # -- appending ----------------------------------------------------------------------------

    def lock(self, begin: Head | None = None, digest: BlockDigest | None = None) -> None:
        """Open it for appending, for this process alone; cut off a torn last line.

        It is read from a place on that is known (`begin`, and the `digest` up to a place before).
        Raises ArchiveError when another process holds it, it cannot be written, or is damaged.
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
            self.head, self.digest = replace(begin or Head()), digest or BlockDigest()
            with os.fdopen(os.dup(file.fileno()), "rb") as whole:
                whole.seek(self.digest.size)
                self.digest.update(whole.read(self.head.size - self.digest.size))
                for _, line in self._lines(whole, self.head):
                    self.digest.update(line)
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
        """Let go of it."""
        if self._file:
            with suppress(ArchiveUnwritable):  # whoever must know of it has called sync
                self.sync()
            self._file.close()
            self._file = None

    def append(self, event: dict[str, Any], *, durable: bool = True) -> None:
        """Add one event, in one write, and have it on disk when this returns.

        One that is not `durable` by itself is on disk with the next one, or after `sync`. Raises
        ArchiveUnwritable, with nothing added.
        """
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
            self._file.truncate(end)  # half a line must not stand before the next one
            why = f"{self.path}: {error.strerror}"
            if syncing and self._pending:  # those before it may be lost, too
                self._lost = why
            raise ArchiveUnwritable(why) from None
        self._pending = not durable
        self.head.add(line)
        self.digest.update(line)

    def sync(self) -> None:
        """Have all that was appended on disk. Raises ArchiveUnwritable, from then on always."""
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
        """The kernel tells once that lines did not reach the disk; it would be silent later."""
        if self._lost:
            raise ArchiveUnwritable(self._lost)
