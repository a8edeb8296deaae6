"""Split service demand by what the CPU did.

Profiling slows a run. Therefore the profiled runs provide only the share of each category, and the
other runs provide the service demand.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from netlimits.analysis import attempts, frames, pooling, wording
from netlimits.analysis.profile.shares import Dispersion, counts_of, difference, product, share
from netlimits.analysis.statistics import intervals
from netlimits.analysis.statistics.intervals import Interval
from netlimits.errors import DataError
from netlimits.metrics import PROFILED
from netlimits.metrics import Direction as Direction
from netlimits.model.cpu_categories import CATEGORIES as CATEGORIES

ENDS = ("local", "remote")
UNITS: Mapping[str, str] = {"sd_us_per_kib": "KiB", "sd_us_per_tran": "transaction"}
"""Suffix of a column of service demand -> the unit of work, as in "µs per KiB"."""

UNSORTED_NOTED = 5.0
"""A note appears if more than this percentage of kernel samples is in uncategorized functions."""


class _HasFrame(Protocol):
    def frame(self) -> pd.DataFrame: ...


def profile(
    results: _HasFrame | pd.DataFrame,
    by: str | Sequence[str] | None = None,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Split the CPU time of each end by category, in shares and in service demand.

    Args:
        results: A campaign, or a row for each run, of which some are profiled.
        by: Factors of the rows; by default all that differ.
        pool: Factors that may differ within a row.

    Returns:
        A row for each configuration, end (`local`, `remote`) and category: the factors, `end`,
        `category`; `share_pct` with `share_low` and `share_high`, the share of all busy samples;
        `cost_us` with `low` and `high`, the share times the service demand of runs without a
        profile, in µs of CPU time; `per`, the unit of work (KiB or transaction); `samples` of
        the category; `n`, runs without a profile; `profiled`, runs with one. `attrs["notes"]` has
        the notes, and `attrs["throughput"]` the ratio of profiled to other runs: value, low, high.

    Raises:
        DataError: No run with a profile is ok, or no run without a profile is ok.

    Example:
        >>> nl.profile(campaign).query("category == 'copy'")[["end", "cost_us", "low", "high"]]
    """
    frame = results if isinstance(results, pd.DataFrame) else results.frame()
    runs = profiled(frame)
    others = frames.usable(frame)
    keys = list(pooling.differing_factors(others, [])) if by is None else frames.factors(frame, by)
    pooling.refuse(others, keys, pool)
    direction = frames.direction(others)
    groups = [*_groups(runs, others, keys)]
    rows: list[dict[str, Any]] = []
    dispersions = {end: Dispersion.from_groups(end, [g.profiled for g in groups]) for end in ENDS}
    for group in groups:
        for end in ENDS:
            rows += _rows(group, end, dispersions[end])
    headings = dict(zip(keys, wording.headings(keys, _COLUMNS), strict=True))
    table = pd.DataFrame([{**{headings[k]: row.pop(k) for k in keys}, **row} for row in rows])
    ratio = throughput(groups)
    table.attrs["factors"] = {heading: key for key, heading in headings.items()}
    table.attrs["direction"] = direction
    table.attrs["throughput"] = (ratio.value, ratio.low, ratio.high)
    table.attrs["notes"] = tuple(_notes(frame, groups, ratio))
    return table


_COLUMNS = (
    *("end", "category", "share_pct", "share_low", "share_high", "cost_us", "low", "high"),
    *("per", "samples", "n", "profiled"),
)


def profiled(frame: pd.DataFrame) -> pd.DataFrame:
    """Select the ok runs that recorded a profile.

    Args:
        frame: A row for each run attempt.

    Returns:
        The last attempts, without the column `profiled`.

    Raises:
        DataError: No run with a profile has begun or is ok.
    """
    if PROFILED not in frame.columns:
        raise DataError("no run recorded a profile; add `profile:` to the experiment, or --profile")
    marked = frame[frame[PROFILED].fillna(False).astype(bool)]
    if marked.empty:
        raise DataError("no run with a profile has begun yet")
    runs = attempts.last_attempts(marked.drop(columns=PROFILED))
    return runs[frames.ok(runs)]


@dataclass(frozen=True)
class Group:
    """The runs of a configuration, with and without a profile."""

    key: Mapping[str, Hashable]
    profiled: pd.DataFrame
    others: pd.DataFrame


def _groups(runs: pd.DataFrame, others: pd.DataFrame, keys: Sequence[str]) -> Iterator[Group]:
    """Yield the configurations that have a profile."""
    with_profile = {wording.hashed(key): part for key, part in frames.groups(runs, keys)}
    for key, part in frames.groups(others, keys):
        if (own := with_profile.get(wording.hashed(key))) is not None:
            yield Group(dict(zip(keys, key, strict=True)), own, part)


def _rows(group: Group, end: str, dispersion: Dispersion) -> Iterator[dict[str, Any]]:
    counts = counts_of(group.profiled, end)
    if not len(counts):
        return
    demand, per = service_demand(group.others, end)
    for place, category in enumerate(CATEGORIES):
        ratio = share(
            counts[:, place].sum(),
            counts.sum(),
            dispersion.factors[place],
            dispersion.degrees[place],
        )
        cost = product(ratio, demand)
        yield {
            **group.key,
            "end": end,
            "category": category,
            "share_pct": 100 * ratio.value,
            "share_low": 100 * ratio.low,
            "share_high": 100 * ratio.high,
            "cost_us": cost.value,
            "low": cost.low,
            "high": cost.high,
            "per": per,
            "samples": round(counts[:, place].sum()),
            "n": len(group.others),
            "profiled": len(counts),
        }


def service_demand(runs: pd.DataFrame, end: str) -> tuple[Interval, str]:
    """Return the mean service demand of an end.

    Args:
        runs: A row for each run, without profiled runs.
        end: "local" or "remote".

    Returns:
        µs of CPU time with their 95 % interval, and the unit of work that they are per: KiB or
        transaction. NaN and "" if no run measured them.
    """
    for suffix, per in UNITS.items():
        values = runs.get(f"{end}_{suffix}", pd.Series(dtype=float)).dropna().to_numpy(dtype=float)
        if len(values):
            return intervals.mean(values), per
    return Interval(math.nan, math.nan, math.nan), ""


def differences(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return the difference of each category's cost between two configurations.

    Args:
        first: Rows of `profile` of one configuration.
        second: Rows of `profile` of another configuration.

    Returns:
        A row for each end and category that both have: `end`, `category`, `per`, `change_us` with
        `low` and `high`, largest first. An interval without 0 shows a difference.
    """
    both = first.merge(second, on=["end", "category", "per"], suffixes=("", "_2"))
    rows = []
    for _, row in both.iterrows():
        before, after = (
            Interval(*(float(row[f"{name}{suffix}"]) for name in ("cost_us", "low", "high")))
            for suffix in ("", "_2")
        )
        change = difference(before, after)
        rows.append(
            {
                **{name: row[name] for name in ("end", "category", "per")},
                "change_us": change.value,
                "low": change.low,
                "high": change.high,
            }
        )
    columns = ["end", "category", "per", "change_us", "low", "high"]
    table = pd.DataFrame(rows, columns=columns)
    order = table["change_us"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def throughput(groups: Sequence[Group]) -> Interval:
    """Compare the throughput of profiled runs with that of other runs, over all configurations.

    Args:
        groups: The runs of each configuration.

    Returns:
        The ratio of throughput (or transaction rate) with its 95 % interval; NaN if it is unknown.
    """
    logs = []
    for group in groups:
        for name in ("throughput_mbps", "transaction_rate_tps"):
            pair = [
                part[name].dropna().to_numpy(dtype=float)
                for part in (group.profiled, group.others)
                if name in part.columns
            ]
            if len(pair) == 2 and all(len(each) and (each > 0).all() for each in pair):
                logs += [*(np.log(pair[0]) - np.log(pair[1]).mean())]
                break
    if not logs:
        return Interval(math.nan, math.nan, math.nan)
    mean = intervals.mean(np.array(logs))
    return Interval(math.exp(mean.value), math.exp(mean.low), math.exp(mean.high))


def party(end: str, direction: Direction) -> str:
    """Return what an end is.

    Args:
        end: "local" or "remote".
        direction: Direction of the runs' data.

    Returns:
        sender or receiver; client or server if data goes both ways.
    """
    ends = {"send": ("sender", "receiver"), "recv": ("receiver", "sender")}
    return ends.get(direction, ("client", "server"))[ENDS.index(end)]


def _notes(frame: pd.DataFrame, groups: Sequence[Group], ratio: Interval) -> Iterator[str]:
    if not math.isnan(ratio.value):
        interval = (
            "" if math.isnan(ratio.low) else f" [{100 * ratio.low:.0f}, {100 * ratio.high:.0f}]"
        )
        yield (
            f"profiling costs throughput: profiled runs reach {100 * ratio.value:.0f}{interval} % "
            "of the others'; only their shares are taken"
        )
    runs = pd.concat([group.profiled for group in groups]) if groups else pd.DataFrame()
    events = {str(e) for end in ENDS for e in runs.get(f"{end}_profile_event", ()) if e == e}
    if "cpu-clock" in events:
        yield (
            "locks and interrupts look too heavy: without hardware counters the kernel's timer "
            "(cpu-clock) takes samples, which wait until interrupts are enabled"
        )
    if frame.get("shared_kernel", pd.Series(dtype=bool)).fillna(False).astype(bool).any():
        yield "both ends share one kernel: each profile holds the samples of both"
    unsorted = max(
        (
            float(runs[name].max())
            for end in ENDS
            if (name := f"{end}_profile_unsorted_pct") in runs.columns
        ),
        default=0.0,
    )
    if unsorted > UNSORTED_NOTED:
        yield (
            f"{unsorted:.0f} % of a run's samples in the kernel are in functions without a "
            "category, which count as other"
        )
    if any(len(group.profiled) < 2 for group in groups):
        yield "one profiled run does not show how much shares vary between runs; profile 2 or more"
    if any(len(group.others) < 2 for group in groups):
        yield "a service demand of one run has no interval; measure 2 runs or more"
