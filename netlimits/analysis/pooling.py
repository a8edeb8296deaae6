"""Find factors that differ within a cell or curve, whose figure would mix their values.

In a frame with the column `config`, a factor has one value in each configuration. In any other
frame each column that is not a metric may be a factor. But floats that are all different count as
measured, unless they are multiples of ½, or evenly spaced (also on a logarithmic scale).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import frames, wording
from netlimits.errors import DataError

CONFIG, CAMPAIGN = "config", "campaign"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
SHOWN = 6
"""Maximum number of values of a factor in an error."""


def differing_factors(
    frame: pd.DataFrame, keys: Sequence[str], among: Sequence[str] | None = None
) -> dict[str, list[Any]]:
    """Return the factors that differ within some combination of `keys`, with their sorted values.

    A factor is left out if `keys` and the factors before it determine it. `among` are the columns
    that may be factors, if known.
    """
    keys = list(keys)
    runs = frame.drop_duplicates(_configured(frame)) if _configured(frame) else frame
    if len(runs) < 2 or (keys and not runs.duplicated(keys).any()):
        return {}
    if among is not None:
        names = [n for n in among if n in runs.columns]
    else:
        names = [n for n in frames.varied(frame) if _may_be_a_factor(frame, n)]
    if CAMPAIGN in runs.columns:
        names = [CAMPAIGN, *(n for n in names if n != CAMPAIGN)]
    if CONFIG in _configured(frame) and among is None:
        names = [n for n in names if n == CAMPAIGN or is_factor(frame, n)]
    differing: dict[str, list[Any]] = {}
    for name in (n for n in names if n not in keys):
        if _differs(runs, [*keys, *differing], name):
            differing[name] = sorted(runs[name].map(_plain).unique(), key=wording.rank)
    return differing


def refuse(
    frame: pd.DataFrame,
    keys: Sequence[str],
    pool: str | Sequence[str] = (),
    among: Sequence[str] | None = None,
) -> None:
    """Raise DataError if pooled runs differ in a factor that is not in `pool`."""
    pooled = frames.as_list(pool)
    frames.factors(frame, pooled)
    if both := [name for name in pooled if name in keys]:
        raise DataError(f"{both[0]} is in pool and also in rows, columns or series; choose one")
    every = differing_factors(frame, keys, among)
    mixed = {name: values for name, values in every.items() if name not in pooled}
    if mixed and pooled:  # leave out factors that factors in `pool` determine
        mixed = differing_factors(frame, [*keys, *pooled], among)
    if mixed:
        first = next(iter(mixed))
        raise DataError(
            f"runs that differ in {phrase(mixed)} would be one figure: put "
            f"{' and '.join(mixed)} into rows, columns or series, or into pool to combine them "
            f"(--pool {first})"
        )


def remarks(frame: pd.DataFrame, keys: Sequence[str], pool: str | Sequence[str] = ()) -> list[str]:
    """Return remarks on factors of `pool` without effect, and on columns that may be factors."""
    pooled = frames.as_list(pool)
    configured = _configured(frame)
    runs = frame.drop_duplicates(configured) if configured else frame
    sentences = [
        f"pool {name} has no effect: no figure has runs that differ in it"
        for name in dict.fromkeys(pooled)
        if name in runs.columns and name not in keys and not _differs(runs, list(keys), name)
    ]
    doubtful = [] if configured else [n for n in frames.varied(frame) if _may_be_either(frame[n])]
    if doubtful := [name for name in doubtful if name not in (*keys, *pooled)]:
        sentences.append(
            f"{' and '.join(doubtful)} counts as measured, because all values differ; put what was "
            "varied into rows, columns or series"
        )
    return sentences


def phrase(factors: Mapping[str, Sequence[Any]]) -> str:
    """Return factors with their values: "protocol (tcp, udp) and mtu (1500, 9000)"."""
    parts = []
    for name, values in factors.items():
        texts = ["none" if wording.is_missing(v) else wording.text(v) for v in values]
        more = f", … {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
        parts.append(f"{name} ({', '.join(texts[:SHOWN])}{more})")
    return " and ".join(parts)


def _configured(frame: pd.DataFrame) -> list[str]:
    """Return the columns that identify a configuration, if the frame has them."""
    if CONFIG not in frame.columns or frame[CONFIG].isna().any():
        return []
    return [name for name in (CAMPAIGN, CONFIG) if name in frame.columns]


def _may_be_a_factor(frame: pd.DataFrame, name: str) -> bool:
    """Return True unless a column is empty, looks measured or holds times."""
    column = frame[name]
    if pd.api.types.is_datetime64_any_dtype(column):
        return False
    values = column.dropna()
    if values.empty or pd.api.types.is_bool_dtype(column):
        return not values.empty
    if pd.api.types.is_float_dtype(column):
        return not _may_be_either(column)
    first = values.iloc[0]
    return not (isinstance(first, str) and _TIME.match(first) and not values.duplicated().any())


def _may_be_either(column: pd.Series[Any]) -> bool:
    """Return True for floats that may have been varied or measured.

    They are all different, not all multiples of ½, and fewer than three or not evenly spaced.
    """
    values = column.dropna()
    if not pd.api.types.is_float_dtype(column) or len(values) < 2 or values.duplicated().any():
        return False
    numbers = np.sort(values.to_numpy())
    if bool((numbers * 2 % 1 == 0).all()):
        return False
    steps = [np.diff(numbers)]
    if numbers[0] > 0:
        steps.append(np.diff(np.log(numbers)))
    even = any(np.allclose(step, step[0], rtol=1e-3, atol=0) for step in steps)
    return len(numbers) < 3 or not even


def is_factor(frame: pd.DataFrame, name: str) -> bool:
    """Return True if a column has one value in each configuration, so that it was not measured."""
    of_config = frame[_configured(frame)]
    values = of_config.assign(**{_VALUE: _hashable(frame[name])})
    return len(values.drop_duplicates()) == len(of_config.drop_duplicates())


def _differs(runs: pd.DataFrame, keys: Sequence[str], name: str) -> bool:
    """Return True if `name` has several values within some combination of `keys`."""
    texts = _hashable(runs[name])
    if not keys:
        return texts.nunique(dropna=False) > 1
    grouped = texts.groupby([_hashable(runs[key]) for key in keys], dropna=False)
    return bool((grouped.nunique(dropna=False) > 1).any())


_VALUE = " value"
"""A name that no column has."""


def _hashable(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the column with hashable values; only object columns need a conversion."""
    return column.map(_plain) if pd.api.types.is_object_dtype(column) else column


def _plain(value: Any) -> Any:
    """Return the value in a hashable form that equals itself: a missing value becomes None."""
    if isinstance(value, list | dict | set | np.ndarray):
        return str(value)
    return None if wording.is_missing(value) else value
