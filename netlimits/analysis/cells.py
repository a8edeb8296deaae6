"""The cells of a table: for each combination of some factors the runs that stand in it.

All that came to something counts as `runs` of its cell, and what is ok gives the figures, so that
a configuration whose runs all failed has its cell too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import contrasts, frames, wording
from netlimits.errors import DataError
from netlimits.metrics import Metric

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


def grid(frame: pd.DataFrame, keys: Sequence[str]) -> Grid:
    """The runs of `frame` by the factors `keys`. Raises DataError where none is ok."""
    ok = frames.usable(frame)
    return Grid(tuple(keys), ok, _places(ok, keys), _places(frames.with_outcome(frame), keys))


def cells(grid: Grid, metric: Metric, *, partial: bool = False) -> list[Cell]:
    """Each cell with its figures of `metric`, in the order of `wording.rank`.

    Raises DataError for a metric that is infinite in some run, that no run has, or that some runs
    of a cell have and others lack, unless it is known to be `partial`: then the others count.
    """
    values = grid.ok[metric.column].to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise DataError(f"{metric.column} is infinite in some run")
    if np.isnan(values).all():
        raise DataError(f"{metric.column} has no value in any run")
    weights = frames.weights(grid.ok).to_numpy()
    numbered = contrasts.blocks(grid.ok)
    blocks = None if numbered is None else numbered.to_numpy()
    ordered = []
    for hashed, (key, tried) in grid.tried_places.items():
        _, rows = grid.ok_places.get(hashed, (key, np.array([], dtype=int)))
        lacking = np.isnan(values[rows])
        if lacking.any() and not lacking.all() and not partial:
            raise DataError(_lacking(grid, key, metric, lacking))
        untold = bool(lacking.size and lacking.all())
        rows = rows[~lacking]
        of_rows = None if blocks is None else blocks[rows]
        ordered.append(Cell(key, values[rows], weights[rows], of_rows, len(tried), untold))
    return sorted(ordered, key=lambda cell: tuple(wording.rank(value) for value in cell.key))


def _lacking(grid: Grid, key: Key, metric: Metric, lacking: np.ndarray) -> str:
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
        places[hashed(key)] = (key, rows)
    return places


def hashed(key: Key) -> Key:
    """The key as it can be looked up: a missing value, which equals none, is None."""
    return tuple(None if wording.is_missing(value) else value for value in key)
