"""Build a DuckDB relation over a campaign's parts, for more runs than memory holds.

Columns, types and rows equal those of `campaign.frame()`, but the rows have no order and profiled
runs are left out. A campaign without parts, or with a column of several kinds, is read as a frame.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from netlimits.analysis.sources.relations import answer, quoted
from netlimits.archive import columns, frames
from netlimits.archive.columns import ATTEMPTS, Chunk
from netlimits.archive.parts import Part
from netlimits.archive.store import Archive
from netlimits.errors import DataError
from netlimits.metrics import PROFILED
from netlimits.model import Experiment

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

MEMORY = "1GB"
"""Memory limit of DuckDB, which writes the rest to a temporary folder."""

_TYPES: Mapping[frozenset[str], str] = {
    frozenset(): "DOUBLE",
    frozenset(("int",)): "BIGINT",
    frozenset(("bool",)): "BOOLEAN",
    frozenset(("str",)): "VARCHAR",
}
"""Kinds of a column (archive.columns) -> its SQL type; other numbers are DOUBLE."""

_NUMBERS = {"int", "float", "number"}
_PLACE = "place among all rows"
"""A temporary column that orders the rows of an attempt; no column of a campaign has this name."""


def connection(memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ImportError:
        raise DataError("a relation needs DuckDB: pip install 'netlimits[large]'") from None
    spilled = tempfile.mkdtemp(prefix="netlimits-duckdb-")
    atexit.register(shutil.rmtree, spilled, ignore_errors=True)
    return duckdb.connect(config={"memory_limit": memory, "temp_directory": spilled})


def of_frame(opened: duckdb.DuckDBPyConnection, frame: pd.DataFrame) -> duckdb.DuckDBPyRelation:
    return opened.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


def rows(
    opened: duckdb.DuckDBPyConnection,
    archive: Archive,
    experiment: Experiment,
    chosen: Collection[str] | None = None,
) -> tuple[duckdb.DuckDBPyRelation, dict[str, Any]] | None:
    """Return the rows with all or the `chosen` columns, and the frame's `attrs`.

    Return None for a campaign that has to be read as a frame.
    """
    known_parts = archive.parts()
    if not known_parts:
        return None
    chunks, _ = frames.chunks_of(archive, known_parts)
    names, attrs = frames.layout(chunks, experiment, chosen)
    labels = {*attrs["columns"]["factors"], *attrs["columns"]["derived"]}
    types: dict[str, str] = {}
    for name in names:
        kinds = frozenset(chunk.kinds[name] for chunk in chunks if name in chunk.kinds)
        kind = _type(kinds - {"null"}, name in labels)
        if kind is None:
            return None
        types[name] = kind
    repeated = any(chunk.repeated for chunk in chunks)
    rows_of_all = reduce(
        lambda before, after: before.union(after),
        _sources(
            opened, archive, [*zip(chunks, (*known_parts, None), strict=True)], types, repeated
        ),
    )
    if repeated:
        place = quoted(_PLACE)
        latest = f"(select run, attempt, max({place}) as {place} from runs group by run, attempt)"
        query = (
            f"select * exclude ({place}) from runs semi join {latest} using (run, attempt, {place})"
        )
        rows_of_all = answer(rows_of_all, query)
    written = {
        "shared_kernel": f"cast({_literal(archive.meta['shared_kernel'])} as boolean)",
        "started": "to_timestamp(started)",
    }
    selected = ", ".join(f"{written.get(n, quoted(n))} as {quoted(n)}" for n in names)
    if PROFILED in names:  # no statistic counts profiled runs
        rows_of_all = rows_of_all.filter(f"not {PROFILED}")
    return rows_of_all.project(selected), attrs


def _type(kinds: frozenset[str], label: bool) -> str | None:
    """Return the SQL type for these kinds, None if archive.frames converts values to text."""
    if kinds in _TYPES:
        return _TYPES[kinds]
    return "DOUBLE" if kinds <= _NUMBERS and (len(kinds) == 1 or not label) else None


def _sources(
    opened: duckdb.DuckDBPyConnection,
    archive: Archive,
    of_attempts: Sequence[tuple[Chunk, Part | None]],
    types: Mapping[str, str],
    placed: bool,
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield the tail and damaged parts one by one, then the intact parts' files together."""
    intact: list[str] = []
    kinds: set[frozenset[tuple[str, str]]] = set()
    for number, (chunk, part) in enumerate(of_attempts):
        if not chunk.rows:
            continue
        if part and columns.intact(archive.journal, part, ATTEMPTS):
            intact.append(str(archive.path / part.names[ATTEMPTS]))
            kinds.add(frozenset(item for item in chunk.kinds.items() if item[0] in types))
            continue
        table = chunk.table([name for name in types if name in chunk.kinds])
        table = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
        place = f"({number}::bigint << 32) + row"
        yield _selected(opened.from_arrow(table), types, placed, place)
    if intact:  # union_by_name only if columns differ: DuckDB then reads every file's footer
        place = "((parse_filename(filename, true)::bigint - 1) << 32) + file_row_number"
        several = len(kinds) > 1
        read = opened.read_parquet(
            intact, union_by_name=several, file_row_number=placed, filename=placed
        )
        yield _selected(read, types, placed, place)


def _selected(
    source: duckdb.DuckDBPyRelation,
    types: Mapping[str, str],
    placed: bool,
    place: str,
) -> duckdb.DuckDBPyRelation:
    """Return a source with all columns in their types; missing columns are null."""
    selected = [
        f"cast({quoted(name) if name in source.columns else 'null'} as {kind}) as {quoted(name)}"
        for name, kind in types.items()
    ]
    return source.project(", ".join([*selected, *([f"{place} as {quoted(_PLACE)}"] * placed)]))


def _literal(value: bool | None) -> str:
    return "null" if value is None else str(value).lower()
