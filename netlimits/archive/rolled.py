"""A campaign's frame out of its parts and the journal's tail: only the columns that are asked for.

What comes out is what archive.frames makes of the journal: the same columns, types and rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

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
    read = [name for name in chosen if name not in constant]
    here = [[name for name in read if name in chunk.kinds] for chunk in chunks]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tables = [*pool.map(lambda pair: pair[0].table(pair[1]), zip(chunks, here, strict=True))]
    rows = np.repeat(np.arange(len(chunks)), [chunk.rows for chunk in chunks])
    table = {}
    for name in chosen:
        if name in constant:
            table[name] = pd.Series([constant[name]]).repeat(len(rows)).reset_index(drop=True)
            continue
        kinds = {chunk.kinds.get(name, "null") for chunk in chunks}
        arrays = [_column(t, name) for t in tables]
        if coded and kinds - {"null"} == {"str"}:
            table[name] = _coded(arrays)
        else:
            table[name] = _series(name, arrays, [c.kinds.get(name) for c in chunks], kinds, labels)
        for place, each in enumerate(tables):  # a column is not held twice
            if name in each.column_names:
                tables[place] = each.drop_columns([name])
    return pd.DataFrame(table, copy=False), rows


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name in table.column_names:
        return table.column(name)
    return pa.chunked_array([pa.nulls(table.num_rows)])


def _series(
    name: str,
    arrays: Sequence[pa.ChunkedArray],
    each: Sequence[str | None],
    kinds: set[str],
    labels: frozenset[str],
) -> Any:
    """One column: of one kind as it is, of several as archive.frames puts them together."""
    missing = any(array.null_count for array in arrays)
    kinds = kinds - {"null"}
    numbers = kinds <= {"int", "float", "number"}
    if kinds == {"int"} and not missing:
        return _chunked(arrays, pa.int64()).to_numpy()
    if numbers and kinds and (name not in labels or len(kinds) == 1):
        return _chunked(arrays, pa.float64()).to_numpy()
    if kinds == {"bool"} and not missing:
        return _chunked(arrays, pa.bool_()).to_numpy()
    if not kinds:
        return np.full(sum(map(len, arrays)), np.nan)
    if kinds == {"str"}:
        return _chunked(arrays, pa.string()).to_pandas()
    if "number" in kinds and len(kinds) > 1:
        raise Unlike(name)
    return _together(name, [*map(_values, arrays, each)], name in labels)


def _coded(arrays: Sequence[pa.ChunkedArray]) -> pd.Series[Any]:
    """Text as categories: a dictionary, and each row's place in it."""
    text = pa.dictionary(pa.int32(), pa.string())
    places = [array.cast(text) for array in arrays]
    chunks = [chunk for each in places for chunk in each.chunks]
    coded: pd.Series[Any] = pa.chunked_array(chunks, text).to_pandas()
    return coded


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
