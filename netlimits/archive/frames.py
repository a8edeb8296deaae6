"""Frames of pandas out of the journal's parts and the lines after them, and results.csv.

Columns, in this order: what the row is (IDENTITY), the factors, the derived values, the metrics,
each with its unit in its name. Only the parts' columns that are asked for are read.

`results.csv` and `results.parquet` can be deleted: they are made from the journal. `results.json`
has the checksums of results.parquet and of all files that it was made of. results.parquet is read
while every one of them holds; else the journal is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from netlimits import __version__
from netlimits.analysis.sources import spreadsheets
from netlimits.analysis.sources.column_roles import ColumnNames, roles
from netlimits.archive import columns, formats, parts
from netlimits.archive.columns import ATTEMPTS, INTERIM, KEY, Chunk, Stretch
from netlimits.archive.history import History
from netlimits.archive.parts import Part
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveUnwritable, one_line
from netlimits.metrics import IDENTITY, METRICS
from netlimits.model import Experiment

MADE_OF = ("journal.jsonl", "campaign.json", "experiment.yaml", "against.yaml", "plan.csv")
"""The files that say what a frame holds; an imported campaign has the first two."""

_WIDEST = 2**63
"""Integers from here on fit no column."""


def frame(
    archive: Archive,
    experiment: Experiment,
    chosen: Collection[str] | None = None,
    *,
    coded: bool = False,
) -> pd.DataFrame:
    """Return one row an attempt, in the order of starts, with all columns or the `chosen` ones.

    `attrs["columns"]` has the names of `factors`, `derived` values and `metrics`,
    `attrs["narrowed"]` those that were left out. Text that is `coded` comes as categories.
    """
    try:
        return _frame(archive, archive.parts(), experiment, chosen, coded)[0]
    except _Unlike:
        return _frame(archive, (), experiment, chosen, coded)[0]


def pieces(archive: Archive, experiment: Experiment) -> Iterator[pd.DataFrame]:
    """Yield the frame in pieces, one for each part, if an attempt is in one part only.

    Integers stay integers in a column that other parts lack.
    """
    of_journal = archive.parts()
    chunks, tail = _chunks(archive, of_journal)
    chunks = [chunk for chunk in chunks if chunk.rows]
    labels = frozenset((*_factors(experiment), *experiment.derive))
    kinds = {(name, chunk.kinds.get(name)) for chunk in chunks for name in labels}
    if len(kinds) > len(labels) or not parts.add_up(of_journal, tail):
        yield frame(archive, experiment)
        return
    names, _ = layout(chunks, experiment)
    for chunk in chunks:
        table, _ = assembled([chunk], names, labels, _constants(archive))
        table["started"] = pd.to_datetime(table["started"], unit="s", utc=True)
        yield table


def intervals(archive: Archive, experiment: Experiment) -> pd.DataFrame:
    """Return one row an interim result: `run`, `attempt`, `status`, factors and its figures."""
    of_journal = archive.parts()
    labels = [*_factors(experiment), *experiment.derive]
    attempts, _ = _chunks(archive, of_journal)
    varied = [name for name in labels if name in columns.names(attempts)]
    names = [*KEY, "status", *varied]
    table, chunk = assembled(attempts, [*names, "started"], frozenset(varied))
    table, chunk = _last_told(table, chunk)
    if _at_once(of_journal):
        table, chunk = _as_started(table, chunk)
    of_interim, _ = _chunks(archive, of_journal, which=INTERIM)
    of_rows = [name for name in columns.names(of_interim) if name not in KEY]
    rows, place = assembled(of_interim, [*KEY, *of_rows])
    # an attempt's interim results are those of the chunk that has it last
    merged = table.assign(_chunk=chunk).merge(rows.assign(_chunk=place), on=[*KEY, "_chunk"])
    return of_runs(merged[[*names, *of_rows]], varied)


def of_runs(table: pd.DataFrame, varied: Iterable[str]) -> pd.DataFrame:
    """Set `attrs["columns"]` of a table of several rows a run; `varied` are factors."""
    known = [name for name in dict.fromkeys(varied) if name in table.columns]
    others = [name for name in table.columns if name not in known]
    table.attrs["columns"] = roles(known, [], others)
    return table


def layout(
    chunks: Sequence[Chunk], experiment: Experiment, chosen: Collection[str] | None = None
) -> tuple[list[str], dict[str, Any]]:
    """Return the columns of a campaign's rows, all or the `chosen` ones, and the frame's `attrs`.

    The key, the factors and the derived values are always among them.
    """
    factors, derived = list(_factors(experiment)), list(experiment.derive)
    metrics = _metrics(columns.names(chunks), experiment)
    every = [*IDENTITY, *factors, *derived, *metrics]
    always = {*KEY, *factors, *derived}
    names = [n for n in every if chosen is None or n in chosen or n in always]
    attrs: dict[str, Any] = {"columns": roles(factors, derived, metrics)}
    if left := [name for name in every if name not in names]:
        attrs["narrowed"] = ColumnNames(left)
    return names, attrs


def _frame(
    archive: Archive,
    of_journal: Sequence[Part],
    experiment: Experiment,
    chosen: Collection[str] | None = None,
    coded: bool = False,
) -> tuple[pd.DataFrame, int]:
    """Return the frame, and how many lines the journal has."""
    at_once = _at_once(of_journal)
    if chosen is not None and at_once:
        chosen = {*chosen, "started"}
    always = {*KEY, *_factors(experiment), *experiment.derive}
    read = None if chosen is None else always | {*chosen}
    chunks, history = _chunks(archive, of_journal, read)
    names, attrs = layout(chunks, experiment, chosen)
    labels = frozenset((*attrs["columns"]["factors"], *attrs["columns"]["derived"]))
    table, rows = assembled(chunks, names, labels, _constants(archive), coded=coded)
    table, rows = _last_told(table, rows)
    if at_once:
        table, _ = _as_started(table, rows)
    table.attrs.update(attrs)
    if "started" in table.columns:
        table["started"] = pd.to_datetime(table["started"], unit="s", utc=True)
    return table, history.lines


def _chunks(
    archive: Archive,
    of_journal: Sequence[Part],
    chosen: Collection[str] | None = None,
    which: int = ATTEMPTS,
) -> tuple[list[Chunk], History]:
    """Return a chunk for each part and one of the lines after them, with their history."""
    last, highest = parts.reach(of_journal)
    stretch = Stretch(last.about if last else None, chosen)
    archive.fold(stretch, last, highest)
    of_parts = [columns.of_part(archive.journal, part, which) for part in of_journal]
    return [*of_parts, columns.of_stretch(stretch, which)], stretch


def _constants(archive: Archive) -> dict[str, Any]:
    return {"shared_kernel": archive.meta["shared_kernel"]}


def _at_once(of_journal: Sequence[Part]) -> bool:
    """Return whether attempts overlapped, so that parts have them in the order of their ends."""
    return any(part.about["going"] for part in of_journal)


def _factors(experiment: Experiment) -> Iterator[str]:
    yield from experiment.factors
    for group in experiment.zips:
        yield from group


def _metrics(names: Iterable[str], experiment: Experiment) -> list[str]:
    """Return the metrics among these: those of METRICS in its order, then the tools' own."""
    other = {*IDENTITY, *_factors(experiment), *experiment.derive}
    measured = dict.fromkeys(name for name in names if name not in other)
    known = [m.column for m in METRICS if m.column in measured]
    return list(dict.fromkeys((*known, *measured)))


# -- columns ----------------------------------------------------------------------------------


class _Unlike(ValueError):
    """Parts do not have a column's values as the journal does."""


def assembled(
    chunks: Sequence[Chunk],
    chosen: Sequence[str],
    labels: frozenset[str] = frozenset(),
    constant: Mapping[str, Any] | None = None,
    *,
    coded: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return these columns of all rows in one frame, and the number of each row's chunk.

    Values of `labels` (factors and derived values) that differ still differ, whatever they look
    like. A `constant` column has one value in all rows. Text that is `coded` comes as categories.
    """
    constant = constant or {}
    begins = np.cumsum([0, *(chunk.rows for chunk in chunks)]).tolist()
    builders: dict[str, _Column] = {}
    for name in (name for name in chosen if name not in constant):
        kinds = [chunk.kinds.get(name, "null") for chunk in chunks if chunk.rows]
        builders[name] = _column(name, kinds, begins[-1], name in labels, coded)

    def put(place: int) -> None:
        chunk = chunks[place]
        table = chunk.table([name for name in builders if name in chunk.kinds])
        for name, builder in builders.items():
            known = chunk.kinds.get(name, "null") != "null"
            array = table.column(name) if known else pa.chunked_array([pa.nulls(chunk.rows)])
            builder.put(begins[place], array)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(put, (n for n, chunk in enumerate(chunks) if chunk.rows)):
            pass
    rows = np.repeat(np.arange(len(chunks), dtype=np.int32), [chunk.rows for chunk in chunks])
    table = {}
    for name in chosen:
        if name in constant:
            table[name] = pd.Series([constant[name]]).repeat(len(rows)).reset_index(drop=True)
        else:
            table[name] = builders.pop(name).whole()  # so that no column is held twice
    return pd.DataFrame(table, copy=False), rows


class _Column(Protocol):
    """A column that is being built: the chunks' values are put in any order."""

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        """Take a chunk's values, whose first row is `begin`."""

    def whole(self) -> Any:
        """Return the column, for a frame."""


def _column(name: str, each: Sequence[str], count: int, label: bool, coded: bool) -> _Column:
    """Return the builder for chunks of these kinds, of `count` rows in all."""
    kinds = {*each} - {"null"}
    if coded and kinds == {"str"}:
        return _Words(count)
    if kinds <= {"int", "float", "number"} and (len(kinds) < 2 or not label):
        return _Numbers(count, np.int64 if kinds == {"int"} else np.float64)
    return _Others(each, label)


class _Numbers:
    """Numbers; integers become fractions if one is missing."""

    def __init__(self, count: int, kind: type) -> None:
        self.values: np.ndarray = np.empty(count, kind)
        self.lacking: list[tuple[int, np.ndarray]] = []

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        for chunk in array.chunks:
            if pa.types.is_null(chunk.type):
                values = np.full(len(chunk), np.nan)
            else:
                values = chunk.to_numpy(zero_copy_only=False)  # NaN where one is missing
            if chunk.null_count and self.values.dtype == np.int64:
                self.lacking.append((begin, values))
            else:
                self.values[begin : begin + len(chunk)] = values
            begin += len(chunk)

    def whole(self) -> np.ndarray:
        if not self.lacking:
            return self.values
        values = self.values.astype(float)
        for begin, part in self.lacking:
            values[begin : begin + len(part)] = part
        return values


class _Words:
    """Text as categories: each row has its place among the words of its chunk, then of all."""

    def __init__(self, count: int) -> None:
        self.places = np.full(count, -1, np.int32)
        self.words: list[tuple[int, int, list[str]]] = []

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        for chunk in array.chunks:
            end = begin + len(chunk)
            if not pa.types.is_null(chunk.type):
                coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
                places = coded.indices.fill_null(-1) if coded.null_count else coded.indices
                self.places[begin:end] = places.to_numpy()
                self.words.append((begin, end, coded.dictionary.to_pylist()))
            begin = end

    def whole(self) -> pd.Categorical:
        numbers: dict[str, int] = {}
        for begin, end, words in sorted(self.words):
            places = [numbers.setdefault(word, len(numbers)) for word in words]
            if places != [*range(len(words))]:
                self.places[begin:end] = np.array([*places, -1])[self.places[begin:end]]
        return pd.Categorical.from_codes(self.places, pd.Index([*numbers], dtype="str"))


class _Others:
    """Text, switches, and values of several kinds."""

    def __init__(self, each: Sequence[str], label: bool) -> None:
        self.each, self.label = each, label
        self.arrays: dict[int, pa.ChunkedArray] = {}

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        self.arrays[begin] = array

    def whole(self) -> Any:
        kinds = {*self.each} - {"null"}
        arrays = [self.arrays[begin] for begin in sorted(self.arrays)]
        if kinds == {"bool"} and not any(array.null_count for array in arrays):
            return _joined(arrays, pa.bool_()).to_numpy()
        if kinds == {"str"}:
            return _joined(arrays, pa.string()).to_pandas()
        if "number" in kinds:
            raise _Unlike
        values = [v for pair in zip(arrays, self.each, strict=True) for v in _values(*pair)]
        written = distinct({(type(v), v): v for v in values if v is not None}, self.label)
        return pd.Series([np.nan if v is None else written[type(v), v] for v in values])


def _joined(arrays: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    cast = [array.cast(kind, safe=False) for array in arrays]
    return pa.chunked_array([chunk for array in cast for chunk in array.chunks], kind)


def _values(array: pa.ChunkedArray, kind: str) -> list[Any]:
    values: list[Any] = array.to_pylist()
    if kind == "json":
        return [None if value is None else json.loads(value) for value in values]
    return values


_Typed = tuple[type, Any]


def distinct(values: Mapping[_Typed, Any], label: bool) -> Mapping[_Typed, Any]:
    """Return how different values are written in a column of one type.

    A factor such as [0, "128K"] becomes text, and so does one with 10²⁹. What differed still
    differs then: of 1 and "1" the text is in quotes, and 1 and 1.0 are texts.
    """
    kinds = {kind for kind, _ in values}
    wide = any(kind is int and not -_WIDEST <= value < _WIDEST for kind, value in values)
    if kinds <= {int, float} and not label:
        return {key: float(value) for key, value in values.items()} if wide else values
    alike = kinds == {int, float} and len({*values.values()}) < len(values)
    if not wide and not alike and (len(kinds) < 2 or kinds == {int, float}):
        return values
    taken = {str(value) for kind, value in values if kind is not str}
    return {key: _as_text(value, taken) for key, value in values.items()}


def _as_text(value: Any, taken: Collection[str]) -> str:
    """Return a value as text; a text that another value looks like is in quotes."""
    text = columns.writable(value) if type(value) is str else str(value)
    if type(value) is str and (text in taken or text[:1] == '"'):
        return json.dumps(text, ensure_ascii=False)
    return text


def _last_told(table: pd.DataFrame, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Keep one row an attempt: the last one, in the place of the first."""
    run, attempt = (table[name].to_numpy() for name in KEY)
    later = (run[1:] > run[:-1]) | (run[1:] == run[:-1]) & (attempt[1:] > attempt[:-1])
    if later.all():  # as in every campaign that was not parsed again
        return table, rows
    codes, unique = pd.factorize(run * (int(attempt.max(initial=0)) + 1) + attempt)
    place = np.empty(len(unique), dtype=np.int64)
    place[codes] = np.arange(len(table))  # of several the last one stays
    return table.iloc[place].reset_index(drop=True), rows[place]


def _as_started(table: pd.DataFrame, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    place = np.argsort(table["started"].to_numpy(), kind="stable")
    return table.iloc[place].reset_index(drop=True), rows[place]


# -- results.csv and results.parquet ----------------------------------------------------------


def kept(archive: Archive) -> pd.DataFrame | None:
    """Return the frame in results.parquet; None if a file that it was made of has changed."""
    try:
        sources = formats.summed(archive.folder, "results.json", formats.MadeOf)
        if (
            not sources
            or sources["netlimits"] != __version__
            or sources["files"] != _digests(archive)
        ):
            return None
        with archive.folder.reader("results.parquet") as file:
            table = pd.read_parquet(file)
        table.attrs["columns"] = roles(**table.attrs["columns"])
        return table
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None


def write(archive: Archive, experiment: Experiment) -> tuple[Path, Path]:
    """Write the frame of a campaign without parts as results.csv and results.parquet.

    Returns their paths. Raises ArchiveUnwritable if they cannot be written.
    """
    table, lines = _frame(archive, (), experiment)
    folder = archive.folder
    name = "results.json"
    try:
        folder.remove(name)  # what it says does not hold from here on
        name = "results.csv"
        with folder.whole(name) as file:
            file.write(spreadsheets.to_csv(table).encode("utf-8", "backslashreplace"))
        name = "results.parquet"
        with folder.whole(name) as file:
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
        name = "results.json"
        sources = {"netlimits": __version__, "lines": lines, "files": _digests(archive)}
        folder.write(name, json.dumps({**sources, "sha256": formats.digest(sources)}, indent=1))
    except OSError as error:
        raise ArchiveUnwritable(
            f"{archive.path / name}: {one_line(error)}; the journal holds every run: "
            f"`netlimits parse` makes the tables of it"
        ) from None
    return archive.path / "results.csv", archive.path / "results.parquet"


def remove(archive: Archive) -> None:
    """Remove what `write` wrote. Raises ArchiveUnwritable if it cannot be removed."""
    for name in ("results.json", "results.parquet", "results.csv"):
        try:
            archive.folder.remove(name)
        except OSError as error:
            raise ArchiveUnwritable(f"{archive.path / name}: {one_line(error)}") from None


def _digests(archive: Archive) -> dict[str, str]:
    existing = {path.name for path in archive.path.iterdir()}
    names = [name for name in (*MADE_OF, "results.parquet") if name in existing]
    return {name: archive.folder.digest(name) for name in names}
