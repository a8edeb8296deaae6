"""The cells of a table: for each combination of some factors the runs that stand in it.

All that came to something counts as `runs` of its cell, and what is ok gives the figures, so that
a configuration whose runs all failed has its cell too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from netlimits.analysis import contrasts, frames, sketches, streams, wording
from netlimits.analysis.relations import Relation, Runs
from netlimits.errors import DataError
from netlimits.metrics import Metric
from netlimits.model import OUTCOMES

Key = tuple[Any, ...]
"""The factors' values of one cell."""

Places = dict[Key, tuple[Key, np.ndarray]]
"""A key as it hashes (a missing value is None) -> the key itself, and the places of its rows."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of row and columns: its runs' figures, their weights and blocks.

    `runs` is how many came to something, ok or not; `key` is what they have in common. `untold`
    says that runs were ok and none of them has the figure, as with a tool that does not tell it.
    """

    key: Key
    sample: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray | None
    runs: int
    untold: bool = False

    @property
    def n(self) -> int:
        """How many runs stand behind the figure."""
        return int(self.weights.sum())

    @property
    def aggregated(self) -> bool:
        """Whether some row is the mean of several runs."""
        return bool((self.weights > 1).any())

    @property
    def mean(self) -> float:
        """The mean over the runs; NaN where there is none."""
        return float(np.average(self.sample, weights=self.weights)) if len(self.sample) else np.nan


@dataclass(frozen=True, slots=True)
class Grid:
    """A frame's runs laid out by factors: `ok` are the runs that count, `tried` where all stand."""

    keys: tuple[str, ...]
    ok: pd.DataFrame
    ok_places: Places
    tried_places: Places


class CellRuns(NamedTuple):
    """The runs of one combination: their values (NaN: none), weights and blocks, and how many.

    `runs` are those that came to something, ok or not.
    """

    key: Key
    values: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray | None
    runs: int


@dataclass(frozen=True, slots=True)
class Streamed:
    """A relation's runs laid out by factors: read when a metric is asked for, that metric alone.

    `ok` stands for the runs that count. Blocks are read where somebody `compares` within them.
    """

    keys: tuple[str, ...]
    ok: pd.DataFrame
    relation: Relation
    compares: bool


def grid(runs: Runs, keys: Sequence[str], *, compares: bool = True) -> Grid | Streamed:
    """The runs by the factors `keys`. Raises DataError where none is ok."""
    if isinstance(runs, Relation):
        return Streamed(tuple(keys), frames.usable(sketches.sketch(runs)), runs, compares)
    frame = runs
    ok = frames.usable(frame)
    return Grid(tuple(keys), ok, _places(ok, keys), _places(frames.with_outcome(frame), keys))


def rows(grid: Grid | Streamed, metric: Metric) -> list[CellRuns]:
    """The runs' values of a metric, for each combination that some run has come to something of."""
    if isinstance(grid, Streamed):
        return _streamed(grid, metric)
    values = grid.ok[metric.column].to_numpy(dtype=float, na_value=np.nan)
    weights = frames.weights(grid.ok).to_numpy()
    numbered = contrasts.blocks(grid.ok)
    blocks = None if numbered is None else numbered.to_numpy()
    every = []
    for hashed_key, (key, tried) in grid.tried_places.items():
        _, places = grid.ok_places.get(hashed_key, (key, np.array([], dtype=int)))
        of_rows = None if blocks is None else blocks[places]
        every.append(CellRuns(key, values[places], weights[places], of_rows, len(tried)))
    return every


def _streamed(grid: Streamed, metric: Metric) -> list[CellRuns]:
    if frames.AGGREGATED in grid.relation.columns:
        raise DataError(f"{frames.AGGREGATED}: rows that are means of runs come in a frame alone")
    blocked = grid.compares and grid.relation.in_blocks
    columns = [metric.column, *(["block"] if blocked else [])]
    every_sample = streams.samples(grid.relation, grid.keys, columns)
    samples = {wording.hashed(key): values for key, values in every_sample.items()}
    nothing = (np.empty(0), np.empty(0, dtype=int))
    every = []
    for hashed_key, (key, tried) in sketches.cells(grid.relation, grid.keys, OUTCOMES).items():
        values, *blocks = samples.get(hashed_key, nothing)
        weights = np.broadcast_to(1, len(values))
        every.append(CellRuns(key, values, weights, blocks[0] if blocked else None, tried))
    return every


def cells(grid: Grid | Streamed, metric: Metric, *, partial: bool = False) -> list[Cell]:
    """Each cell with its figures of `metric`, in the order of `wording.rank`.

    Raises DataError for a metric that is infinite in some run, that no run has, or that some runs
    of a cell have and others lack, unless it is known to be `partial`: then the others count.
    """
    every = rows(grid, metric)
    if any(np.isinf(each.values).any() for each in every):
        raise DataError(f"{metric.column} is infinite in some run")
    if all(np.isnan(each.values).all() for each in every):
        raise DataError(f"{metric.column} has no value in any run")
    ordered = []
    for key, values, weights, blocks, runs in every:
        lacking = np.isnan(values)
        if lacking.any() and not lacking.all() and not partial:
            raise DataError(_lacking(grid, key, metric, lacking))
        untold = bool(lacking.size and lacking.all())
        if lacking.any():
            values, weights = values[~lacking], weights[~lacking]
            blocks = None if blocks is None else blocks[~lacking]
        ordered.append(Cell(key, values, weights, blocks, runs, untold))
    return sorted(ordered, key=lambda cell: tuple(wording.rank(value) for value in cell.key))


def complete(runs: Runs, keys: Sequence[str], metric: Metric) -> list[tuple[Key, np.ndarray]]:
    """The figures of the runs that are ok, by the keys, in the order of `wording.rank`.

    Raises DataError, with their number, where runs lack the metric or have an infinite one.
    """
    if not isinstance(runs, Relation):
        own = frames.tools_own_of(runs.columns, metric.column)
        names = {*keys, metric.column, *own, "campaign", "run", "attempt", "status", "reason"}
        ok = frames.usable(runs[[name for name in runs.columns if name in names]])
        frame = frames.complete(ok, [metric.column])[[*keys, metric.column]]
        return [
            (key, part[metric.column].to_numpy(dtype=float))
            for key, part in frames.groups(frame, keys)
        ]
    of_keys = {
        key: values[0] for key, values in streams.samples(runs, keys, [metric.column]).items()
    }
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
        f"{f' of {where}' if where else ''}"
    )


def _places(runs: pd.DataFrame, keys: Sequence[str]) -> Places:
    """Where the rows of each combination of the keys' values stand."""
    if not keys:
        return {(): ((), np.arange(len(runs)))} if len(runs) else {}
    codes = runs.groupby(list(keys), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    places = {}
    for rows in np.split(order, starts[1:]):
        key = tuple(runs[name].iloc[rows[0]] for name in keys)
        places[wording.hashed(key)] = (key, rows)
    return places
