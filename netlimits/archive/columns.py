"""Attempts and interim results in columns: Arrow tables, and the Parquet files of parts.

A row equals that of results.csv, with the values of the journal's JSON. A column has a kind:

    int float bool str    all values are of this type, or missing
    number                integers and fractions; in a factor no two are equal, such as 1 and 1.0
    json                  several types, or integers beyond 64 bits: each value as JSON
    null                  no values
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from netlimits.archive import parts
from netlimits.archive.formats import PartFile, PartFooter
from netlimits.archive.history import CUT_OFF, Attempt, Event, History
from netlimits.archive.journal import Journal
from netlimits.archive.parts import Part
from netlimits.metrics import PROFILED

if TYPE_CHECKING:
    import pyarrow as pa

    Table = tuple[pa.Table, dict[str, str]]
    """Rows, and the kind of each column."""

KEY = ("run", "attempt")
ATTEMPTS, INTERIM = 0, 1
"""The two tables of a part."""

_WIDEST = 2**63
_TYPES = {"int": "int64", "bool": "bool", "str": "string", "json": "string"}
"""Kind -> Arrow's type; the others are double."""


class Damaged(ValueError):
    pass


class Rows:
    """Rows as one list per column; with `chosen`, only the names of other columns are kept."""

    def __init__(self, chosen: Collection[str] | None = None) -> None:
        self.count = 0
        self.columns: dict[str, list[Any]] = {}
        self.names: dict[str, None] = {}
        self.labels: set[str] = set()
        self._chosen = chosen

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; it may have columns that others lack."""
        self.names.update(dict.fromkeys(row))
        for name in row if self._chosen is None else row.keys() & self._chosen:
            column = self.columns.setdefault(name, [])
            column.extend([None] * (self.count - len(column)))
            column.append(row[name])
        self.count += 1

    def chosen(self, places: Sequence[int]) -> Rows:
        """Return the rows at these places, with the columns that any of them has."""
        rows = Rows(self._chosen)
        rows.labels = self.labels
        names = [*self.names]
        for place in places:
            have = [name for name in names if self._value(name, place) is not None]
            rows.add({name: self._value(name, place) for name in have})
        rows.names |= {name: None for name in names if name not in self.columns}
        return rows

    def _value(self, name: str, place: int) -> Any:
        values = self.columns.get(name, ())
        return values[place] if place < len(values) else None

    def table(self) -> Table:
        """Return the rows as a table; columns that were not chosen have the kind ""."""
        import pyarrow as pa

        arrays, kinds = {}, dict.fromkeys(self.names, "")
        for name, values in ((n, self.columns[n]) for n in self.names if n in self.columns):
            padded = values + [None] * (self.count - len(values))
            arrays[name], kinds[name] = _array(padded, name in self.labels)
        return pa.table(arrays), kinds


class JournalSection(History):
    """A section of the journal as rows: that of a part, or the lines after the last part."""

    def __init__(
        self, before: PartFooter | None = None, chosen: Collection[str] | None = None
    ) -> None:
        super().__init__(before)
        self._rows = (Rows(chosen), Rows())
        self._places: dict[Attempt, tuple[int, range]] = {}

    def keep(self, event: Event) -> None:
        attempts, interim = self._rows
        attempts.labels.update(event["values"])
        attempts.add(_row(event))
        begin = interim.count
        for row in event.get("interim", ()):
            interim.add({"run": event["run"], "attempt": event["attempt"], **row})
        key = event["run"], event["attempt"]
        self._places[key] = attempts.count - 1, range(begin, interim.count)

    def table(self, which: int) -> Table:
        """Return the rows of the closed attempts, or of their interim results."""
        rows = self._rows[which]
        if self.repeated:  # the last version of an attempt counts
            places = self._places.values()
            last = [[place for place, _ in places], [n for _, them in places for n in them]]
            rows = rows.chosen(last[which])
        return rows.table()


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
        if any(not -_WIDEST <= v < _WIDEST for v in integers):
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
    group = pq.read_metadata(BytesIO(data)).row_group(0)
    columns = {}
    for place, (name, kind) in enumerate(kinds.items()):
        about = group.column(place)
        begin = about.dictionary_page_offset or about.data_page_offset
        size = about.total_compressed_size
        columns[name] = (kind, begin, size, zlib.crc32(data[begin : begin + size]))
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return data, {
        "size": len(data),
        "rows": table.num_rows,
        "footer": (footer, zlib.crc32(data[footer:])),
        "columns": columns,
    }


def read(file: BinaryIO, about: PartFile, names: Sequence[str]) -> pa.Table:
    """Read these columns of a part's file, text as dictionaries. Raises Damaged."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = np.empty(about["size"], np.uint8)  # pages that are not read take no memory
    for begin, data in _checked(file, about, names):
        content[begin : begin + len(data)] = np.frombuffer(data, np.uint8)
    words = [name for name in names if about["columns"][name][0] == "str"]
    try:
        parquet_file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)), read_dictionary=words)
        table = parquet_file.read(columns=[*names], use_threads=False)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise Damaged(str(error)) from None
    if table.num_rows != about["rows"] or {*table.column_names} != {*names}:
        raise Damaged("its rows or columns differ from those that were written")
    return table


def _checked(file: BinaryIO, about: PartFile, names: Iterable[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and bytes of the footer and of these columns. Raises Damaged."""
    begin, crc = about["footer"]
    places = [(begin, about["size"] - begin, crc)]
    places += [about["columns"][name][1:] for name in names]
    if file.seek(0, 2) != about["size"]:
        raise Damaged("its size differs from what was written")
    for begin, size, crc in places:
        file.seek(begin)
        data = file.read(size)
        if zlib.crc32(data) != crc:
            raise Damaged("its checksum is wrong")
        yield begin, data


def intact(journal: Journal, part: Part, which: int, names: Iterable[str] | None = None) -> bool:
    """Return True if these columns (default: all) of a part's file are undamaged."""
    if (about := _about(part, which)) is None:
        return True
    try:
        with journal.folder.reader(_name(part, which)) as file:
            for _ in _checked(file, about, about["columns"] if names is None else names):
                pass
    except (OSError, Damaged):
        return False
    return True


# -- chunks -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows of a part, or of the lines after the last part.

    Attributes:
        rows: Number of rows.
        kinds: The kind of each column.
        table: Function that returns the columns of the given names.
        repeated: True if some attempts have earlier rows, too.
    """

    rows: int
    kinds: Mapping[str, str]
    table: Callable[[Sequence[str]], pa.Table]
    repeated: bool = False


def of_part(journal: Journal, part: Part, which: int = ATTEMPTS) -> Chunk:
    """Return the rows of a part, which are read from the journal if the part's file is damaged."""
    about = _about(part, which)
    if about is None:
        return Chunk(0, {}, unread, part.about["again"])

    def table(names: Sequence[str]) -> pa.Table:
        try:
            with journal.folder.reader(_name(part, which)) as file:
                return read(file, about, names)
        except (OSError, Damaged):
            return _from_journal(journal, part, which).select([*names])

    kinds = {name: kind for name, (kind, *_) in about["columns"].items()}
    return Chunk(about["rows"], kinds, table, part.about["again"])


def of_section(section: JournalSection, which: int = ATTEMPTS) -> Chunk:
    """Return the rows of a section, including those of attempts that have not ended."""
    section.close(include_running=True)
    table, kinds = section.table(which)
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


def _about(part: Part, which: int) -> PartFile | None:
    return part.about["interim" if which else "attempts"]


def _name(part: Part, which: int) -> str:
    return part.interim_name if which else part.name


def unread(_: Sequence[str]) -> pa.Table:
    """Raise, in place of the reader of a chunk that must not be read."""
    raise AssertionError("there is nothing to read")
