"""Assembly of a frame from chunks: one column at a time, each built from all chunks."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from netlimits.archive import columns
from netlimits.archive.columns import Chunk


class UnlikeKinds(ValueError):
    """Parts store a column as different kinds: a float in one of them may have been an integer."""


def assembled(
    chunks: Sequence[Chunk],
    chosen: Sequence[str],
    labels: frozenset[str] = frozenset(),
    constant: Mapping[str, Any] | None = None,
    *,
    coded: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of all chunks in one frame, and the number of each row's chunk.

    Args:
        chunks: The chunks, in the order of the frame's rows.
        chosen: The columns to return.
        labels: The columns of factors and derived values, whose values stay different.
        constant: Column -> value, for columns with the same value in all rows.
        coded: Return text as categories.
    """
    constant = constant or {}
    read = [chunk for chunk in chunks if chunk.rows]

    def arrays(chunk: Chunk) -> dict[str, pa.ChunkedArray]:
        known = {name for name in chosen if chunk.kinds.get(name, "null") != "null"}
        table = chunk.table([name for name in chosen if name in known])
        nulls = pa.chunked_array([pa.nulls(chunk.rows)])
        return {name: table.column(name) if name in known else nulls for name in chosen}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        of_chunks = [*pool.map(arrays, read)]
    rows = np.repeat(np.arange(len(chunks), dtype=np.int32), [chunk.rows for chunk in chunks])
    table = {}
    for name in chosen:
        if name in constant:
            table[name] = pd.Series([constant[name]]).repeat(len(rows)).reset_index(drop=True)
            continue
        kinds = [chunk.kinds.get(name, "null") for chunk in read]
        own = [each.pop(name) for each in of_chunks]  # `pop` lets each column be freed after use
        table[name] = _column(own, kinds, name in labels, coded)
    pa.default_memory_pool().release_unused()  # Arrow would keep 300 MB for a million runs
    return pd.DataFrame(table, copy=False), rows


def _column(
    arrays: Sequence[pa.ChunkedArray], each: Sequence[str], label: bool, coded: bool
) -> Any:
    """Return a column from the values of each chunk and their kinds."""
    kinds = {*each} - {"null"}
    if kinds <= {"int", "float", "number"} and (len(kinds) < 2 or not label):
        kind = pa.int64() if kinds == {"int"} else pa.float64()
        values = _joined(arrays, kind).to_numpy()  # integers become fractions if one is missing
        return np.require(values, requirements="W")
    if kinds == {"bool"} and not any(array.null_count for array in arrays):
        return np.require(_joined(arrays, pa.bool_()).to_numpy(), requirements="W")
    if kinds == {"str"} and coded:
        words = _joined(arrays, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        column = words.to_pandas()
        return column.cat.set_categories(pd.Index(column.cat.categories, dtype="str"))
    if kinds == {"str"}:
        return _joined(arrays, pa.string()).to_pandas()
    if "number" in kinds:
        raise UnlikeKinds
    values = [v for pair in zip(arrays, each, strict=True) for v in _values(*pair)]
    written = distinct({(type(v), v): v for v in values if v is not None}, label)
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

    A factor such as [0, "128K"] becomes text, as does a column with an integer beyond 64 bits.
    Different values stay different: the text "1" is quoted if the number 1 exists. A factor with
    1 and 1.0 becomes text.
    """
    kinds = {kind for kind, _ in values}
    widest = columns.WIDEST
    wide = any(kind is int and not -widest <= value < widest for kind, value in values)
    if kinds <= {int, float} and not label:
        return {key: float(value) for key, value in values.items()} if wide else values
    alike = kinds == {int, float} and len({*values.values()}) < len(values)
    if not wide and not alike and (len(kinds) < 2 or kinds == {int, float}):
        return values
    taken = {str(value) for kind, value in values if kind is not str}
    return {key: _as_text(value, taken) for key, value in values.items()}


def _as_text(value: Any, taken: Collection[str]) -> str:
    """Return a value as text; quote a text that equals another value's text."""
    text = columns.writable(value) if type(value) is str else str(value)
    if type(value) is str and (text in taken or text[:1] == '"'):
        return json.dumps(text, ensure_ascii=False)
    return text
