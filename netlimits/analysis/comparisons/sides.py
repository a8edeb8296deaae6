"""The two sides of a comparison: the configurations of each, and those that cannot be compared."""

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
"""Verdicts of a configuration with ok runs on one side only."""
SHOWN = 6
"""Maximum number of configurations in a note."""

Configured: TypeAlias = pd.DataFrame | ConfigurationRuns

Key = tuple[str, ...]
"""A configuration's values as text, "" for a missing one."""


def ok(side: pd.DataFrame) -> pd.DataFrame:
    """Return the ok runs of a side; none if all failed."""
    runs = frames.last_attempts(side)
    if len(runs) and "status" in runs.columns and not (runs["status"] == "ok").any():
        return runs.iloc[:0]
    return frames.usable(side)


def factors(
    sides: Sequence[pd.DataFrame], tried: Sequence[pd.DataFrame], among: Sequence[str] | None
) -> list[str]:
    """Return the factors that distinguish the configurations of both sides."""
    both = _joined([side for side in sides if len(side)], among)
    names = list(pooling.left_out(both, [], among))
    every = _joined([side for side in tried if len(side)], among)
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
                f"{name} is a factor on one side only, so nothing matches; compare campaigns of "
                "the same experiment"
            )
    return names


def _joined(sides: Sequence[pd.DataFrame], among: Sequence[str] | None) -> pd.DataFrame:
    """Join the sides; of known factors (`among`) one run of each configuration shows all."""
    if among is not None:
        sides = [s.drop_duplicates("config") if "config" in s.columns else s for s in sides]
    return joining.stacked([side.drop(columns=["campaign"], errors="ignore") for side in sides])


def configurations(
    side: pd.DataFrame, factors: Sequence[str], columns: Sequence[str]
) -> dict[Key, Configured]:
    """Return each configuration of a side with its runs, with these columns only."""
    narrow = side[[name for name in side.columns if name in {*factors, *columns}]]
    return {_written(values): runs for values, runs in frames.groups(narrow, factors) if len(runs)}


def of_relation(
    side: Relation, factors: Sequence[str], *, ok: bool, paired: bool = False
) -> dict[Key, Configured]:
    """Return the configurations of a relation: those of ok runs, or of runs with an outcome."""
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
    """Return the first SHOWN configurations in words: "send_size 1024, transport UDP; …"."""
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
    """Yield notes on configurations that are, or have ok runs, on one side only."""
    for side, opposite in ((0, 1), (1, 0)):
        unmatched = [key for key in tried[side] if key not in tried[opposite]]
        if unmatched:
            yield f"only {called[side]}: {listed(unmatched, factors)}"
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
