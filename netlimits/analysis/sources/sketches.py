"""Sketch of a relation: a small frame from which the analyses decide the factors.

A kind of run is a combination of labels, status and direction. A sketch has two rows of each kind,
so that it still shows repetitions, or one row if the kind has a single run.
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
"""Column with the number of runs of a kind; no campaign has a column of this name."""

SIGNS = (
    *("transaction_rate_tps", "local_recv_throughput_mbps", "remote_send_throughput_mbps"),
    *("local_send_throughput_mbps", "remote_recv_throughput_mbps"),
)
"""Columns that `frames.direction` reads; only whether they are above zero matters."""

LABELS = ("config", "campaign", "status", "shared_kernel", "paced_by")
"""Columns whose values all appear in a sketch, like the values of factors and derived values."""

Key = tuple[Any, ...]


def sketched(runs: Runs, of: str | Sequence[str] = ()) -> pd.DataFrame:
    """Return a frame unchanged; for a relation, return its sketch with the metrics `of`."""
    if isinstance(runs, pd.DataFrame):
        return runs
    figures = []
    for name in frames.as_list(of):
        column = metric(name).column
        figures += [column, f"netperf_{column}", *frames.tools_own_of(runs.columns, column)]
    return sketch(runs, figures)


def sketch(runs: Relation, figures: Sequence[str] = ()) -> pd.DataFrame:
    """Return a small frame that stands for a relation in checks, with the columns `figures`."""
    kinds = _kinds(runs, frozenset(figures) & {*runs.columns})
    rows = kinds.drop(columns=[RUNS]).reindex(columns=runs.columns)
    rows = rows.drop(columns=["run", "attempt"], errors="ignore")
    twice = np.repeat(np.arange(len(kinds)), np.minimum(kinds[RUNS].to_numpy(), 2))
    frame = rows.iloc[twice].reset_index(drop=True)
    frame.attrs.update(runs.attrs_without_planned)
    return frame


def _kinds(runs: Relation, figures: frozenset[str]) -> pd.DataFrame:
    """Return each kind's first run, with the kind's number of runs in the column RUNS."""
    known: dict[frozenset[str], pd.DataFrame] = runs.cache.setdefault("kinds", {})
    for having, kinds in known.items():
        if figures <= having:
            return kinds
    labels = [name for name in runs.columns if name in runs.labels or name in LABELS]
    above = {
        name: f"coalesce(try_cast(runs.{quoted(name)} as double) > 0, false)"
        for name in runs.columns
        if name in SIGNS and name not in labels
    }
    values = [n for n in runs.columns if n in figures and n not in labels and n not in above]
    selected = [
        *(f"runs.{quoted(n)}" for n in labels),
        *(f"{sign}::double as {quoted(n)}" for n, sign in above.items()),
        *(f"any_value(runs.{quoted(n)}) as {quoted(n)}" for n in values),
        f"count(*) as {quoted(RUNS)}",
    ]
    grouped = ", ".join([*(f"runs.{quoted(n)}" for n in labels), *above.values()])
    by = f" group by {grouped}" if grouped else ""
    if grouped and "run" in runs.columns:
        by += " order by min(runs.run)"
    known[figures] = frame_of(answer(runs.last, f"select {', '.join(selected)} from runs{by}"))
    return known[figures]


def counts(runs: Relation, keys: Sequence[str], only: Sequence[str]) -> pd.DataFrame:
    """Return the number of runs (RUNS) with the outcomes `only` for each combination of keys."""
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
    """Return hashable key -> key, and number of runs with the outcomes `only`."""
    counted = counts(runs, keys, only)
    rows = zip(*(counted[name] for name in (*keys, RUNS)), strict=True)
    return {wording.hashed(row[:-1]): (row[:-1], int(row[-1])) for row in rows}


def outcomes(runs: Relation) -> dict[str, int]:
    """Return status -> number of runs, the most frequent first."""
    if "status" not in runs.columns:
        return {"ok": int(_kinds(runs, frozenset())[RUNS].sum())}
    by_status = _kinds(runs, frozenset()).groupby("status", sort=False)[RUNS].sum()
    ordered = by_status.sort_values(ascending=False)
    return {str(name): int(count) for name, count in ordered.items()}


def without_outcome(runs: Relation) -> int:
    """Return how many runs have no outcome, including runs that never began."""
    known = outcomes(runs)
    planned: int = runs.attrs.get("planned", [sum(known.values())])[0]
    return max(0, planned - sum(known.get(name, 0) for name in OUTCOMES))
