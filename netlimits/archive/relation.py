"""Build a DuckDB relation over a campaign's parts, for more runs than memory holds.

Columns, types and rows equal those of `campaign.frame()`, but the rows have no order. A campaign
without parts, or with a column of values of several kinds, is read as a frame.
"""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from netlimits.analysis.sources.relations import answer, quoted
from netlimits.archive import columns, frames
from netlimits.archive.columns import ATTEMPTS, Chunk, JournalSection
from netlimits.archive.parts import Part
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError, DataError
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

GROUPS = 8
"""Maximum number of groups of files with equal columns that are read separately."""

_NUMBERS = {"int", "float", "number"}
_PLACE = "place among all rows"
"""A temporary column that orders the rows of an attempt; no campaign has its name."""


def connection(memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    """Open a database in memory. Raises DataError if DuckDB is not installed."""
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
    """Return all or the `chosen` columns of a campaign, and the frame's `attrs`."""
    if not next(archive.each_part(), None):
        return None
    of_attempts = _outlines(archive)
    names, attrs = frames.layout(of_attempts, experiment, chosen)
    labels = {*attrs["columns"]["factors"], *attrs["columns"]["derived"]}
    types: dict[str, str] = {}
    different = {id(chunk.kinds): chunk.kinds for chunk in of_attempts if chunk.rows}
    for name in names:
        kinds = frozenset(kinds[name] for kinds in different.values() if name in kinds)
        kind = _type(kinds - {"null"}, name in labels)
        if kind is None:
            return None
        types[name] = kind
    repeated = any(chunk.repeated for chunk in of_attempts)
    rows_of_all = reduce(
        lambda before, after: before.union(after),
        _sources(opened, archive, of_attempts, types, repeated),
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
    if PROFILED in names:  # statistics read a relation, and count none of these
        rows_of_all = rows_of_all.filter(f"not {PROFILED}")
    return rows_of_all.project(selected), attrs


def _outlines(archive: Archive) -> list[Chunk]:
    """Return rows and kinds of each part, without the rest of its JSON, and the tail."""
    known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
    outlines, last, highest = [], None, 0
    for last in archive.each_part():
        chunk = columns.of_part(archive.journal, last)
        kinds = known.setdefault(tuple(chunk.kinds.items()), chunk.kinds)
        outlines.append(Chunk(chunk.rows, kinds, columns.unread, chunk.repeated))
        highest = max(highest, last.about["highest"])
    section = JournalSection(last.about if last else None)
    archive.fold(section, last, highest)
    return [*outlines, columns.of_section(section)]


def _type(kinds: frozenset[str], label: bool) -> str | None:
    """Return the SQL type for these kinds, None if archive.frames converts values to text."""
    if kinds in _TYPES:
        return _TYPES[kinds]
    return "DOUBLE" if kinds <= _NUMBERS and (len(kinds) == 1 or not label) else None


def _sources(
    opened: duckdb.DuckDBPyConnection,
    archive: Archive,
    of_attempts: Sequence[Chunk],
    types: Mapping[str, str],
    placed: bool,
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield the tail and damaged parts one by one, then the intact parts' files in groups."""
    intact: dict[frozenset[tuple[str, str]], list[str]] = {}
    alike = {
        id(chunk.kinds): frozenset((n, chunk.kinds[n]) for n in types if n in chunk.kinds)
        for chunk in {id(chunk.kinds): chunk for chunk in of_attempts}.values()
    }
    *of_parts, tail = of_attempts  # a new part is still in the tail
    pairs: Iterator[tuple[Chunk, Part | None]] = zip(of_parts, archive.each_part(), strict=False)
    for number, (chunk, part) in enumerate(itertools.chain(pairs, [(tail, None)])):
        kinds = alike[id(chunk.kinds)]
        names = [name for name in types if name in chunk.kinds]
        if part and chunk.rows and columns.intact(archive.journal, part, ATTEMPTS, names):
            intact.setdefault(kinds, []).append(str(archive.path / part.name))
        elif chunk.rows:
            table = (columns.of_part(archive.journal, part) if part else chunk).table(names)
            places = pa.array(range(table.num_rows), pa.int64())
            place = f"({number}::bigint << 32) + row"
            yield _selected(
                opened.from_arrow(table.append_column("row", places)),
                {*names},
                types,
                placed,
                place,
            )
    if number < len(of_parts):
        raise ArchiveError(f"{archive.path}: parts were removed while they were read; try again")
    # without union_by_name planning a query reads the footer of one file only
    part_number = "parse_filename(filename, true)::bigint - 1"
    for of_one_kind, files in _grouped(intact):
        read = opened.read_parquet(
            files, union_by_name=of_one_kind is None, file_row_number=placed, filename=placed
        )
        here = {*read.columns}
        yield _selected(read, here, types, placed, f"(({part_number}) << 32) + file_row_number")


def _grouped(
    files: Mapping[frozenset[tuple[str, str]], list[str]],
) -> Iterator[tuple[frozenset[tuple[str, str]] | None, list[str]]]:
    """Group files by their columns' kinds; the rarest kinds form one group."""
    ordered = sorted(files.items(), key=lambda item: -len(item[1]))
    yield from ordered[:GROUPS]
    if rest := [name for _, names in ordered[GROUPS:] for name in names]:
        yield None, rest


def _selected(
    source: duckdb.DuckDBPyRelation,
    here: Collection[str],
    types: Mapping[str, str],
    placed: bool,
    place: str,
) -> duckdb.DuckDBPyRelation:
    """Return a source with all columns in their types; missing columns are null."""
    selected = [
        f"cast({quoted(name) if name in here else 'null'} as {kind}) as {quoted(name)}"
        for name, kind in types.items()
    ]
    return source.project(", ".join([*selected, *([f"{place} as {quoted(_PLACE)}"] * placed)]))


def _literal(value: bool | None) -> str:
    return "null" if value is None else str(value).lower()
