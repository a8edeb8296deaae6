"""A campaign's frame out of its parts and the journal's tail: only the columns that are asked for.

What comes out is what archive.frames makes of the journal: the same columns, types and rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from netlimits.archive.chunks import KEY, Chunk


class Unlike(ValueError):
    """Parts do not tell a column's values as the journal does."""


def frame(
    chunks: Sequence[Chunk],
    chosen: Sequence[str],
    labels: frozenset[str] = frozenset(),
    constant: Mapping[str, Any] | None = None,
    *,
    coded: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """These columns of all rows, one below the other, and the number of each row's chunk.

    `labels` are factors and derived values, whose values stay apart whatever they look like; a
    `constant` column has one value in all rows. Text that is `coded` comes as categories.
    """
    constant = constant or {}
    chunks = [chunk for chunk in chunks if chunk.rows]
    begins = np.cumsum([0, *(chunk.rows for chunk in chunks)]).tolist()
    columns: dict[str, _Column] = {}
    for name in (name for name in chosen if name not in constant):
        kinds = [chunk.kinds.get(name, "null") for chunk in chunks]
        columns[name] = _column(name, kinds, begins[-1], name in labels, coded)

    def put(place: int) -> None:
        chunk = chunks[place]
        table = chunk.table([name for name in columns if name in chunk.kinds])
        for name, column in columns.items():
            told = chunk.kinds.get(name, "null") != "null"
            array = table.column(name) if told else pa.chunked_array([pa.nulls(chunk.rows)])
            column.put(begins[place], array)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(put, range(len(chunks))):
            pass
    numbers = np.arange(len(chunks), dtype=np.int32)
    rows = np.repeat(numbers, [chunk.rows for chunk in chunks])
    table = {}
    for name in chosen:
        if name in constant:
            table[name] = pd.Series([constant[name]]).repeat(len(rows)).reset_index(drop=True)
        else:
            table[name] = columns.pop(name).whole()  # a column is not held twice
    return pd.DataFrame(table, copy=False), rows


# -- columns ----------------------------------------------------------------------------------


class _Column(Protocol):
    """A column on its way: a chunk's values are put where its rows begin, in any order."""

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        """Take in a chunk's values."""

    def whole(self) -> Any:
        """All of it, for a frame."""


def _column(name: str, each: Sequence[str], count: int, label: bool, coded: bool) -> _Column:
    """A column for chunks of these kinds, of so many rows in all."""
    kinds = {*each} - {"null"}
    if coded and kinds == {"str"}:
        return _Words(count)
    if kinds <= {"int", "float", "number"} and (len(kinds) < 2 or not label):
        return _Numbers(count, np.int64 if kinds == {"int"} else np.float64)
    return _Others(name, each, label)


class _Numbers:
    """Numbers, each put to its place; integers are fractions where one is missing."""

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
    """Text as categories: each row's place among the words of its chunk, and at last of all."""

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
    """Text, switches, and values of several kinds as archive.frames puts them together."""

    def __init__(self, name: str, each: Sequence[str], label: bool) -> None:
        self.name, self.each, self.label = name, each, label
        self.arrays: dict[int, pa.ChunkedArray] = {}

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        self.arrays[begin] = array

    def whole(self) -> Any:
        kinds = {*self.each} - {"null"}
        arrays = [self.arrays[begin] for begin in sorted(self.arrays)]
        if kinds == {"bool"} and not any(array.null_count for array in arrays):
            return _chunked(arrays, pa.bool_()).to_numpy()
        if kinds == {"str"}:
            return _chunked(arrays, pa.string()).to_pandas()
        if "number" in kinds:
            raise Unlike(self.name)
        return _together(self.name, [*map(_values, arrays, self.each)], self.label)


def _chunked(arrays: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    cast = [array.cast(kind, safe=False) for array in arrays]
    return pa.chunked_array([chunk for array in cast for chunk in array.chunks], kind)


def _values(array: pa.ChunkedArray, kind: str | None) -> list[Any]:
    if kind == "null":
        return [None] * len(array)
    values: list[Any] = array.to_pylist()
    if kind == "json":
        return [None if value is None else json.loads(value) for value in values]
    return values


def _together(name: str, parts: list[list[Any]], label: bool) -> pd.Series[Any]:
    """Values of several kinds as one column; what differs still differs then."""
    from netlimits.archive import frames

    distinct = {(type(v), v): v for part in parts for v in part if v is not None}
    rows = [{name: value} for value in distinct.values()]
    frames.one_type(rows, name, label)
    written = dict(zip(distinct, (row[name] for row in rows), strict=True))
    values = [np.nan if v is None else written[type(v), v] for part in parts for v in part]
    return pd.DataFrame({name: values})[name]


def last_told(table: pd.DataFrame, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """One row an attempt: what was told of it last, at the place of what was told first."""
    run, attempt = (table[name].to_numpy() for name in KEY)
    later = (run[1:] > run[:-1]) | (run[1:] == run[:-1]) & (attempt[1:] > attempt[:-1])
    if later.all():  # as in every campaign that was not parsed again
        return table, rows
    codes, unique = pd.factorize(run * (int(attempt.max(initial=0)) + 1) + attempt)
    place = np.empty(len(unique), dtype=np.int64)
    place[codes] = np.arange(len(table))  # of several the last one stays
    return table.iloc[place].reset_index(drop=True), rows[place]


def as_started(table: pd.DataFrame, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """The attempts in the order in which they started."""
    place = np.argsort(table["started"].to_numpy(), kind="stable")
    return table.iloc[place].reset_index(drop=True), rows[place]
