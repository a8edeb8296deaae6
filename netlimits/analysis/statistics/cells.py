"""The cells of a table: the ok runs of each combination of factors, and its number of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from netlimits.analysis import attempts, frames, wording
from netlimits.analysis.sources import sketches, streams
from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.errors import DataError
from netlimits.metrics import Metric
from netlimits.model import OUTCOMES

Key = tuple[Any, ...]
"""The factors' values of a cell."""

Places = dict[Key, tuple[Key, np.ndarray]]
"""Hashable key (a missing value is None) -> the key, and the positions of its rows."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's ok runs with a value, and its number of `runs` with an outcome.

    `unreported` is True if ok runs exist, but none has a value.
    """

    key: Key
    sample: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray | None
    runs: int
    unreported: bool = False

    @property
    def n(self) -> int:
        """Number of runs behind the figure."""
        return int(self.weights.sum())

    @property
    def aggregated(self) -> bool:
        """True if a row is the mean of several runs."""
        return bool((self.weights > 1).any())

    @property
    def mean(self) -> float:
        """Mean over the runs, NaN for none."""
        return float(np.average(self.sample, weights=self.weights)) if len(self.sample) else np.nan


@dataclass(frozen=True, slots=True)
class Grid:
    """The runs of a frame that have an outcome (`tried`), grouped into cells by factors.

    `places` has the positions in `tried` of each cell's runs, and `ok` those of its ok runs.
    """

    keys: tuple[str, ...]
    tried: pd.DataFrame
    places: Places
    ok: Places
    weights: np.ndarray
    blocks: np.ndarray | None


class CellRuns(NamedTuple):
    """A cell's ok runs (NaN for a missing value), and its number of `runs` with an outcome."""

    key: Key
    values: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray | None
    runs: int


@dataclass(frozen=True, slots=True)
class Streamed:
    """A relation's runs, grouped by factors; of a run, only the metric and the block are read."""

    keys: tuple[str, ...]
    relation: Relation
    blocked: bool


def grid(runs: Runs, keys: Sequence[str], *, compares: bool = True) -> Grid | Streamed:
    """Return the runs grouped by the factors `keys`, with their blocks if `compares`.

    Raises DataError if no run is ok.
    """
    if isinstance(runs, Relation):
        frames.ok(sketches.sketch(runs))  # raises DataError with the reason
        return Streamed(tuple(keys), runs, compares and runs.in_blocks)
    last = attempts.last_attempts(runs)
    frames.ok(last)  # raises DataError with the reason
    tried = frames.with_process_cpu(attempts.with_outcome(last))
    good = frames.ok(tried)
    return of_frame(tried, good, keys, _blocks(tried, good) if compares else None)


def of_frame(
    tried: pd.DataFrame, good: np.ndarray, keys: Sequence[str], blocks: np.ndarray | None
) -> Grid:
    """Return the grid of runs with an outcome; `good` marks the ok runs among them."""
    places = _places(tried, keys)
    ok = {hashed: (key, rows[good[rows]]) for hashed, (key, rows) in places.items()}
    weights = np.broadcast_to(1, len(tried))
    if frames.AGGREGATED in tried.columns:
        weights = np.ones(len(tried), int)
        weights[good] = frames.weights(tried[good])
    return Grid(tuple(keys), tried, places, ok, weights, blocks)


def _blocks(tried: pd.DataFrame, good: np.ndarray) -> np.ndarray | None:
    """Return the block of each run (0 for a failed run), or None if the runs have no blocks."""
    names = [name for name in ("campaign", "run", "block") if name in tried.columns]
    numbered = frames.blocks(tried[names][good])
    if numbered is None:
        return None
    of_good = numbered.to_numpy()
    blocks = np.zeros(len(tried), of_good.dtype)
    blocks[good] = of_good
    return blocks


def rows(grid: Grid | Streamed, metric: Metric) -> list[CellRuns]:
    """Return the runs' values of a metric, for each combination with an outcome."""
    if isinstance(grid, Streamed):
        return _streamed(grid, metric)
    values = np.full(len(grid.tried), np.nan)
    if metric.column in grid.tried.columns:
        values = pd.to_numeric(grid.tried[metric.column], errors="coerce").to_numpy(
            dtype=float, na_value=np.nan
        )
    every = []
    for hashed_key, (key, places) in grid.ok.items():
        blocks = None if grid.blocks is None else grid.blocks[places]
        _, tried = grid.places[hashed_key]
        weights = grid.weights[places]
        every.append(CellRuns(key, values[places], weights, blocks, len(tried)))
    return every


def _streamed(grid: Streamed, metric: Metric) -> list[CellRuns]:
    if frames.AGGREGATED in grid.relation.columns:
        raise DataError(
            f"{frames.AGGREGATED}: a relation cannot have rows that are means; use a frame"
        )
    columns = [metric.column, *(["block"] if grid.blocked else [])]
    every_sample = streams.samples(grid.relation, grid.keys, columns)
    samples = {wording.hashed(key): values for key, values in every_sample.items()}
    nothing = (np.empty(0), np.empty(0, dtype=int))
    every = []
    for hashed_key, (key, tried) in sketches.cells(grid.relation, grid.keys, OUTCOMES).items():
        values, *blocks = samples.get(hashed_key, nothing)
        weights = np.broadcast_to(1, len(values))
        every.append(CellRuns(key, values, weights, blocks[0] if blocks else None, tried))
    return every


def cells(grid: Grid | Streamed, metric: Metric, *, partial: bool = False) -> list[Cell]:
    """Return each cell of a metric, in the order of `wording.rank`.

    Raises DataError if a value is infinite, or if all values are missing. Unless `partial`, it also
    raises DataError if only some runs of a cell have a value.
    """
    every = rows(grid, metric)
    if any(np.isinf(each.values).any() for each in every):
        raise DataError(f"{metric.column} is infinite in a run")
    if all(np.isnan(each.values).all() for each in every):
        raise DataError(f"{metric.column} has no value in any run")
    ordered = []
    for key, values, weights, blocks, runs in every:
        lacking = np.isnan(values)
        if lacking.any() and not lacking.all() and not partial:
            raise DataError(_lacking(grid, key, metric, lacking))
        unreported = bool(lacking.size and lacking.all())
        if lacking.any():
            values, weights = values[~lacking], weights[~lacking]
            blocks = None if blocks is None else blocks[~lacking]
        ordered.append(Cell(key, values, weights, blocks, runs, unreported))
    return sorted(ordered, key=lambda cell: tuple(wording.rank(value) for value in cell.key))


def complete(runs: Runs, keys: Sequence[str], metric: Metric) -> list[tuple[Key, np.ndarray]]:
    """Return the metric of the ok runs by the keys, in the order of `wording.rank`.

    Raises DataError if a value is missing or infinite.
    """
    every = rows(grid(runs, keys, compares=False), metric)
    of_keys = {each.key: each.values for each in every if len(each.values)}
    count = sum(map(len, of_keys.values()))
    for what, is_so in (("missing", np.isnan), ("infinite", np.isinf)):
        if number := sum(int(is_so(values).sum()) for values in of_keys.values()):
            raise DataError(f"{metric.column} is {what} in {number} of {count} runs")
    return sorted(of_keys.items(), key=lambda item: tuple(map(wording.rank, item[0])))


def _lacking(grid: Grid | Streamed, key: Key, metric: Metric, lacking: np.ndarray) -> str:
    pairs = zip(grid.keys, key, strict=True)
    where = ", ".join(f"{name} {wording.text(value)}" for name, value in pairs)
    return (
        f"{metric.column} is missing in {int(lacking.sum())} of the {len(lacking)} runs"
        f"{f' of {where}' if where else ''}; choose another metric, or leave these runs out"
    )


def _places(runs: pd.DataFrame, keys: Sequence[str]) -> Places:
    """Return the positions of the rows of each combination of the keys' values."""
    if not keys:
        return {(): ((), np.arange(len(runs)))} if len(runs) else {}
    codes = np.zeros(len(runs), np.int64)
    for name in keys:
        numbers, values = pd.factorize(runs[name], use_na_sentinel=False)
        codes *= len(values)
        codes += numbers
        if codes.max(initial=0) < 2**15:  # numpy sorts 16-bit integers by radix
            continue
        codes = pd.factorize(codes)[0]
    if codes.max(initial=0) < 2**15:
        codes = codes.astype(np.int16)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    names = zip(*(runs[name].iloc[order[starts]] for name in keys), strict=True)
    rows = zip(names, np.split(order, starts[1:]), strict=False)  # both may be empty
    return {wording.hashed(key): (key, own) for key, own in rows}
