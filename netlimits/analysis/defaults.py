"""The default table and chart of runs, if no `report:` or option names others."""

from __future__ import annotations

from typing import Any

import pandas as pd

from netlimits.analysis import attempts, frames, pooling, wording
from netlimits.errors import DataError
from netlimits.metrics import HEADLINES

BESIDE = (
    *("latency_p50", "latency_p99", "loss"),
    *("local_sd", "remote_sd", "local_sd_tran", "remote_sd_tran"),
)
"""Metrics that follow the headlines."""
DIRECTIONS = ("remote_recv_throughput", "local_recv_throughput")
"""The throughputs of a bidirectional test, one for each direction."""

TABLES = (*HEADLINES, *DIRECTIONS, *BESIDE)
"""The metrics of a default table, as far as the runs have them."""

SWEEP = 5
"""Minimum number of values of the row factor for a curve over it instead of percentiles."""


def metrics(frame: pd.DataFrame) -> list[str]:
    """Return the metrics of a default table that the runs have, or else their first three metrics.

    Raises DataError if there is no metric, or no ok run.
    """
    runs = frames.usable(frame)
    measured = frames.measured(runs)
    directions = DIRECTIONS if frames.direction(runs) in ("both", "") else ()
    wanted = (*HEADLINES, *directions, *BESIDE)
    if chosen := [name for name in wanted if name in measured and _known(runs, name)]:
        return chosen
    here = [name for name in measured if _known(runs, name)]
    if not here:
        columns = wording.listed([str(name) for name in frame.columns])
        raise DataError(
            f"no column is a metric; columns: {columns}; say which one is: --metric 'COLUMN=METRIC'"
        )
    return here[:3]


def layout(frame: pd.DataFrame) -> tuple[str | None, list[str]]:
    """Return the row factor, and the other factors that distinguish the runs, as columns.

    Rows are the numeric factor with the most values. Without numeric factors they are the factor
    with the most values.
    """
    varied = pooling.differing_factors(attempts.with_outcome(frame), [])
    if not varied:
        return None, []
    numeric = {name: all(map(pd.api.types.is_number, varied[name])) for name in varied}
    rows = max(varied, key=lambda name: (numeric[name], len(varied[name])))
    return rows, [name for name in varied if name != rows]


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """Return an entry of `report:` for a table of these runs."""
    rows, columns = layout(frame)
    return {"table": "summary", "of": metrics(frame), "rows": rows, "columns": columns}


def chart(frame: pd.DataFrame) -> dict[str, Any]:
    """Return an entry of `report:` for a chart of these runs."""
    rows, columns = layout(frame)
    of = metrics(frame)
    names = [name for name in of if name in HEADLINES] or of[:1]
    names += [name for name in of if "_sd" in name]
    values = pd.to_numeric(frame[rows], errors="coerce") if rows else pd.Series(dtype=float)
    if rows and values.nunique() >= SWEEP and bool((values > 0).all()):
        return {"chart": "spread", "of": names, "by": rows, "series": columns}
    return {"chart": "percentiles", "of": names, "series": [*([rows] if rows else []), *columns]}


def _known(runs: pd.DataFrame, name: str) -> bool:
    """Return True if at least one run has a value of the metric."""
    try:
        return bool(runs[frames.column(runs, name).column].notna().any())
    except DataError:
        return False
