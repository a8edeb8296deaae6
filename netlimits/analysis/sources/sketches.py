"""What stands for a relation's runs where only their kinds matter: a frame of two rows of each.

Which factors there are, what would be pooled, which way the data went: all of that is judged of a
sketch by what judges it of a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import frames, wording
from netlimits.analysis.sources.relations import Relation, Runs, answer, frame_of, quoted
from netlimits.metrics import metric
from netlimits.model import OUTCOMES

RUNS = "runs of this kind"
"""The column that says of how many runs a kind is; no campaign has one of that name."""

SIGNS = (
    *("transaction_rate_tps", "local_recv_throughput_mbps", "remote_send_throughput_mbps"),
    *("local_send_throughput_mbps", "remote_recv_throughput_mbps"),
)
"""Columns by which frames.direction judges: what matters is where they are above zero."""

TOLD = ("config", "campaign", "status", "shared_kernel", "paced_by")
"""Columns of which every value is there, beside factors and derived values."""

Key = tuple[Any, ...]


def sketched(runs: Runs, of: str | Sequence[str] = ()) -> pd.DataFrame:
    """What stands for the runs: of a frame itself, of a relation a sketch with the metrics `of`."""
    if isinstance(runs, pd.DataFrame):
        return runs
    figures = []
    for name in [of] if isinstance(of, str) else of:
        column = metric(name).column
        figures += [column, f"netperf_{column}", *frames.tools_own_of(runs.columns, column)]
    return sketch(runs, figures)


def sketch(runs: Relation, figures: Sequence[str] = ()) -> pd.DataFrame:
    """Two rows, or one of a lone run, of each combination of labels, status and direction.

    Of last attempts. A column that is there but none of those has a value for the `figures` alone:
    that of some run of the combination.
    """
    kinds = _kinds(runs, frozenset(figures) & {*runs.columns})
    rows = kinds.drop(columns=[RUNS]).reindex(columns=runs.columns)
    rows = rows.drop(columns=["run", "attempt"], errors="ignore")
    twice = np.repeat(np.arange(len(kinds)), np.minimum(kinds[RUNS].to_numpy(), 2))
    frame = rows.iloc[twice].reset_index(drop=True)
    frame.attrs.update(runs.attrs_of_some)
    return frame


def _kinds(runs: Relation, figures: frozenset[str]) -> pd.DataFrame:
    """The kinds of runs, in the order of their first, and of how many runs each is (RUNS)."""
    known: dict[frozenset[str], pd.DataFrame] = runs.kept.setdefault("kinds", {})
    for having, kinds in known.items():
        if figures <= having:
            return kinds
    told = [name for name in runs.columns if name in runs.labels or name in TOLD]
    above = {
        name: f"coalesce(try_cast(runs.{quoted(name)} as double) > 0, false)"
        for name in runs.columns
        if name in SIGNS and name not in told
    }
    values = [n for n in runs.columns if n in figures and n not in told and n not in above]
    selected = [
        *(f"runs.{quoted(n)}" for n in told),
        *(f"{sign}::double as {quoted(n)}" for n, sign in above.items()),
        *(f"any_value(runs.{quoted(n)}) as {quoted(n)}" for n in values),
        f"count(*) as {quoted(RUNS)}",
    ]
    grouped = ", ".join([*(f"runs.{quoted(n)}" for n in told), *above.values()])
    by = f" group by {grouped}" if grouped else ""
    if grouped and "run" in runs.columns:
        by += " order by min(runs.run)"
    known[figures] = frame_of(answer(runs.last, f"select {', '.join(selected)} from runs{by}"))
    return known[figures]


def counts(runs: Relation, keys: Sequence[str], only: Sequence[str]) -> pd.DataFrame:
    """How many runs (RUNS) of these outcomes each combination of the keys' values has."""
    kinds = _kinds(runs, frozenset())
    if not {*keys} <= {*kinds.columns}:
        names = ", ".join(map(quoted, keys))
        where = f" where status in {(*only, '')}" if "status" in runs.columns else ""
        query = f"select {names}, count(*) as {quoted(RUNS)} from runs{where} group by {names}"
        return frame_of(answer(runs.last, query))
    if "status" in kinds.columns:
        kinds = kinds[kinds["status"].isin(only)]
    if not keys:
        return pd.DataFrame({RUNS: [int(kinds[RUNS].sum())]} if len(kinds) else {RUNS: []})
    grouped = kinds.groupby([*keys], sort=False, dropna=False, observed=True)
    return grouped[RUNS].sum().reset_index()


def cells(runs: Relation, keys: Sequence[str], only: Sequence[str]) -> dict[Key, tuple[Key, int]]:
    """The same by the combination as it hashes: its values, and how many runs."""
    counted = counts(runs, keys, only)
    rows = zip(*(counted[name] for name in (*keys, RUNS)), strict=True)
    return {wording.hashed(row[:-1]): (row[:-1], int(row[-1])) for row in rows}


def outcomes(runs: Relation) -> dict[str, int]:
    """How many runs came to what, the most frequent first."""
    if "status" not in runs.columns:
        return {"ok": int(_kinds(runs, frozenset())[RUNS].sum())}
    by_status = _kinds(runs, frozenset()).groupby("status", sort=False)[RUNS].sum()
    ordered = by_status.sort_values(ascending=False)
    return {str(name): int(count) for name, count in ordered.items()}


def without_outcome(runs: Relation) -> int:
    """How many runs have none, those of the plan that never began included."""
    known = outcomes(runs)
    planned: int = runs.attrs.get("planned", [sum(known.values())])[0]
    return max(0, planned - sum(known.get(name, 0) for name in OUTCOMES))
