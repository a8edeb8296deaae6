"""The two sides of a comparison: which configurations stand on each, and what that leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import pandas as pd

from netlimits.analysis import frames, pooling, wording
from netlimits.analysis.sources import joining, sketches
from netlimits.analysis.sources.relations import Relation
from netlimits.analysis.sources.streams import ConfigurationRuns
from netlimits.errors import DataError
from netlimits.model import OUTCOMES

FAILED, RECOVERED = "failed", "recovered"
"""What became of a configuration that has runs which are ok on one side only."""
SHOWN = 6
"""Configurations that a note names."""

Configured: TypeAlias = pd.DataFrame | ConfigurationRuns
"""The runs of a configuration."""

Key = tuple[str, ...]
"""A configuration's values as they are written, "" where it has none."""


def ok(side: pd.DataFrame) -> pd.DataFrame:
    """The runs of a side that are ok: none, where all of them failed."""
    runs = frames.last_attempts(side)
    if len(runs) and "status" in runs.columns and not (runs["status"] == "ok").any():
        return runs.iloc[:0]
    return frames.usable(side)


def factors(
    sides: Sequence[pd.DataFrame], tried: Sequence[pd.DataFrame], among: Sequence[str] | None
) -> list[str]:
    """The columns that tell the configurations of both sides apart.

    Runs that failed have their configurations too. Where nothing says which columns are factors,
    those that a run which failed lacks are taken for what it did not live to measure. Raises
    DataError for a factor that one side lacks.
    """
    both = _joined([side for side in sides if len(side)])
    names = list(pooling.left_out(both, [], among))
    every = _joined([side for side in tried if len(side)])
    here = [name for name in names if name in every.columns]
    failed = every[every["status"] != "ok"] if "status" in every.columns else every[:0]
    names += [
        name
        for name in pooling.left_out(every, here, among)
        if among is not None or failed[name].notna().all()
    ]
    for name in names:
        if not all(name in side.columns for side in tried):
            raise DataError(
                f"{name} is a factor on one side only: nothing matches; compare campaigns of the "
                "same experiment"
            )
    return names


def _joined(sides: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return joining.stacked([side.drop(columns=["campaign"], errors="ignore") for side in sides])


def configurations(side: pd.DataFrame, factors: Sequence[str]) -> dict[Key, Configured]:
    """Each configuration of a side with its runs."""
    return {_written(values): runs for values, runs in frames.groups(side, factors) if len(runs)}


def of_relation(
    side: Relation, factors: Sequence[str], *, ok: bool, paired: bool = False
) -> dict[Key, Configured]:
    """The same of a relation: of the runs that are ok, or of those that have an outcome."""
    every = sketches.cells(side, factors, ("ok",) if ok else OUTCOMES)
    ordered = sorted(every.values(), key=lambda item: tuple(map(wording.rank, item[0])))
    return {
        _written(key): ConfigurationRuns(side, factors, key, count, paired)
        for key, count in ordered
    }


def _written(values: Iterable[Any]) -> Key:
    return tuple("" if wording.is_missing(value) else wording.text(value) for value in values)


def _outcomes(runs: Configured) -> pd.DataFrame:
    return runs.outcomes if isinstance(runs, ConfigurationRuns) else runs


def listed(keys: Iterable[Key], factors: Sequence[str]) -> str:
    """Configurations in words: "send_size 1024, transport UDP; …", not all of many."""
    configurations = [
        ", ".join(f"{name} {value}" for name, value in zip(factors, key, strict=True) if value)
        for key in keys
    ]
    more = f" and {len(configurations) - SHOWN} more" if len(configurations) > SHOWN else ""
    return "; ".join(configurations[:SHOWN]) + more


def gaps(
    ok: Sequence[dict[Key, Configured]],
    tried: Sequence[dict[Key, Configured]],
    factors: Sequence[str],
    called: Sequence[str],
) -> Iterator[str]:
    """Notes on configurations of one side only, and on those whose runs all failed on a side.

    They call the sides what these are `called`.
    """
    for side, opposite in ((0, 1), (1, 0)):
        alone = [key for key in tried[side] if key not in tried[opposite]]
        if alone:
            yield f"only {called[side]}: {listed(alone, factors)}"
    for side, opposite in ((0, 1), (1, 0)):
        for key, runs in tried[side].items():
            if key in ok[side] or key not in tried[opposite]:
                continue
            where = listed([key], factors)
            good, every = (len(part[opposite].get(key, ())) for part in (ok, tried))
            yield (
                f"{FAILED} {called[side]}: {f'{where}: ' if where else ''}0 of {len(runs)} runs ok "
                f"({wording.outcomes(_outcomes(runs))}); {good} of {every} {called[opposite]}"
            )
