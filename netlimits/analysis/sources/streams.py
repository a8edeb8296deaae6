"""Read the figures of a relation's runs into an array for each cell, column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from netlimits.analysis import frames, wording
from netlimits.analysis.sources import sketches
from netlimits.analysis.sources.relations import Relation, answer, frame_of, literal, quoted
from netlimits.analysis.sources.sketches import RUNS, Key
from netlimits.model import OUTCOMES

BATCH = 1 << 20
"""Rows to read from DuckDB at once."""


def samples(
    runs: Relation, keys: Sequence[str], columns: Sequence[str]
) -> dict[Key, tuple[np.ndarray, ...]]:
    """Return key -> an array for each column with the values of its ok runs (NaN for missing)."""
    cells = sketches.counts(runs, keys, ("ok",))
    counts = cells[RUNS].to_numpy(dtype=np.int64)
    numbered = cells[[*keys]].assign(code=np.arange(len(counts), dtype=np.int32))
    codes = runs.register(pa.Table.from_pandas(numbered, preserve_index=False))
    matched = [f"runs.{quoted(n)} is not distinct from {codes}.{quoted(n)}" for n in keys]
    values = ", ".join(_number(runs, name) for name in columns)
    joined = f"runs join {codes} on {' and '.join(matched) or 'true'}"
    query = f"select code, {values} from {joined} where {runs.ok}"
    kinds = [np.int32 if name == "block" else np.float64 for name in columns]
    arrays = [np.empty(int(counts.sum()), kind) for kind in kinds]
    begins = np.cumsum(counts) - counts
    _fill(arrays, begins.copy(), answer(runs.last, query).to_arrow_reader(BATCH))
    runs.connection.unregister(codes)
    every = [*zip(*(cells[name] for name in keys), strict=True)] if keys else [()] * len(cells)
    return {
        key: tuple(array[begin : begin + count] for array in arrays)
        for key, begin, count in zip(every, begins.tolist(), counts.tolist(), strict=True)
    }


def _fill(arrays: Sequence[np.ndarray], filled: np.ndarray, batches: pa.RecordBatchReader) -> None:
    """Append batches of (code, values…) to the arrays of each code."""
    for batch in batches:
        code, *columns = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        order = np.argsort(code, kind="stable")
        firsts = np.flatnonzero(np.diff(code[order], prepend=-1))
        for rows in np.split(order, firsts[1:]) if len(order) else ():
            of = code[rows[0]]
            for array, values in zip(arrays, columns, strict=True):
                array[filled[of] : filled[of] + len(rows)] = values[rows]
            filled[of] += len(rows)


def by_block(
    runs: Relation, keys: Sequence[str], column: str, most: float, blocks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three arrays over blocks: sum of ok runs' scores, their number, and failed runs.

    A run's score is its distance from the mean of all ok runs with the same keys, in standard
    deviations, limited to ±`most`. Only the first `blocks` blocks are read.
    """
    value, names = _number(runs, column), [quoted(name) for name in keys]
    cells = "".join(f", runs.{name} as {name}" for name in names)
    grouped = f"group by {', '.join(names)}" if names else ""
    matched = " and ".join(f"ok.{name} is not distinct from cells.{name}" for name in names)
    first = runs.evaluate(first="min(block)")["first"]
    outcome = f"status in {OUTCOMES}" if "status" in runs.columns else "true"
    score = "(value - middle) / nullif(deviation, 0)"
    ended = answer(
        runs.last.filter(f"block < {first + blocks}"),
        f"with ok as (select runs.block as block, {value} as value{cells} from runs "
        f"where {runs.ok}), "
        "cells as (select avg(value) as middle, stddev_samp(value) as deviation"
        f"{''.join(f', {name}' for name in names)} from ok {grouped}), "
        f"scored as (select block, {score} as score from ok join cells on {matched or 'true'}), "
        f"sums as (select block, sum(greatest(-{most}, least({most}, score))) as sum, "
        "count(score) as runs from scored where score is not null group by block), "
        f"tried as (select block, count(*) filter (where not coalesce({runs.ok}, false)) as failed "
        f"from runs where {outcome} group by block) "
        "select coalesce(sum, 0) as sum, coalesce(runs, 0) as runs, failed "
        "from tried left join sums using (block) order by block",
    )
    table = frame_of(ended)
    sums, counts, failed = (table[name].to_numpy(float) for name in ("sum", "runs", "failed"))
    return sums, counts, failed


def _number(runs: Relation, column: str) -> str:
    """Return SQL for a column as numbers; if null, the tool's own column, as in `frames.usable`."""
    if column == "block":
        return "runs.block"
    own = frames.tools_own_of(runs.columns, column)
    names = [name for name in dict.fromkeys((column, *own)) if name in runs.columns]
    return f"cast(coalesce({', '.join(f'runs.{quoted(n)}' for n in names) or 'null'}) as double)"


def figures(runs: Relation, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of the ok runs as numbers, with NaN for text."""
    names = ", ".join(f"try_cast({quoted(n)} as double) as {quoted(n)}" for n in columns)
    return frame_of(answer(runs.last, f"select {names} from runs where {runs.ok}"))


def failures(runs: Relation, keys: Sequence[str], key: Key) -> pd.DataFrame:
    """Return status and reason of the runs with this key that have an outcome and are not ok."""
    names = [name for name in ("status", "reason") if name in runs.columns]
    of_key = " and ".join(
        f"{quoted(name)} is not distinct from {literal(value)}"
        for name, value in zip(keys, wording.hashed(key), strict=True)
    )
    others = f"status in {OUTCOMES} and status <> 'ok'"
    query = f"select {', '.join(names)} from runs where {of_key or 'true'} and {others}"
    return frame_of(answer(runs.last, query))
