"""Assembly of a frame from chunks: one column at a time, each built from all chunks."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from netlimits.archive import columns
from netlimits.archive.columns import Chunk

_WIDEST = 2**63
"""The smallest integer that fits into no column."""


class UnlikeKinds(ValueError):
    """Parts cannot represent a column's values as the journal does."""


def assembled(
    chunks: Sequence[Chunk],
    chosen: Sequence[str],
    labels: frozenset[str] = frozenset(),
    constant: Mapping[str, Any] | None = None,
    *,
    coded: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of all chunks in one frame, and the number of each row's chunk."""
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
            table[name] = builders.pop(name).result()  # pop frees the builder's memory
    return pd.DataFrame(table, copy=False), rows


class _Column(Protocol):
    """The builder of a column, to which chunks are added in any order."""

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        """Add a chunk's values, the first of which is in row `begin`."""

    def result(self) -> Any:
        """Return the column for a frame."""


def _column(name: str, each: Sequence[str], count: int, label: bool, coded: bool) -> _Column:
    """Return the builder for chunks of these kinds with `count` rows in total."""
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

    def result(self) -> np.ndarray:
        if not self.lacking:
            return self.values
        values = self.values.astype(float)
        for begin, part in self.lacking:
            values[begin : begin + len(part)] = part
        return values


class _Words:
    """Text as categories: codes of each chunk, which the result maps to common codes."""

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

    def result(self) -> pd.Categorical:
        numbers: dict[str, int] = {}
        for begin, end, words in sorted(self.words):
            places = [numbers.setdefault(word, len(numbers)) for word in words]
            if places != [*range(len(words))]:
                self.places[begin:end] = np.array([*places, -1])[self.places[begin:end]]
        return pd.Categorical.from_codes(self.places, pd.Index([*numbers], dtype="str"))


class _Others:
    """Text, booleans, and values of several kinds."""

    def __init__(self, each: Sequence[str], label: bool) -> None:
        self.each, self.label = each, label
        self.arrays: dict[int, pa.ChunkedArray] = {}

    def put(self, begin: int, array: pa.ChunkedArray) -> None:
        self.arrays[begin] = array

    def result(self) -> Any:
        kinds = {*self.each} - {"null"}
        arrays = [self.arrays[begin] for begin in sorted(self.arrays)]
        if kinds == {"bool"} and not any(array.null_count for array in arrays):
            return _joined(arrays, pa.bool_()).to_numpy()
        if kinds == {"str"}:
            return _joined(arrays, pa.string()).to_pandas()
        if "number" in kinds:
            raise UnlikeKinds
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
    """Map different values to values of one type for a column.

    A factor such as [0, "128K"] becomes text, and so does one with 10²⁹. Different values stay
    different: the text "1" is quoted if 1 exists, and 1 and 1.0 become texts.
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
    """Return a value as text, quoted if another value looks alike."""
    text = columns.writable(value) if type(value) is str else str(value)
    if type(value) is str and (text in taken or text[:1] == '"'):
        return json.dumps(text, ensure_ascii=False)
    return text
