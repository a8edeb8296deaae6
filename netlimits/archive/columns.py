"""Rows as Parquet, and back, column by column, each held against its checksum.

A row is what `results.csv` has of an attempt, as JSON told it. A column has one of these kinds:

    int float bool str    every value that is there is of it
    number                integers and fractions
    json                  several kinds, or integers that no column holds: each value as JSON
    null                  there, and nowhere with a value

Of a file that another wrote nothing is believed: its footer and the bytes of each column that is
read have their CRC-32 in the part (archive.parts), and are read only where it holds.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from netlimits.archive.formats import PartFile
from netlimits.archive.rolling import Rows

_WIDEST = 2**63
_TYPES: Mapping[str, Any] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "number": pa.float64(),
    "bool": pa.bool_(),
    "str": pa.string(),
    "json": pa.string(),
    "null": pa.float64(),
}


class Damaged(ValueError):
    """A file of a part that is not what was written."""


def table(rows: Rows) -> tuple[pa.Table, dict[str, str]]:
    """Rows as a table, with each column's kind; "" is that of columns which were not chosen."""
    arrays, kinds = {}, {}
    for name in rows.names:
        if (column := rows.columns.get(name)) is None:
            kinds[name] = ""
            continue
        values = column + [None] * (rows.count - len(column))
        arrays[name], kinds[name] = _array(values)
    return pa.table(arrays), kinds


def _array(values: list[Any]) -> tuple[pa.Array, str]:
    kind = _kind(values)
    if kind == "json":
        values = [None if value is None else json.dumps(value) for value in values]
    elif kind == "str":
        values = [None if value is None else _unicode(value) for value in values]
    elif kind == "number":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, _TYPES[kind]), kind


def _kind(values: Iterable[Any]) -> str:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float} or kinds == {int}:
        if any(type(v) is int and not -_WIDEST <= v < _WIDEST for v in values):
            return "json"
        return "int" if kinds == {int} else "number"
    if len(kinds) > 1:
        return "json"
    return kinds.pop().__name__ if kinds else "null"


def _unicode(text: str) -> str:
    """The text as UTF-8 can hold it: half of a pair of surrogates is shown as `\\ud800`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


# -- files ------------------------------------------------------------------------------------


def parquet(table: pa.Table, kinds: Mapping[str, str]) -> tuple[bytes, PartFile]:
    """A table as a Parquet file of one row group, and what it is held against."""
    words = [name for name, kind in kinds.items() if kind in ("str", "json")]
    sink = BytesIO()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        use_dictionary=words,
        row_group_size=max(1, table.num_rows),
        write_statistics=[name for name in ("run", "attempt") if name in kinds],
    )
    data = sink.getvalue()
    group = pq.read_metadata(BytesIO(data)).row_group(0) if table.num_rows else None
    columns = {}
    for place, (name, kind) in enumerate(kinds.items()):
        begin = size = 0
        if group:
            about = group.column(place)
            begin = about.dictionary_page_offset or about.data_page_offset
            size = about.total_compressed_size
        columns[name] = (kind, begin, size, zlib.crc32(data[begin : begin + size]))
    begin = _footer(data)
    about_file: PartFile = {
        "size": len(data),
        "rows": table.num_rows,
        "footer": (begin, zlib.crc32(data[begin:])),
        "columns": columns,
    }
    return data, about_file


def _footer(data: bytes) -> int:
    """Where the footer of a Parquet file begins: its length stands before the last four bytes."""
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def read(file: BinaryIO, about: PartFile, names: Sequence[str]) -> pa.Table:
    """These columns of a file, text as a dictionary and the places in it.

    Raises Damaged where it is not the one that was written.
    """
    content = np.empty(about["size"], np.uint8)  # of which only what is read takes memory
    for begin, data in _checked(file, about, names):
        content[begin : begin + len(data)] = np.frombuffer(data, np.uint8)
    words = [name for name in names if about["columns"][name][0] == "str"]
    try:
        parquet_file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)), read_dictionary=words)
        read_table = parquet_file.read(columns=[*names], use_threads=False)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise Damaged(str(error)) from None
    if read_table.num_rows != about["rows"] or {*read_table.column_names} != {*names}:
        raise Damaged("it has not the rows and columns that were written")
    return read_table


def held(file: BinaryIO, about: PartFile, names: Iterable[str] | None = None) -> None:
    """Hold a file's footer and these columns, or all, against their checksums. Raises Damaged."""
    for _ in _checked(file, about, names):
        pass


def _checked(
    file: BinaryIO, about: PartFile, names: Iterable[str] | None
) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file's footer and of these columns, or all, each with where they begin."""
    begin, crc = about["footer"]
    places = [(begin, about["size"] - begin, crc)]
    for name in about["columns"] if names is None else names:
        places.append(about["columns"][name][1:])
    if file.seek(0, 2) != about["size"]:
        raise Damaged("it has not the size that was written")
    for begin, size, crc in places:
        file.seek(begin)
        data = file.read(size)
        if zlib.crc32(data) != crc:
            raise Damaged("its checksum does not hold")
        yield begin, data
