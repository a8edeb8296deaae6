"""What a campaign at work rolls up: its journal into parts, their raw output into packs.

It is for readers' sake alone: where it cannot be written, nothing is lost, and the campaign goes
on without. The raw output of the last part stays in files, with that of all after it: people look
at the newest runs. Another process does the work, and takes its memory along (archive.aside).
"""

from __future__ import annotations

import errno
import fcntl
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from netlimits.archive import parts, raw_output, rolling
from netlimits.archive.aside import aside
from netlimits.archive.packs import Attempt
from netlimits.archive.parts import Part
from netlimits.errors import ArchiveError, one_line
from netlimits.model.folder import Folder

if TYPE_CHECKING:
    from netlimits.archive.store import Archive

PACKS = 2
"""Packs at most that are written after a part: no run waits for long, and what a killed campaign
left in files is caught up with."""

LONGEST = 300.0
"""Seconds that a part and its packs may take."""


class Roller:
    """The rolling of one campaign by the process that holds its journal's lock.

    It keeps the `last` part: what a campaign takes of memory does not grow with its runs. `problem`
    says why the next one could not be written; it is tried again a quarter of a part later.
    """

    def __init__(self, archive: Archive) -> None:
        self.last: Part | None = None
        self.problem = ""
        self.on_part: Callable[[str], None] = lambda _: None
        self._archive = archive
        self._not_before = 0

    def roll(self) -> bool:
        """Write the next part, where there is enough for one, and packs; whether it was."""
        if not self._due():
            return False
        before = self.last.number if self.last else 0
        durable = self._archive.sync()  # a part tells of nothing that is not on disk
        what = (str(self._archive.path), before, durable, parts.ATTEMPTS)
        try:
            if not aside(_rolled_up, *what, longest=LONGEST):
                self._not_before = self._archive.journal.head.lines + 1  # it ends with an outcome
                return False
            self._accept(parts.part(self._archive.folder, before + 1))
        except Exception as error:  # whatever it is, the campaign goes on
            self._put_off(error)
            return False
        return True

    def roll_all(self) -> None:
        """Write every part and pack that is due, and parts again that are lost or damaged."""
        from netlimits.archive import chunks

        self.last, self._not_before = None, 0
        for kept in self._archive.parts():
            if not chunks.whole(self._archive, kept):
                break
            self.last = kept
        if not (self.last or self._due()):
            return
        durable = self._archive.sync()
        try:
            with _alone(self._archive.folder):
                journal = self._archive.journal
                while self._due():
                    part = rolling.next_part(journal, self.last, durable, parts.ATTEMPTS)
                    if not part:
                        break
                    self._accept(part)
                for _ in _packed(self._archive, self.last.number if self.last else 0):
                    pass
        except (OSError, ArchiveError) as error:
            self._put_off(error)

    def _due(self) -> bool:
        journal = self._archive.journal
        enough = rolling.due(rolling.end_of(self.last), journal.head, parts.ATTEMPTS)
        return enough and journal.head.lines >= self._not_before

    def _accept(self, part: Part | None) -> None:
        """Go on after this part. Raises OSError where it cannot be read."""
        if part is None:
            raise FileNotFoundError(errno.ENOENT, "the part was not written")
        self.last, self.problem = part, ""
        self.on_part(part.about["sha256"])

    def _put_off(self, error: Exception) -> None:
        self.problem = one_line(error) or repr(error)
        self._not_before = self._archive.journal.head.lines + parts.ATTEMPTS // 2


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """Be the only one to write parts and packs: that of a campaign that was killed may be at it.

    Raises OSError where somebody is.
    """
    folder.make(parts.FOLDER)
    with folder.lock_file(f"{parts.FOLDER}/.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(errno.EAGAIN, "another process is at its parts") from None
        yield


def _rolled_up(path: str, number: int, durable: int, attempts: int) -> bool:
    """Write the part after one, of a journal of which so many bytes are on disk, and packs.

    False where no outcome stands yet where the part would end.
    """
    from netlimits.archive.store import Archive

    archive = Archive.open(Path(path))
    with _alone(archive.folder):
        last = parts.part(archive.folder, number)
        if not rolling.next_part(archive.journal, last, durable, attempts):
            return False
        with suppress(OSError, ArchiveError):
            for _ in islice(_packed(archive, number + 1), PACKS):
                pass
    return True


def _packed(archive: Archive, last: int) -> Iterator[Part]:
    """Pack the raw output of the parts before the last one, as far as any of it is in files."""
    raw = archive.raw
    raw.finish()
    runs = sorted(run for run, _ in raw_output.files(raw.names()))
    for part in archive.parts()[: max(last - 1, 0)]:
        low, high = part.about["runs"] or (1, 0)
        after = bisect_left(runs, low)
        among = after < len(runs) and runs[after] <= high
        if among and raw.pack(_attempts(archive, part)):
            yield part


def _attempts(archive: Archive, part: Part) -> Iterator[Attempt]:
    """The attempts that a part tells of."""
    from netlimits.archive import chunks

    columns = chunks.of_part(archive, part).table(chunks.KEY).columns
    return zip(*(column.to_pylist() for column in columns), strict=True)
