"""The two sides of a comparison: the configurations of each, and those that cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import attempts, frames, pooling, wording
from netlimits.analysis.sources import joining, sketches, streams
from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.analysis.statistics import cells
from netlimits.analysis.statistics.cells import CellRuns, Grid, Streamed
from netlimits.errors import DataError
from netlimits.metrics import Metric
from netlimits.model import OUTCOMES

FAILED, RECOVERED = "failed", "recovered"
"""Verdicts of a configuration with ok runs on one side only."""
SHOWN = 6
"""Maximum number of configurations in a note."""

Key = tuple[str, ...]
"""The values of a configuration's factors as text; a missing value is ""."""


def ok(side: pd.DataFrame, among: Sequence[str] | None) -> pd.DataFrame:
    """Return the ok runs of a side from which `factors` finds the factors; none if all failed."""
    runs = attempts.last_attempts(side)
    if len(runs) and "status" in runs.columns and not (runs["status"] == "ok").any():
        return runs.iloc[:0]
    return _one_per_configuration(frames.usable(side), among)


def _one_per_configuration(side: pd.DataFrame, among: Sequence[str] | None) -> pd.DataFrame:
    """Return one run of each configuration if the factors are known (`among`), else all runs."""
    known = among is not None and "config" in side.columns
    return side.drop_duplicates("config") if known else side


def factors(
    sides: Sequence[pd.DataFrame], tried: Sequence[pd.DataFrame], among: Sequence[str] | None
) -> list[str]:
    """Return the factors that distinguish the configurations of both sides."""
    both = _joined([side for side in sides if len(side)], among)
    names = list(pooling.differing_factors(both, [], among))
    every = _joined([side for side in tried if len(side)], among)
    here = [name for name in names if name in every.columns]
    failed = every[every["status"] != "ok"] if "status" in every.columns else every[:0]
    names += [
        name
        for name in pooling.differing_factors(every, here, among)
        if among is not None or failed[name].notna().all()
    ]
    for name in names:
        if not all(name in side.columns for side in tried):
            raise DataError(
                f"{name} is a factor on one side only, so nothing matches; compare campaigns of "
                "the same experiment"
            )
    return names


def _joined(sides: Sequence[pd.DataFrame], among: Sequence[str] | None) -> pd.DataFrame:
    runs = [_one_per_configuration(side, among) for side in sides]
    return joining.stacked([side.drop(columns=["campaign"], errors="ignore") for side in runs])


def grid(
    runs: Runs, tried: pd.DataFrame, factors: Sequence[str], figures: Sequence[str], unit: str
) -> Grid | Streamed:
    """Return a side's runs that have an outcome, grouped by factors.

    `unit` is the column of blocks or sessions, or "". `figures` are the columns of metrics.
    """
    if isinstance(runs, Relation):
        return Streamed(tuple(factors), runs, unit == "block")
    names = {*factors, *figures, unit, "status", "reason"}
    tried = frames.with_process_cpu(tried)
    tried = tried[[name for name in tried.columns if name in names]]
    good = np.ones(len(tried), bool)
    if "status" in tried.columns:
        good = (tried["status"] == "ok").to_numpy(bool)
    units = tried[unit].to_numpy() if unit in tried.columns else None
    return cells.of_frame(tried, good, factors, units)


def ordered(grid: Grid | Streamed) -> dict[Key, tuple[cells.Key, int]]:
    """Return configuration -> its values and number of runs with an outcome, sorted by value."""
    if isinstance(grid, Streamed):
        every = [*sketches.cells(grid.relation, grid.keys, OUTCOMES).values()]
    else:
        every = [(key, len(rows)) for key, rows in grid.places.values()]
    every.sort(key=lambda item: tuple(map(wording.rank, item[0])))
    return {_written(key): (key, count) for key, count in every}


def figures(grid: Grid | Streamed, name: str, metric: Metric) -> dict[Key, CellRuns]:
    """Return the ok runs of each configuration. Raises DataError for an infinite figure."""
    every = cells.rows(grid, metric)
    if any(np.isinf(each.values).any() for each in every):
        raise DataError(f"{metric.column} is infinite in a run {name}")
    return {_written(each.key): each for each in every}


def _written(values: Iterable[Any]) -> Key:
    return tuple("" if wording.is_missing(value) else wording.text(value) for value in values)


def _outcomes(grid: Grid | Streamed, key: cells.Key) -> str:
    """Return how the runs of a configuration ended, in words."""
    if isinstance(grid, Streamed):
        return wording.outcomes(streams.failures(grid.relation, grid.keys, key))
    return wording.outcomes(grid.tried.iloc[grid.places[wording.hashed(key)][1]])


def listed(keys: Iterable[Key], factors: Sequence[str]) -> str:
    """Return the first SHOWN configurations in words: "send_size 1024, transport UDP; …"."""
    configurations = [
        ", ".join(f"{name} {value}" for name, value in zip(factors, key, strict=True) if value)
        for key in keys
    ]
    more = f" and {len(configurations) - SHOWN} more" if len(configurations) > SHOWN else ""
    return "; ".join(configurations[:SHOWN]) + more


def gaps(
    grids: Sequence[Grid | Streamed],
    ok: Sequence[Mapping[Key, int]],
    factors: Sequence[str],
    called: Sequence[str],
) -> Iterator[str]:
    """Yield notes on configurations that a side lacks, or that have no ok runs on a side.

    `ok` has a mapping for each side: configuration -> number of ok runs.
    """
    tried = [ordered(grid) for grid in grids]
    for side, opposite in ((0, 1), (1, 0)):
        unmatched = [key for key in tried[side] if key not in tried[opposite]]
        if unmatched:
            yield f"only {called[side]}: {listed(unmatched, factors)}"
    for side, opposite in ((0, 1), (1, 0)):
        for key, (values, count) in tried[side].items():
            if ok[side].get(key) or key not in tried[opposite]:
                continue
            where = listed([key], factors)
            yield (
                f"{FAILED} {called[side]}: {f'{where}: ' if where else ''}0 of {count} runs ok "
                f"({_outcomes(grids[side], values)}); {ok[opposite].get(key, 0)} of "
                f"{tried[opposite][key][1]} {called[opposite]}"
            )
