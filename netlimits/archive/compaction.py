"""Compact the journal of a running campaign into parts, and its raw output into packs.

Compaction only makes reading faster. If it fails, the campaign continues and retries it later. The
raw output of the last part and of newer attempts stays in files, since people look at the newest
runs.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from itertools import islice

from netlimits import __version__
from netlimits.archive import columns, formats, parts, raw
from netlimits.archive.columns import ATTEMPTS, INTERIM, JournalSection
from netlimits.archive.formats import PartFile
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import Attempt, Part
from netlimits.archive.raw import RawOutput
from netlimits.errors import ArchiveError, one_line

PACKS = 2
"""Maximum number of packs per call: a resumed campaign may have many files to pack at first."""


class Compaction:
    """The compaction of a campaign by the process that holds its journal's lock.

    `on_part` is called with the checksum of each part that this process wrote.
    """

    def __init__(self, journal: Journal, output: RawOutput, sync: Callable[[], int]) -> None:
        """`sync` writes the journal to disk and returns its size; no part extends beyond that."""
        self.last: Part | None = None
        self.problem = ""
        self.on_part: Callable[[str], object] = lambda _: None
        self._journal = journal
        self._raw = output
        self._sync = sync
        self._not_before = 0

    def roll(self) -> bool:
        """Write the next part and a few packs if they are due; return True if it wrote a part."""
        with self._errors_kept():
            if self._due() and self._write_part():
                with suppress(OSError, ArchiveError):
                    for _ in islice(self._pack(), PACKS):
                        pass
                return True
        return False

    def roll_all(self) -> None:
        """Write all parts and packs that are due, including parts that are missing or damaged."""
        self.last, self._not_before = None, 0
        with self._errors_kept():
            for part in parts.each(self._journal):
                if not all(columns.intact(self._journal, part, n) for n in (ATTEMPTS, INTERIM)):
                    break
                self.last = part
            while self._due() and self._write_part():
                pass
            for _ in self._pack():
                pass

    @contextmanager
    def _errors_kept(self) -> Iterator[None]:
        """Store any error as `problem` instead of raising it, so that the campaign continues."""
        try:
            yield
        except Exception as error:
            self.problem = one_line(error) or repr(error)
            self._not_before = self._journal.head.lines + parts.ATTEMPTS // 2

    def _due(self) -> bool:
        head = self._journal.head
        return head.lines >= self._not_before and _enough(self._end(), head)

    def _end(self) -> Head:
        return self.last.end if self.last else Head()

    def _write_part(self) -> bool:
        """Write the next part; return False if the lines so far are too few for a part."""
        durable, begin = self._sync(), self._end()
        section = JournalSection(self.last.about if self.last else None)
        head = replace(begin)
        for number, line in self._journal.lines(begin, durable):
            event = formats.event(line)
            if event is None:
                raise ArchiveError(
                    f"{self._journal.path}:{number}: is damaged; restore the file from a copy"
                )
            if event["event"] == "imported":
                break  # imported results have no parts
            section.add(event)
            head.add(line)
            if event["event"] in ("end", "parsed") and _enough(begin, head):
                place = (self.last.number + 1 if self.last else 1, begin, head)
                self.last, self.problem = _write(self._journal, *place, section), ""
                self.on_part(self.last.about["sha256"])
                return True
        self._not_before = self._journal.head.lines + 1
        return False

    def _pack(self) -> Iterator[None]:
        """Pack the raw output of the parts before the last one; yield after each pack."""
        self._raw.finish()
        last = self.last.number if self.last else 0
        runs = sorted(run for run, _ in raw.files(self._raw.names()))
        for part in islice(parts.each(self._journal), max(last - 1, 0)):
            low, high = part.about["runs"] or (1, 0)
            after = bisect_left(runs, low)
            among = after < len(runs) and runs[after] <= high
            if among and self._raw.pack(self._attempts(part)):
                yield

    def _attempts(self, part: Part) -> Iterator[Attempt]:
        table = columns.of_part(self._journal, part).table(columns.KEY)
        return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _enough(begin: Head, head: Head) -> bool:
    many = head.lines - begin.lines >= 2 * parts.ATTEMPTS
    return many or head.size - begin.size >= parts.SIZE


def _write(
    journal: Journal,
    number: int,
    begin: Head,
    end: Head,
    section: JournalSection,
) -> Part:
    folder = journal.folder
    folder.make(parts.FOLDER)
    counts = parts.counts(section)
    section.close(include_running=False)
    files: list[PartFile | None] = [None, None]
    names = Part(number, {}).names  # type: ignore[typeddict-item]
    for which, name in enumerate(names):
        table, kinds = section.table(which)
        if table.num_rows:
            data, files[which] = columns.parquet(table, kinds)
            folder.write(name, data)
        else:
            folder.remove(name)
    about = {
        "netlimits": __version__,
        "begin": astuple(begin),
        "end": astuple(end),
        "attempts": files[ATTEMPTS],
        "interim": files[INTERIM],
        **counts,
    }
    about = json.loads(json.dumps(about))  # tuples become lists, as in the file
    about["sha256"] = formats.digest(about)
    folder.write(parts.json_name(number), json.dumps(about))
    return Part(number, about)
