"""The basics of every analysis: which runs count, where a metric is, and which columns are factors.

A frame has a row for each run attempt, as a campaign makes it, or is any table with the same column
names. Bookkeeping columns (`run`, `attempt`, `status`, …) may be absent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import wording
from netlimits.analysis.attempts import last_attempts
from netlimits.errors import DataError
from netlimits.metrics import (
    IDENTITY,
    PROFILE_COLUMN,
    Direction,
    Metric,
    known,
    metric,
    tools_own,
)

AGGREGATED = "aggregated_runs"
"""Column with the number of runs, if a row is a mean of runs (as in the Turin scripts' files)."""

LIMITED_BY = "limited_by"
"""Column with the limit of a run's configuration, if it was joined to the runs."""

SHOWN = 20
"""Maximum number of metrics in an error."""

RUN_COLUMNS = ("campaign", "config", "run", "attempt", "status", "reason")
"""Columns that identify a run and its configuration, and decide whether it counts."""

PROCESS_CPU = ("local_process_cpu_pct", "remote_process_cpu_pct")
"""Columns with the CPU of the tool's process, which each tool reports under its own name."""


def usable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that count: the last attempt of each run, if its status is `ok`.

    Frames of several campaigns need a column `campaign`, since each has a run 1. A frame without
    `attempt` or `status` (a published table) is returned whole. A process's CPU is in one column
    for all tools: a row without `local_process_cpu_pct` gets its tool's own figure
    (`iperf3_local_process_cpu_pct`).

    Args:
        frame: A row for each run attempt.

    Returns:
        These rows with all columns.

    Raises:
        DataError: No run is ok.
    """
    frame = last_attempts(frame)
    good = ok(frame)
    return with_process_cpu(frame if good.all() else frame[good])


def usable_of_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that count from a table that no campaign wrote.

    Args:
        frame: A row for each run.

    Returns:
        The rows, as `usable` returns them.

    Raises:
        DataError: No column is a metric, no run is ok, or a throughput is below 0.
    """
    if not {metric.column for metric in known()} & {*frame.columns}:
        raise DataError(
            "no column is a metric, such as throughput_mbps; say which one is: --metric "
            "'COLUMN=METRIC'; to read what a tool printed, use netlimits import"
        )
    frame = usable(frame)
    for row, rate in enumerate(frame.get("throughput_mbps", ()), 1):
        if isinstance(rate, Real) and float(rate) < 0:
            raise DataError(f"run {row}: throughput_mbps is {rate}; a rate cannot be below 0")
    return frame


def ok(frame: pd.DataFrame) -> np.ndarray:
    """Return a mask of the rows that are ok.

    Args:
        frame: A row for each run attempt.

    Returns:
        A boolean array as long as the frame. All rows are ok if there is no column `status`.

    Raises:
        DataError: No row is ok.
    """
    if not len(frame):
        raise DataError("there are no runs: the table has no rows")
    if "status" not in frame.columns:
        return np.ones(len(frame), bool)
    good: np.ndarray = (frame["status"] == "ok").to_numpy(bool)
    if not good.any():
        reasons = frame.get("reason", pd.Series(dtype=object)).dropna()
        why = f"; the first says: {reasons.iloc[0]}" if len(reasons) else ""
        raise DataError(f"none of the {len(frame)} runs is ok{why}")
    return good


def with_process_cpu(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill the columns PROCESS_CPU from the columns of each tool.

    Args:
        frame: A row for each run.

    Returns:
        The same rows. Existing values of PROCESS_CPU are kept; text becomes NaN.
    """
    for name in PROCESS_CPU:
        for own_name in tools_own_of(frame.columns, name):
            own = pd.to_numeric(frame[own_name], errors="coerce")  # text becomes NaN
            kept = frame[name].fillna(own) if name in frame.columns else own
            frame = frame.assign(**{name: kept})
    return frame


def one_run(rows: pd.DataFrame, run: int | None) -> pd.DataFrame:
    """Return the rows of one run.

    Args:
        rows: Rows of one or several runs.
        run: The number of the run; None for all rows.

    Returns:
        The rows with their index.

    Raises:
        DataError: There is no column `run`, or the run has no rows.
    """
    if run is None:
        return rows
    factors(rows, "run")
    chosen = rows[rows["run"] == run]
    if chosen.empty:
        raise DataError(f"run {run} does not exist, or has no data of this kind")
    return chosen


def tools_own_of(columns: Iterable[str], column: str) -> list[str]:
    """Return the columns of a process's CPU with a tool's prefix, such as `iperf3_local_…`.

    Args:
        columns: The columns of a frame.
        column: The column without a tool's prefix.

    Returns:
        The names that are `column` with a tool's prefix; none if it is not in PROCESS_CPU.
    """
    if column not in PROCESS_CPU:
        return []
    return [name for name, quantity in tools_own(columns).items() if quantity.column == column]


def weights(runs: pd.DataFrame) -> pd.Series[Any]:
    """Return how many runs each row stands for.

    Args:
        runs: A row for each run, or for each mean of runs.

    Returns:
        Integers with the index of `runs`: `aggregated_runs`, or 1.

    Raises:
        DataError: A value of `aggregated_runs` is not a whole number above zero.
    """
    if AGGREGATED not in runs.columns:
        return pd.Series(1, index=runs.index)
    counts = pd.to_numeric(runs[AGGREGATED], errors="coerce").where(runs[AGGREGATED].notna(), 1)
    if not ((counts >= 1) & (counts % 1 == 0)).all():
        raise DataError(f"{AGGREGATED} must be a whole number above zero in every row")
    return counts.astype(int)


def column(frame: pd.DataFrame, name: str) -> Metric:
    """Find a metric in a frame.

    Imported results may lack a service demand or CPU figure that netlimits measures. The figure
    that netperf reports, by the same formula, then replaces it, and its title says so. A process's
    CPU is found under any tool's own name; `usable` copies it into the column.

    Args:
        frame: A row for each run.
        name: Short name or column.

    Returns:
        The metric, with its title for the frame's direction.

    Raises:
        DataError: The frame lacks the metric; the message lists those that it has.
        InputError: There is no metric of this name.
    """
    quantity = metric(name)
    if quantity.column not in frame.columns and not tools_own_of(frame.columns, quantity.column):
        if f"netperf_{quantity.column}" in frame.columns:
            quantity = metric(f"netperf_{quantity.name}")
        elif quantity.column in frame.attrs.get("lacking", {}):
            raise DataError(f"{name}: {frame.attrs['lacking'][quantity.column]}")
        else:
            here = measured(frame)
            more = f", … {len(here) - SHOWN} more" if len(here) > SHOWN else ""
            first = wording.listed(here[:SHOWN])
            bare = quantity.column.removeprefix("netperf_")
            ours = bare != quantity.column and bare in frame.columns
            near = f"take {metric(bare).name}, which netlimits measures; " if ours else ""
            raise DataError(
                f"no column {quantity.column} for {name!r}; {near}metrics here: {first}{more}"
            )
    values = frame.get(quantity.column, pd.Series(dtype=float))
    if not pd.api.types.is_numeric_dtype(values) and values.notna().any():
        raise DataError(f"{quantity.column} contains text instead of numbers")
    return quantity.towards(direction(frame))


def metric_for(frame: pd.DataFrame, name: str, keys: Sequence[str]) -> Metric:
    """Find a metric in a frame, as `column` does, for a table with some factors.

    Args:
        frame: A row for each run.
        name: Short name or column of the metric.
        keys: The factors, which may not include the metric's column.

    Returns:
        The metric, with its title for the frame's direction.

    Raises:
        DataError: The frame lacks the metric, or the metric is one of the factors.
        InputError: There is no metric of this name.
    """
    quantity = column(frame, name)
    if quantity.column in keys:
        raise DataError(f"{quantity.column} is the metric shown; it cannot be a factor too")
    return quantity


def direction(frame: pd.DataFrame) -> Direction:
    """Return the direction of the runs' data.

    The columns of throughput and transaction rate show it.

    Args:
        frame: A row for each run.

    Returns:
        "send", "recv", "both", "rr", or "" if the runs differ. "send" if the frame lacks these
        columns.
    """

    def above_zero(column: str) -> pd.Series[bool]:
        if column not in frame.columns:
            return pd.Series(False, index=frame.index)
        return pd.to_numeric(frame[column], errors="coerce") > 0

    answered = above_zero("transaction_rate_tps")
    back = above_zero("local_recv_throughput_mbps") | above_zero("remote_send_throughput_mbps")
    forth = above_zero("local_send_throughput_mbps") | above_zero("remote_recv_throughput_mbps")
    kinds: list[tuple[Direction, pd.Series[bool]]] = [
        ("rr", answered),
        ("both", ~answered & back & forth),
        ("recv", ~answered & back & ~forth),
        ("send", ~answered & ~back & forth),
    ]
    directions = [kind for kind, rows in kinds if rows.any()]
    if not directions:
        return "send"
    return directions[0] if len(directions) == 1 else ""


def sent(frame: pd.DataFrame) -> str:
    """Return the name of the metric with the sender's rate.

    Args:
        frame: A row for each run.

    Returns:
        The server's rate if all runs are reversed, otherwise the client's.
    """
    return "remote_send_throughput" if direction(frame) == "recv" else "local_send_throughput"


def measured(frame: pd.DataFrame) -> list[str]:
    """Return the metrics of a frame.

    Args:
        frame: A row for each run.

    Returns:
        Short names in the order of METRICS, then those of values that the tools themselves report.
    """
    here = set(frame.columns)
    own = (metric(column).name for column in tools_own(frame.columns))
    return [*(quantity.name for quantity in known() if quantity.column in here), *own]


def varied(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are neither metric nor bookkeeping: factors and derived values.

    Metrics are known by their names and, in a campaign's frame, from `attrs["columns"]`.

    Args:
        frame: A row for each run.

    Returns:
        Names in the order of the columns.
    """
    here = [metric(name) for name in measured(frame)]
    metrics = {name for m in here for name in (m.column, m.extreme("min"), m.extreme("max"))}
    metrics |= {AGGREGATED, *frame.attrs.get("columns", {}).get("metrics", ())}
    tools = tuple({f"{name.partition('_')[0]}_" for name in tools_own(frame.columns)})
    return [
        str(c)
        for c in frame.columns
        if c not in metrics
        and c not in IDENTITY
        and not PROFILE_COLUMN.fullmatch(str(c))
        and not (tools and str(c).startswith(tools))
    ]


def labelled(frame: pd.DataFrame, *others: str) -> pd.DataFrame:
    """Select the columns that say which run a row is.

    Args:
        frame: A row for each run.
        others: Further columns to keep, if present.

    Returns:
        All rows with the factors, RUN_COLUMNS and `others`, in the order of the columns.
    """
    names = {*varied(frame), *RUN_COLUMNS, *others}
    return frame[[name for name in frame.columns if name in names]]


def factors(frame: pd.DataFrame, names: str | Sequence[str] | None) -> list[str]:
    """Check that factors are columns of a frame.

    Args:
        frame: A row for each run.
        names: A name, several names, or None.

    Returns:
        The names as a list.

    Raises:
        DataError: A name is not a column of the frame; the message lists the factors.
    """
    chosen = as_list(names)
    for name in chosen:
        if name not in frame.columns:
            raise DataError(f"no factor {name!r} here; factors: {wording.listed(varied(frame))}")
    return chosen


def as_list(names: str | Sequence[str] | None) -> list[str]:
    """Return a name, a sequence of names or None as a list.

    Args:
        names: A name, several names, or None.

    Returns:
        The names; an empty list for None.
    """
    return [names] if isinstance(names, str) else list(names or ())


RESERVED = frozenset(
    (
        *("metric", "statistic", "value", "n", "runs", "low", "high", "mean", "median", "var"),
        *("min", "max", "range", "sd", "cv_pct", "sum", "most", "percentile", "of", "sizes"),
        *("size", "kib", "ns", "mbps", "pps", "condition", "r2", "points", "change_pct"),
        *("reverse_pct", "anomaly", "requested_mbps", "frame_rate_mbps", "mean_mbps", "achieved"),
        *("achieved_min", "achieved_max", "turin_variance", "sd_from_ranges", "pooled_sd"),
        *("pooled_cv_pct", "packet_ns", "kib_ns", "x", "y", "index"),
    )
)
"""Column names of analyses. A factor with one of these names gets a trailing `_`."""


def resolve(
    frame: pd.DataFrame, *names: str | Sequence[str]
) -> tuple[pd.DataFrame, list[list[str]]]:
    """Rename the factors whose names are in RESERVED, with a trailing `_`.

    Args:
        frame: A row for each run.
        names: Factors, as a name or several names for each argument of the caller.

    Returns:
        The frame with the new names, and a list of new names for each of `names`.

    Raises:
        DataError: A name is not a column of the frame, or occurs twice.
    """
    lists = [factors(frame, some) for some in names]
    every = [name for some in lists for name in some]
    if twice := [name for name in dict.fromkeys(every) if every.count(name) > 1]:
        raise DataError(f"{twice[0]} occurs twice; name it once")
    renamed = {name: f"{name}_" for name in frame.columns if name in RESERVED}
    renamed = {old: new for old, new in renamed.items() if new not in frame.columns}
    if renamed:
        attrs = frame.attrs
        frame = frame.rename(columns=renamed)
        frame.attrs = attrs
    return frame, [[renamed.get(name, name) for name in some] for some in lists]


def complete(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Check that no run lacks a value.

    Args:
        frame: A row for each run.
        columns: Columns to check.

    Returns:
        `frame`.

    Raises:
        DataError: A value is missing or infinite.
    """
    for name in columns:
        lacking = int(frame[name].isna().sum())
        if lacking:
            raise DataError(f"{name} is missing in {lacking} of {len(frame)} runs")
        if infinite := int(frame[name].isin([float("inf"), float("-inf")]).sum()):
            raise DataError(f"{name} is infinite in {infinite} of {len(frame)} runs")
    return frame


def positive(frame: pd.DataFrame, name: str) -> pd.Series[float]:
    """Return a column as numbers above zero.

    Args:
        frame: A row for each run.
        name: The column.

    Returns:
        Floats with the index of `frame`.

    Raises:
        DataError: A value is missing, not finite or not above zero.
    """
    numbers = pd.to_numeric(frame[name], errors="coerce").astype(float)
    boolean = pd.api.types.is_bool_dtype(frame[name])
    if boolean or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise DataError(f"{name} must be a number above zero in every run")
    return numbers


def groups(
    frame: pd.DataFrame, names: Sequence[str]
) -> list[tuple[tuple[Hashable, ...], pd.DataFrame]]:
    """Split a frame by the values of some columns.

    Args:
        frame: A row for each run.
        names: The columns.

    Returns:
        The values and the rows of each combination, in the order of `wording.rank`. Without names,
        one group of all rows with the values ().
    """
    if not names:
        return [((), frame)]
    grouped = frame.groupby(list(names), sort=False, dropna=False, observed=True)
    parts = [(key if isinstance(key, tuple) else (key,), part) for key, part in grouped]
    return sorted(parts, key=lambda item: tuple(wording.rank(value) for value in item[0]))


def blocks(frame: pd.DataFrame) -> pd.Series | None:
    """Return the block of each run, distinguished by campaign.

    Runs cannot be paired if a run or the frame has no block, or if a campaign has only one block.
    The same holds if run numbers repeat and there is no column `campaign`.

    Args:
        frame: A row for each run.

    Returns:
        Numbers with the index of `frame`; None if runs cannot be paired.
    """
    if "block" not in frame.columns or frame["block"].isna().any():
        return None
    if "campaign" in frame.columns:
        both = frame.groupby(["campaign", "block"], sort=False, dropna=False).ngroup()
        several = frame.groupby("campaign", dropna=False)["block"].nunique()
        return both if bool((several > 1).all()) else None
    if "run" in frame.columns and not _rise(frame["run"]) and frame["run"].duplicated().any():
        return None
    numbers = frame["block"].to_numpy()
    return frame["block"] if (numbers[1:] != numbers[:-1]).any() else None


def _rise(numbers: pd.Series) -> bool:
    values = numbers.to_numpy()
    return bool((values[1:] > values[:-1]).all())
