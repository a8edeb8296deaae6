"""The default table and chart of runs, where no `report:` or option names others.

Any campaign has them, without `report:` and without factors too: what a run is judged by first,
then what it cost; the factor with most values down, the others across.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from netlimits.analysis import frames, pooling, wording
from netlimits.errors import DataError
from netlimits.metrics import HEADLINES

BESIDE = (
    *("latency_p50", "latency_p99", "loss"),
    *("local_sd", "remote_sd", "local_sd_tran", "remote_sd_tran"),
)
DIRECTIONS = ("remote_recv_throughput", "local_recv_throughput")
"""What a bidirectional test has one of for each way."""

TABLES = (*HEADLINES, *DIRECTIONS, *BESIDE)
"""What a table is of, of the metrics that there are."""

SWEEP = 5
"""Sizes from which on a curve over them tells more than percentiles of each."""


def metrics(frame: pd.DataFrame) -> list[str]:
    """What a table of these runs is of. Raises DataError where there is no metric, or no ok run."""
    runs = frames.usable(frame)
    here = [name for name in frames.measured(runs) if _known(runs, name)]
    if not here:
        raise DataError(f"there is no metric here; columns: {wording.listed(list(frame.columns))}")
    chosen = [name for name in HEADLINES if name in here]
    if frames.direction(runs) in ("both", ""):
        chosen += [name for name in DIRECTIONS if name in here]
    chosen += [name for name in BESIDE if name in here]
    return chosen or here[:3]


def layout(frame: pd.DataFrame) -> tuple[str | None, list[str]]:
    """The factor whose values are rows, and those across: as many as tell all runs apart."""
    varied = pooling.left_out(frames.with_outcome(frame), [])
    if not varied:
        return None, []
    rows = max(varied, key=lambda name: (_numbers(varied[name]), len(varied[name])))
    return rows, [name for name in varied if name != rows]


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """An entry of `report:` for a table of these runs."""
    rows, columns = layout(frame)
    return {"table": "summary", "of": metrics(frame), "rows": rows, "columns": columns}


def chart(frame: pd.DataFrame) -> dict[str, Any]:
    """An entry of `report:` for charts of these runs."""
    rows, columns = layout(frame)
    of = metrics(frame)
    names = [of[0], *(name for name in of if "_sd" in name)]
    values = pd.to_numeric(frame[rows], errors="coerce") if rows else pd.Series(dtype=float)
    if rows and values.nunique() >= SWEEP and bool((values > 0).all()):
        return {"chart": "spread", "of": names, "by": rows, "series": columns}
    return {"chart": "percentiles", "of": names, "series": [*([rows] if rows else []), *columns]}


def _known(runs: pd.DataFrame, name: str) -> bool:
    """Whether every run of some kind has the metric: a table can be of it."""
    try:
        return bool(runs[frames.column(runs, name).column].notna().any())
    except DataError:
        return False


def _numbers(values: list[Any]) -> bool:
    return all(pd.api.types.is_number(value) for value in values)
