"""Attempts and interim results in columns: Arrow tables, and the Parquet files of parts.

Rows are those of results.csv, with the values of the journal's JSON. A column has a kind:

    int float bool str    all values are of this type, or missing
    number                integers and floats, stored as floats
    json                  other mixes, integers beyond 64 bits, a factor with both 1 and 1.0:
                          each value as JSON
    null                  no values
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from netlimits.archive import parts
from netlimits.archive.formats import PartFile, PartFooter
from netlimits.archive.journal import Journal
from netlimits.archive.parts import CUT_OFF, Attempt, Event, History, Part
from netlimits.metrics import PROFILED
from netlimits.model.folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa

    Table = tuple[pa.Table, dict[str, str]]
    """Rows, and the kind of each column."""

KEY = ("run", "attempt")
ATTEMPTS, INTERIM = 0, 1
"""The two tables of a part."""

BLOCK = 2**18
"""Bytes of a file that are checksummed at a time."""

WIDEST = 2**63
"""Integer columns (int64) hold values from -WIDEST to WIDEST - 1."""
_TYPES = {"int": "int64", "bool": "bool", "str": "string", "json": "string"}
"""Kind -> Arrow's type; values of the other kinds are double."""


class Damaged(ValueError):
    pass


class JournalSection(History):
    """A section of the journal as rows: a part's lines, or the lines after the last part.

    Columns that are not `chosen` have no values: only their names are listed, with the kind "".
    """

    def __init__(
        self, before: PartFooter | None = None, chosen: Collection[str] | None = None
    ) -> None:
        super().__init__(before)
        self._chosen = chosen
        self._closed: dict[Attempt, Event] = {}

    def keep(self, event: Event) -> None:
        self._closed[event["run"], event["attempt"]] = event  # replaces an earlier version

    def forget(self) -> None:
        """Release the events, which are not needed after their tables were built."""
        self._closed.clear()

    def table(self, which: int) -> Table:
        """Return the rows of the closed attempts, or of their interim results."""
        events = self._closed.values()
        if which == ATTEMPTS:
            labels = {name for event in events for name in event["values"]}
            return _table([_row(event) for event in events], labels, self._chosen)
        return _table(
            [
                {"run": event["run"], "attempt": event["attempt"], **row}
                for event in events
                for row in event.get("interim", ())
            ]
        )


def _table(
    rows: Sequence[Mapping[str, Any]],
    labels: Collection[str] = (),
    chosen: Collection[str] | None = None,
) -> Table:
    """Return rows as a table; `labels` are the columns of factors and derived values."""
    import pyarrow as pa

    arrays, kinds = {}, {name: "" for row in rows for name in row}
    for name in kinds:
        if chosen is None or name in chosen:
            values = [row.get(name) for row in rows]
            arrays[name], kinds[name] = _array(values, name in labels)
    return pa.table(arrays), kinds


def _row(event: Mapping[str, Any]) -> dict[str, Any]:
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
        **({"file": event["file"]} if "file" in event else {}),
        **({PROFILED: event[PROFILED]} if PROFILED in event else {}),
        **(event["figures"] if ended else {}),
        **event["values"],  # a factor has precedence over a tool's figure of the same name
    }


def _array(values: list[Any], label: bool) -> tuple[pa.Array, str]:
    import pyarrow as pa

    kind = _kind(values, label)
    if kind == "json":
        values = [None if value is None else json.dumps(value) for value in values]
    elif kind == "str":
        values = [None if value is None else writable(value) for value in values]
    elif kind == "number":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, pa.type_for_alias(_TYPES.get(kind, "double"))), kind


def _kind(values: Iterable[Any], label: bool) -> str:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float} or kinds == {int}:
        integers = {v for v in values if type(v) is int}
        if any(not -WIDEST <= v < WIDEST for v in integers):
            return "json"
        if kinds == {int}:
            return "int"
        alike = label and any(v in integers for v in values if type(v) is float)
        return "json" if alike else "number"
    if len(kinds) > 1:
        return "json"
    return kinds.pop().__name__ if kinds else "null"


def writable(text: str) -> str:
    r"""Return a text that UTF-8 can encode: single surrogates become `\ud800`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


# -- files ------------------------------------------------------------------------------------


def parquet(table: pa.Table, kinds: Mapping[str, str]) -> tuple[bytes, PartFile]:
    """Return a table as a Parquet file of one row group, and its description for a part's JSON."""
    import pyarrow.parquet as pq

    sink = BytesIO()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        use_dictionary=[name for name, kind in kinds.items() if kind in ("str", "json")],
        row_group_size=max(1, table.num_rows),
        write_statistics=[name for name in KEY if name in kinds],
    )
    data = sink.getvalue()
    crc = zlib.crc32(data)
    return data, {"size": len(data), "crc": crc, "rows": table.num_rows, "kinds": {**kinds}}


@contextmanager
def _checked(folder: Folder, part: Part, which: int) -> Iterator[BinaryIO]:
    """Open a part's file after verifying its checksum. Raises Damaged, OSError.

    Parquet's reader does not detect all damage. The file is read in blocks to save memory.
    """
    about = part.files[which]
    assert about
    with folder.reader(part.names[which]) as file:
        if os.fstat(file.fileno()).st_size != about["size"]:
            raise Damaged("its size is wrong")
        crc = 0
        for _ in range(0, about["size"], BLOCK):
            crc = zlib.crc32(file.read(BLOCK), crc)
        if crc != about["crc"]:
            raise Damaged("its checksum is wrong")
        yield file


def intact(journal: Journal, part: Part, which: int) -> bool:
    if part.files[which] is None:
        return True
    try:
        with _checked(journal.folder, part, which):
            return True
    except (OSError, Damaged):
        return False


# -- chunks -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows of a part, or of the lines after the last part.

    Attributes:
        rows: Number of rows.
        kinds: The kind of each column.
        table: Function that returns the columns of the given names.
        repeated: True if some attempts may also have rows in earlier chunks.
    """

    rows: int
    kinds: Mapping[str, str]
    table: Callable[[Sequence[str]], pa.Table]
    repeated: bool = False


def of_part(journal: Journal, part: Part, which: int = ATTEMPTS) -> Chunk:
    """Return the rows of a part, which are read from the journal if the part's file is damaged."""
    about = part.files[which]
    if about is None:
        return Chunk(0, {}, unread, part.about["repeated"])
    kinds = about["kinds"]

    def table(names: Sequence[str]) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        words = [name for name in names if kinds[name] == "str"]
        try:
            with _checked(journal.folder, part, which) as file:
                rows = pq.ParquetFile(file, read_dictionary=words).read([*names], use_threads=False)
            if rows.num_rows == about["rows"] and {*rows.column_names} == {*names}:
                return rows
        except (OSError, ValueError, pa.ArrowException):
            pass
        return _from_journal(journal, part, which).select([*names])

    return Chunk(about["rows"], kinds, table, part.about["repeated"])


def of_section(section: JournalSection, which: int = ATTEMPTS) -> Chunk:
    """Return the rows of a section, including attempts that have not ended."""
    section.close(include_running=True)
    table, kinds = section.table(which)
    section.forget()
    select = lambda names: table.select([*names])  # noqa: E731
    return Chunk(table.num_rows, kinds, select, section.repeated)


def names(chunks: Sequence[Chunk]) -> list[str]:
    """Return all columns' names, in the order of their first appearance."""
    return list(dict.fromkeys(name for chunk in chunks for name in chunk.kinds))


def _from_journal(journal: Journal, part: Part, which: int) -> pa.Table:
    section = JournalSection(parts.before(journal.folder, part))
    for _, event in journal.events(part.begin, part.end.size):
        section.add(event)
    section.close(include_running=False)
    return section.table(which)[0]


def unread(_: Sequence[str]) -> pa.Table:
    """Raise AssertionError: nobody reads a chunk without rows, whose `table` this is."""
    raise AssertionError("there is nothing to read")
