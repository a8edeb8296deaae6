"""Searches for the highest load that holds: their results, and their trials."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pandas as pd

from netlimits.analysis import attempts, frames
from netlimits.analysis.statistics import intervals
from netlimits.errors import DataError
from netlimits.model.searches import MISSED, OF, TRIALS, WHY, Bounds, bounds, counted

BLOCK = "block"


def searches(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each configuration: the highest load that held, with a 95 % interval.

    If a configuration has a single search, `low` and `high` are the loads that bound its limit.
    """
    of, keys, rows = _trials(frame)
    lines = []
    for key, part in frames.groups(rows, keys):
        each = [_bounds(of, runs) for _, runs in frames.groups(part, [BLOCK])]
        held = pd.Series([result.held for result in each], dtype=float)
        missed = pd.Series([result.missed for result in each], dtype=float)
        low, high = held.mean(), missed.mean()
        if len(each) > 1:
            interval = intervals.mean(held.dropna().to_numpy()) if held.notna().any() else None
            low, high = (interval.low, interval.high) if interval else (low, high)
        reasons = [result.why for result in each if result.why]
        lines.append(
            dict(zip(keys, key, strict=True))
            | {"searches": len(each), f"{of} held": held.mean(), "low": low, "high": high}
            | {f"{of} missed": missed.mean()}
            | {"because": max(reasons, key=reasons.count, default="")}
            | {"trials": len(part)}
        )
    table = pd.DataFrame(lines)
    table.attrs["notes"] = tuple(_notes(table, of))
    return table


def trials(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per trial: factors, `block`, `trial` (from 1), load, `held` and `why`."""
    of, keys, rows = _trials(frame)
    table = rows[[*keys, BLOCK, of]].copy()
    table["trial"] = rows.groupby([*keys, BLOCK], sort=False, dropna=False).cumcount() + 1
    table["held"] = (rows["status"] == "ok") & (rows[MISSED] == 0)
    table["why"] = rows[WHY].where(rows["status"] == "ok", rows["reason"]).fillna("")
    return table


def limits(frame: pd.DataFrame) -> Iterator[tuple[dict[str, Any], Bounds]]:
    """Yield for each search its factors and block, and the bounds that it found."""
    of, keys, rows = _trials(frame)
    for key, part in frames.groups(rows, [*keys, BLOCK]):
        yield dict(zip([*keys, BLOCK], key, strict=True)), _bounds(of, part)


def searched(frame: pd.DataFrame) -> str:
    """Return the factor whose limit the runs search. Raises DataError if no run is a trial."""
    if OF not in frame.columns or not frame[OF].notna().any():
        raise DataError(
            "no run is a trial of a search: the experiment has no `search`, or no trial was ok"
        )
    return str(frame[OF].dropna().iloc[0])


def _trials(frame: pd.DataFrame) -> tuple[str, list[str], pd.DataFrame]:
    """Return the factor that was searched, the other factors that vary, and the trials in order."""
    of = searched(frame)
    rows = attempts.with_outcome(frame).sort_values("run")
    known = frame.attrs.get("columns", {}).get("factors", ())
    keys = [name for name in known if name != of and rows[name].astype(str).nunique() > 1]
    return of, keys, rows


def _bounds(of: str, runs: pd.DataFrame) -> Bounds:
    """Return the bounds that the trials of one search found."""
    columns: Sequence[Hashable] = [of, "status", MISSED, WHY, "reason"]
    attempts = [
        (
            float(load),
            str(status),
            None if pd.isna(missed) else float(missed) / 100,
            str(reason if pd.isna(why) else why),
        )
        for load, status, missed, why, reason in runs[columns].itertuples(index=False)
    ]
    decides = runs[TRIALS].dropna()
    return bounds(counted(attempts), int(decides.iloc[0]) if len(decides) else 1)


def _notes(table: pd.DataFrame, of: str) -> Iterator[str]:
    if table[f"{of} held"].isna().any():
        yield f"No {of} held, not even the lowest: lower `search.from`, or look at the reasons."
    if table[f"{of} missed"].isna().any():
        yield f"The highest {of} held: raise `search.to` to find the limit."
    if (table["searches"] == 1).all():
        yield (
            "low to high: the highest load that held and the lowest that did not. For an interval "
            "over searches set `repeat.replicates`."
        )
    else:
        yield "low to high: 95 % interval of the mean over searches."
