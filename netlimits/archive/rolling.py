"""The journal rolled into parts (archive.parts), a section after another.

Whoever holds the journal's lock does it when a run has ended. Other attempts may go on then (of a
mesh): they belong to the next part.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from netlimits import __version__
from netlimits.archive import formats, parts
from netlimits.archive.blocks import BlockDigest
from netlimits.archive.checksums import digest
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import Part
from netlimits.archive.tally import CUT_OFF, Tally
from netlimits.errors import ArchiveError

if TYPE_CHECKING:
    import pyarrow as pa

    Table = tuple[pa.Table, Mapping[str, str]]
    """Rows, and each column's kind (archive.columns)."""


class Stretch:
    """The lines of one part, read once: rows of attempts and of interim results, and the counts."""

    def __init__(self, before: Part | None = None, chosen: Collection[str] | None = None) -> None:
        """What comes after a part, or from the journal's begin on; of attempts all columns.

        Or those that are `chosen`: of the others no more than the names is kept.
        """
        self.tally = Tally.after(before.about if before else None)
        self._attempts, self._interim = Rows(chosen), Rows()
        self._open = {key: _begun(start) for key, start in self.tally.going.items()}

    def add(self, event: dict[str, Any]) -> None:
        """Take in an event. Rows come in the order of their starts."""
        self.tally.add(event)
        if event["event"] not in ("start", "end", "parsed"):
            return
        key = (event["run"], event["attempt"])
        if event["event"] == "parsed" and key not in self._open:
            self.tally.again = True  # the attempt has a row already
        self._open[key] = {**self._open.get(key, {}), **_begun(event)}
        if event["event"] != "start":
            self._close_first()

    def _close_first(self) -> None:
        """Make rows of the first attempts, as long as they have ended."""
        while self._open and "status" in (event := next(iter(self._open.values()))):
            self._close(event)

    def _close(self, event: dict[str, Any]) -> None:
        del self._open[event["run"], event["attempt"]]
        self._attempts.add(row_of(event))
        for row in event.get("interim", ()):
            self._interim.add({"run": event["run"], "attempt": event["attempt"], **row})

    def tables(self, going: bool = False) -> tuple[Table, Table]:
        """The attempts and the interim results; those that are `going` on, too, if asked."""
        from netlimits.archive.columns import table

        for key, event in [*self._open.items()]:
            if going or key not in self.tally.going:
                self._close(event)
        return table(self._attempts), table(self._interim)


def _begun(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"interim": (), **event}


class Rows:
    """Rows on their way to a table: a list for each column, so that no row is kept.

    `names` are those of all columns, also where only some are `chosen`.
    """

    def __init__(self, chosen: Collection[str] | None = None) -> None:
        self.count = 0
        self.columns: dict[str, list[Any]] = {}
        self.names: dict[str, None] = {}
        self._chosen = chosen

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; it may have columns that others lack."""
        self.names.update(dict.fromkeys(row))
        chosen = row if self._chosen is None else row.keys() & self._chosen
        for name in chosen:
            value = row[name]
            column = self.columns.setdefault(name, [])
            if len(column) < self.count:
                column.extend([None] * (self.count - len(column)))
            column.append(value)
        self.count += 1


def row_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """The row of an attempt, of its `start` and what came after it."""
    ended = "status" in event
    return {
        "run": event["run"],
        "block": event["block"],
        "config": event["config"],
        "attempt": event["attempt"],
        "status": event["status"] if ended else "interrupted",
        "reason": event["reason"] if ended else CUT_OFF,
        "started": event["started"],
        "duration_s": event["duration_s"] if ended else None,
        **(event["figures"] if ended else {}),
        **event["values"],  # an experiment's own name wins over a tool's
    }


def take_in(told: Tally | Stretch, journal: Journal, begin: Head, end: int | None = None) -> int:
    """Add the events between two places of a journal to `told`; return the last line's number."""
    number = begin.lines
    for number, event in journal.events(begin, end):  # noqa: B007  returned
        told.add(event)
    return number


def due(begin: Head, head: Head, attempts: int) -> bool:
    """Whether there is enough between two places for a part of so many attempts."""
    many = head.lines - begin.lines >= 2 * attempts
    return many or head.size - begin.size >= parts.SIZE


def end_of(last: Part | None) -> Head:
    """Where in the journal the last part ends."""
    return last.end if last else Head()


def next_part(journal: Journal, last: Part | None, durable: int, attempts: int) -> Part | None:
    """Write the part of so many attempts that comes after the last one; None: it is not due yet.

    `durable` is how many bytes of the journal are on disk. Raises OSError where it cannot be
    written, ArchiveError for a journal that is damaged.
    """
    begin = end_of(last)
    block = last.block if last else BlockDigest()
    if block.size < begin.size:
        with journal.folder.reader("journal.jsonl") as file:
            file.seek(block.size)
            block.update(file.read(begin.size - block.size))
    section = Stretch(last)
    head = replace(begin)
    for number, line in journal.lines(begin, durable):
        event = formats.event(line)
        if event is None:
            raise ArchiveError(f"{journal.path}:{number}: is damaged")
        if event["event"] == "imported":
            return None  # such a campaign is read as a whole
        section.add(event)
        head.add(line)
        block.update(line)
        if event["event"] in ("end", "parsed") and due(begin, head, attempts):
            return write(journal, last.number + 1 if last else 1, begin, head, block, section)
    return None


def write(
    journal: Journal, number: int, begin: Head, end: Head, block: BlockDigest, section: Stretch
) -> Part:
    """Write a part, its JSON last. Raises OSError."""
    from netlimits.archive.columns import parquet

    folder = journal.folder
    folder.make(parts.FOLDER)
    attempts, interim = section.tables()
    abouts: list[formats.PartFile | None] = []
    part = Part(number, {})  # type: ignore[typeddict-item]  # only its names are asked for
    for name, (table, kinds) in ((part.name, attempts), (part.interim_name, interim)):
        if not table.num_rows:
            abouts.append(None)
            folder.remove(name)
            continue
        data, about_file = parquet(table, kinds)
        folder.write(name, data)
        abouts.append(about_file)
    about = {
        "netlimits": __version__,
        "begin": astuple(begin),
        "end": astuple(end),
        "chain": (block.chain, block.behind),
        "attempts": abouts[0],
        "interim": abouts[1],
        **parts.counts(section.tally),
    }
    about = json.loads(json.dumps(about))  # as it will be read: lists, not tuples
    about["sha256"] = digest(about)
    folder.write(parts.json_name(number), json.dumps(about))
    return Part(number, about)
