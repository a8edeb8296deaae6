"""The rows of a campaign's parts and of the lines after them, each read when it is asked for.

A part whose files are lost or damaged is read from its lines of the journal instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from netlimits.archive import columns, parts, rolling
from netlimits.archive.parts import Part
from netlimits.archive.store import Archive

KEY = ("run", "attempt")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of one part, or of the tail: how many, each column's kind, and how to read some.

    `again`: among them are some of attempts that rows before them tell of.
    """

    rows: int
    kinds: Mapping[str, str]
    table: Callable[[Sequence[str]], pa.Table]
    again: bool = False


def attempts(
    archive: Archive, parts: Sequence[Part], chosen: Collection[str] | None = None
) -> list[Chunk]:
    """The rows of attempts: a chunk a part, and one of the lines after them.

    Where columns are `chosen`, no others can be asked for. Raises ArchiveError where the journal is
    damaged there, or is known to have had more.
    """
    last = parts[-1] if parts else None
    return [*(of_part(archive, part) for part in parts), tail(archive, last, 0, chosen)]


def interim(archive: Archive, parts: Sequence[Part]) -> list[Chunk]:
    """The same of interim results."""
    last = parts[-1] if parts else None
    return [*(of_part(archive, part, 1) for part in parts), tail(archive, last, 1)]


def of_part(archive: Archive, part: Part, which: int = 0) -> Chunk:
    """The rows of a part: of attempts, or (1) of interim results."""
    about = part.about["interim"] if which else part.about["attempts"]
    if about is None:
        return Chunk(0, {}, lambda names: pa.table({}), part.about["again"])
    name = part.interim_name if which else part.name
    known = about

    def table(names: Sequence[str]) -> pa.Table:
        try:
            with archive.folder.reader(name) as file:
                return columns.read(file, known, names)
        except (OSError, columns.Damaged):
            lines = rolling.Stretch(parts.part(archive.folder, part.number - 1))
            rolling.take_in(lines, archive.journal, part.begin, part.end.size)
            return lines.tables()[which][0].select([*names])

    kinds = {name: kind for name, (kind, *_) in about["columns"].items()}
    return Chunk(about["rows"], kinds, table, part.about["again"])


def whole(archive: Archive, part: Part) -> bool:
    """Whether a part's files are what was written, to the last byte that is ever read."""
    for name, about in (
        (part.name, part.about["attempts"]),
        (part.interim_name, part.about["interim"]),
    ):
        try:
            if about is not None:
                with archive.folder.reader(name) as file:
                    columns.held(file, about)
        except (OSError, columns.Damaged):
            return False
    return True


def tail(
    archive: Archive, last: Part | None, which: int = 0, chosen: Collection[str] | None = None
) -> Chunk:
    """The rows of what the journal tells after the last part; raises as `attempts` does."""
    lines = rolling.Stretch(last, chosen)
    archive.take_tail(lines, last)
    table, kinds = lines.tables(going=True)[which]
    again = lines.tally.again
    return Chunk(table.num_rows, kinds, lambda names: table.select([*names]), again)


def names(chunks: Sequence[Chunk]) -> list[str]:
    """Every column that there is, in the order in which rows first had it."""
    return list(dict.fromkeys(name for chunk in chunks for name in chunk.kinds))
