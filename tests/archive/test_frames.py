"""Columns of parts put together: what one of them lacks, and words that each numbers in its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from netlimits.archive import frames
from netlimits.archive.columns import Chunk

KINDS = {int: "int", float: "float", str: "str", bool: "bool"}


def chunk(name: str, values: Sequence[Any], *, by_dictionary: bool = True) -> Chunk:
    """A part of one column beside `run`, which it lacks where no value is there."""
    kinds = {KINDS[type(value)] for value in values if value is not None}
    kind = kinds.pop() if kinds else "null"
    array = pa.array(values, pa.float64() if kind == "null" else None)
    if kind == "str" and by_dictionary:
        array = array.dictionary_encode()
    table = pa.table({"run": range(len(values)), name: array})
    return Chunk(len(values), {"run": "int", name: kind}, lambda names: table.select([*names]))


ABSENT = Chunk(2, {"run": "int"}, lambda names: pa.table({"run": [7, 8]}).select([*names]))


def column(*chunks: Chunk, **options: Any) -> pd.Series:
    table, rows = frames.assembled(chunks, ["run", "x"], **options)
    assert rows.tolist() == [n for n, each in enumerate(chunks) for _ in range(each.rows)]
    assert table["run"].dtype == np.int64
    return table["x"]


def test_integers_stay_so_as_long_as_none_is_missing() -> None:
    whole = column(chunk("x", [1, 2]), chunk("x", [2**53 + 1]))
    assert whole.dtype == np.int64
    assert whole.tolist() == [1, 2, 2**53 + 1]
    for lacking, values in ((chunk("x", [None, 3]), [np.nan, 3]), (ABSENT, [np.nan] * 2)):
        for chunks in ((chunk("x", [1, 2]), lacking), (chunk("x", [1, 2]), lacking, ABSENT)):
            told = column(*chunks)
            assert told.dtype == np.float64
            assert np.array_equal(told[:4], [1, 2, *values], equal_nan=True)
            assert told[4:].isna().all()


def test_fractions_and_integers_of_a_metric_are_one_column() -> None:
    told = column(chunk("x", [1, 2]), chunk("x", [0.5, None]), chunk("x", [None, None]))
    assert np.array_equal(told, [1, 2, 0.5, np.nan, np.nan, np.nan], equal_nan=True)
    assert column(chunk("x", [None]), ABSENT).isna().all()


@pytest.mark.parametrize("by_dictionary", [True, False])
def test_words_are_the_same_coded_and_not(by_dictionary: bool) -> None:
    parts = [["b", "a", "b"], ["a", None, "c"], [None], ["c", "b"]]
    chunks = [chunk("x", part, by_dictionary=by_dictionary) for part in parts]
    plain, coded = (column(*chunks, ABSENT, coded=coded) for coded in (False, True))
    assert isinstance(coded.dtype, pd.CategoricalDtype)
    assert coded.cat.categories.tolist() == ["b", "a", "c"]
    values = [value for part in [*parts, [None, None]] for value in part]
    assert [None if pd.isna(value) else value for value in coded] == values
    pd.testing.assert_series_equal(coded.astype(plain.dtype), plain)


def test_switches_and_mixed_columns_are_as_the_journal_makes_them() -> None:
    assert column(chunk("x", [True]), chunk("x", [False])).dtype == bool
    assert column(chunk("x", [True]), ABSENT).tolist()[0] is True
    mixed = column(chunk("x", [1]), chunk("x", ["1"]), coded=True, labels=frozenset("x"))
    assert mixed.nunique() == 2
