"""What every analysis asks of a frame: which runs count, where a metric is, what the factors are.

A frame is one row a run attempt, as a campaign makes it, or any published table with the same
column names. Bookkeeping columns (`run`, `attempt`, `status`, …) may be absent; a metric or a
factor that is asked for may not: then DataError names it and what is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import wording
from netlimits.errors import DataError
from netlimits.metrics import IDENTITY, METRICS, Direction, Metric, metric, tools_own
from netlimits.model import OUTCOMES

AGGREGATED = "aggregated_runs"
"""The column that says of how many runs a row is the mean (an imported file of the Turin scripts).

The least and the greatest of them stand beside the mean, in `metrics.Metric.extreme`'s columns.
"""

LIMITED_BY = "limited_by"
"""The column that says what limited a run's configuration, where that was joined to the runs."""

SHOWN = 20
"""Metrics that an error names."""

TELLING = ("campaign", "config", "run", "attempt", "status", "reason")
"""Columns that say of which configuration a run is, and whether it counts."""

PROCESS_CPU = ("local_process_cpu_pct", "remote_process_cpu_pct")
"""CPU of one process, which every tool that knows it tells under its own name."""


def usable(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that count: the last attempt of each run, where its status is `ok`.

    Frames of several campaigns put together need a column `campaign`, since each of them has a
    run 1. A frame without `attempt` or `status` (a published table) counts as it is. A process's
    CPU is in one column for all tools: where a row lacks `local_process_cpu_pct`, its tool's own
    (`iperf3_local_process_cpu_pct`) stands there. Raises DataError when no run is left.
    """
    frame = last_attempts(frame)
    good = ok(frame)
    return with_process_cpu(frame if good.all() else frame[good])


def usable_of_table(frame: pd.DataFrame) -> pd.DataFrame:
    """`usable` of a table that somebody made, which could be one of anything.

    Raises DataError where no column is a figure of runs, or a throughput is below 0.
    """
    if not {metric.column for metric in METRICS} & {*frame.columns}:
        raise DataError(
            "none of its columns is a figure of runs, such as throughput_mbps; what tools print is "
            "read by netlimits import"
        )
    frame = usable(frame)
    for row, rate in enumerate(frame.get("throughput_mbps", ()), 1):
        if isinstance(rate, Real) and float(rate) < 0:
            raise DataError(f"throughput_mbps is {rate} in run {row}: no rate is below 0")
    return frame


def ok(frame: pd.DataFrame) -> np.ndarray:
    """Which of the last attempts are ok, a bool a row; all without `status`.

    Raises DataError when none is.
    """
    if not len(frame):
        raise DataError("there are no runs in this frame")
    if "status" not in frame.columns:
        return np.ones(len(frame), bool)
    good: np.ndarray = (frame["status"] == "ok").to_numpy(bool)
    if not good.any():
        reasons = frame.get("reason", pd.Series(dtype=object)).dropna()
        why = f"; the first says: {reasons.iloc[0]}" if len(reasons) else ""
        raise DataError(f"none of the {len(frame)} runs is ok{why}")
    return good


def with_process_cpu(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with each of PROCESS_CPU, of whatever tool its rows are."""
    for name in PROCESS_CPU:
        for own_name in tools_own_of(frame.columns, name):
            own = pd.to_numeric(frame[own_name], errors="coerce")  # words are no figure
            kept = frame[name].fillna(own) if name in frame.columns else own
            frame = frame.assign(**{name: kept})
    return frame


def last_attempts(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each run: its last attempt that came to something, or else its last one.

    What was interrupted after that, or is under way, has no outcome to take its place. Raises
    DataError where an attempt stands there twice, as in campaigns put together without a column
    `campaign`.
    """
    if not _tried_again(frame):
        return frame
    several = _several(frame)
    if not several.any():
        return frame
    frame = frame.reset_index(drop=True)  # frames put together repeat their index
    again = frame[several]  # few of many
    if again.duplicated([*_run(frame), "attempt"]).any():
        raise DataError(
            "some attempt stands there twice: frames of several campaigns need a column campaign "
            "(netlimits.joined makes it)"
        )
    place = again["attempt"]
    if "status" in frame.columns:
        place = place.where(again["status"] != "interrupted", place - place.max() - 1)
    groups = place.groupby([again[n] for n in _run(frame)], sort=False)
    last, first = groups.idxmax().to_numpy(), groups.head(1).index.to_numpy()
    places = np.arange(len(frame))
    places[again.index] = -1
    places[last] = first  # a run stands where its first attempt stood
    kept = np.flatnonzero(places >= 0)
    if (np.diff(places[kept]) < 0).any():
        kept = kept[np.argsort(places[kept])]
    return frame.iloc[kept]


def to_last_attempts(frame: pd.DataFrame) -> pd.DataFrame:
    """The same, of a frame that nobody needs any more: no column is held twice."""
    names = [name for name in ("campaign", "run", "attempt", "status") if name in frame.columns]
    numbered = frame[names].reset_index(drop=True)
    last = last_attempts(numbered)
    if last is numbered:
        return frame
    places, attrs = last.index.to_numpy(), frame.attrs
    columns = {name: frame.pop(name).array.take(places) for name in [*frame.columns]}
    rows = pd.DataFrame(columns, copy=False)
    rows.attrs = attrs
    return rows


def _several(frame: pd.DataFrame) -> np.ndarray:
    """Which rows are of a run that another row is of, too; neighbours where no number falls."""
    runs = frame["run"].to_numpy()
    if "campaign" in frame.columns or not (runs[1:] >= runs[:-1]).all():
        return frame.duplicated(_run(frame), keep=False).to_numpy(bool)
    alike = runs[1:] == runs[:-1]
    several: np.ndarray = np.append(alike, False) | np.append(False, alike)
    return several


def without_outcome(runs: pd.DataFrame) -> int:
    """How many runs of a campaign have none of OUTCOMES, those included that never began.

    `runs` has a row each. `attrs["planned"]` holds how many a campaign planned, and how many of
    them its frame has: of a part of its frame nobody knows which others were meant.
    """
    done = int(runs["status"].isin(OUTCOMES).sum())
    planned, rows = runs.attrs.get("planned", (0, 0))
    return max(0, (planned if rows == len(runs) else len(runs)) - done)


def with_outcome(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each run that has an outcome, ok or not; an interrupted run has none."""
    rows = last_attempts(frame)
    if "status" not in rows.columns:
        return rows
    ended = rows["status"].isin(OUTCOMES)
    return rows if ended.all() else rows[ended]


def one_run(rows: pd.DataFrame, run: int | None) -> pd.DataFrame:
    """The rows of one run of a campaign's, or all where none is named.

    Raises DataError for a run that is not there.
    """
    if run is None:
        return rows
    factors(rows, "run")
    chosen = rows[rows["run"] == run]
    if chosen.empty:
        raise DataError(f"run {run} is not there, or keeps nothing of this kind")
    return chosen


def tools_own_of(columns: Iterable[str], column: str) -> list[str]:
    """The columns with the tools' own figures for `column`: its name behind a tool's prefix."""
    if column not in PROCESS_CPU:
        return []
    return [name for name, quantity in tools_own(columns).items() if quantity.column == column]


def weights(runs: pd.DataFrame) -> pd.Series[Any]:
    """How many runs each row stands for: its `aggregated_runs` if it is a mean of several, else 1.

    Raises DataError for a value that is no number of runs.
    """
    if AGGREGATED not in runs.columns:
        return pd.Series(1, index=runs.index)
    counts = pd.to_numeric(runs[AGGREGATED], errors="coerce").where(runs[AGGREGATED].notna(), 1)
    if not ((counts >= 1) & (counts % 1 == 0)).all():
        raise DataError(f"{AGGREGATED} must be a whole number above zero in every row")
    return counts.astype(int)


def _tried_again(frame: pd.DataFrame) -> bool:
    """Whether the frame holds several attempts of some run."""
    return {"run", "attempt"} <= set(frame.columns) and bool((frame["attempt"] > 1).any())


def _run(frame: pd.DataFrame) -> list[str]:
    """The columns that tell one run from another."""
    return [name for name in ("campaign", "run") if name in frame.columns]


def column(frame: pd.DataFrame, name: str) -> Metric:
    """The metric called `name` (short name or column), which `frame` must hold.

    Where a frame has no service demand or CPU of our own computing (imported results), netperf's
    stands in, whole-machine figures by the same formula, and its title says so. A process's CPU
    is found under any tool's own name, and `usable` puts it into the column. Raises DataError
    naming the metric and those that are there; InputError for a name that is no metric's.
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
            raise DataError(
                f"no column {quantity.column} for {name!r}; metrics here: {first}{more}"
            )
    if quantity.column in frame.columns and _holds_words(frame[quantity.column]):
        raise DataError(f"{quantity.column} holds words here, not figures")
    return quantity.towards(direction(frame))


def metric_beside(frame: pd.DataFrame, name: str, keys: Sequence[str]) -> Metric:
    """The metric as `column` returns it. Raises DataError where it is one of the factors `keys`."""
    quantity = column(frame, name)
    if quantity.column in keys:
        raise DataError(f"{quantity.column} is what is shown: it cannot tell the series apart too")
    return quantity


def _holds_words(column: pd.Series[Any]) -> bool:
    return not pd.api.types.is_numeric_dtype(column) and bool(column.notna().any())


def direction(frame: pd.DataFrame) -> Direction:
    """Which way the data of these runs went, judged by the columns; "" where the runs differ."""

    def counted(column: str) -> pd.Series[bool]:
        if column not in frame.columns:
            return pd.Series(False, index=frame.index)
        return pd.to_numeric(frame[column], errors="coerce") > 0

    answered = counted("transaction_rate_tps")
    back = counted("local_recv_throughput_mbps") | counted("remote_send_throughput_mbps")
    forth = counted("local_send_throughput_mbps") | counted("remote_recv_throughput_mbps")
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
    """The name of the sender's rate: the client's, or the server's where the test is reversed."""
    return "remote_send_throughput" if direction(frame) == "recv" else "local_send_throughput"


def measured(frame: pd.DataFrame) -> list[str]:
    """The short names of the metrics that `frame` holds, in the order of METRICS."""
    here = set(frame.columns)
    own = (metric(column).name for column in tools_own(frame.columns))
    return [*(quantity.name for quantity in METRICS if quantity.column in here), *own]


def varied(frame: pd.DataFrame) -> list[str]:
    """The columns that are neither metric nor bookkeeping: factors and derived values.

    A campaign's frame says itself what it measured (`attrs["columns"]`); of any other table what
    no metric is called after is taken to have been varied, but for what a tool says under its
    own name beside a metric (`netperf_protocol`).
    """
    here = [metric(name) for name in measured(frame)]
    metrics = {name for m in here for name in (m.column, m.extreme("min"), m.extreme("max"))}
    metrics |= {AGGREGATED, *frame.attrs.get("columns", {}).get("metrics", ())}
    tools = tuple({f"{name.partition('_')[0]}_" for name in tools_own(frame.columns)})
    return [
        str(c)
        for c in frame.columns
        if c not in metrics and c not in IDENTITY and not (tools and str(c).startswith(tools))
    ]


def labelled(frame: pd.DataFrame, *others: str) -> pd.DataFrame:
    """The columns that tell runs apart, and `others`, without all else that was measured."""
    names = {*varied(frame), *TELLING, *others}
    return frame[[name for name in frame.columns if name in names]]


def factors(frame: pd.DataFrame, names: str | Sequence[str] | None) -> list[str]:
    """`names` as a list. Raises DataError, naming the factors, for one that is no column."""
    chosen = [names] if isinstance(names, str) else list(names or ())
    for name in chosen:
        if name not in frame.columns:
            raise DataError(f"no factor {name!r} here; factors: {wording.listed(varied(frame))}")
    return chosen


TAKEN = frozenset(
    (
        *("metric", "statistic", "value", "n", "runs", "low", "high", "mean", "median", "var"),
        *("min", "max", "range", "sd", "cv_pct", "sum", "most", "percentile", "of", "sizes"),
        *("size", "kib", "ns", "mbps", "pps", "condition", "r2", "points", "change_pct"),
        *("reverse_pct", "anomaly", "requested_mbps", "frame_rate_mbps", "mean_mbps", "achieved"),
        *("achieved_min", "achieved_max", "turin_variance", "sd_from_ranges", "pooled_sd"),
        *("pooled_cv_pct", "packet_ns", "kib_ns", "x", "y", "index"),
    )
)
"""Names that columns of analyses have: a factor that is called so gets a `_` behind its name."""


def apart(frame: pd.DataFrame, *names: str | Sequence[str]) -> tuple[pd.DataFrame, list[list[str]]]:
    """The frame and `names`, with factors renamed that share a name with a column of an analysis.

    Raises DataError for a name that is no column, or named twice.
    """
    lists = [factors(frame, some) for some in names]
    every = [name for some in lists for name in some]
    if twice := [name for name in dict.fromkeys(every) if every.count(name) > 1]:
        raise DataError(f"{twice[0]} is named twice; once is enough")
    renamed = {name: f"{name}_" for name in frame.columns if name in TAKEN}
    renamed = {old: new for old, new in renamed.items() if new not in frame.columns}
    if renamed:
        attrs = frame.attrs
        frame = frame.rename(columns=renamed)
        frame.attrs = attrs
    return frame, [[renamed.get(name, name) for name in some] for some in lists]


def complete(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """`frame` unchanged. Raises DataError, with their number, if runs lack a value in `columns`.

    An infinite value is none either.
    """
    for name in columns:
        lacking = int(frame[name].isna().sum())
        if lacking:
            raise DataError(f"{name} is missing in {lacking} of {len(frame)} runs")
        if infinite := int(frame[name].isin([float("inf"), float("-inf")]).sum()):
            raise DataError(f"{name} is infinite in {infinite} of {len(frame)} runs")
    return frame


def groups(
    frame: pd.DataFrame, names: Sequence[str]
) -> list[tuple[tuple[Hashable, ...], pd.DataFrame]]:
    """The runs of each combination of `names`' values, in the order of `wording.rank`."""
    if not names:
        return [((), frame)]
    grouped = frame.groupby(list(names), sort=False, dropna=False, observed=True)
    parts = [(key if isinstance(key, tuple) else (key,), part) for key, part in grouped]
    return sorted(parts, key=lambda item: tuple(wording.rank(value) for value in item[0]))


def blocks(frame: pd.DataFrame) -> pd.Series | None:
    """The block of each run, told apart by campaign; None where runs stand in no blocks.

    Shuffled campaigns, coin flips and imported files have one block or none. Of campaigns put
    together without a column `campaign` nothing tells whose a block is.
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
    """Whether each is above the one before, so that none is there twice."""
    values = numbers.to_numpy()
    return bool((values[1:] > values[:-1]).all())
