"""The history of a metric over campaigns: its level in each configuration, and where it changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from netlimits.analysis import frames, pooling
from netlimits.analysis.statistics import changes
from netlimits.errors import DataError
from netlimits.metrics import Metric

CAMPAIGN = "campaign"
BETTER, WORSE, CHANGED = "better", "worse", "changed"
THRESHOLD = 0.03
"""Default of the smallest change that matters, as a share; comparisons use the same value."""


def history(
    frame: pd.DataFrame,
    of: str = "throughput",
    series: str | Sequence[str] | None = None,
    threshold: float = THRESHOLD,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Find where a metric's level changed from campaign to campaign, in each configuration.

        frame = nl.joined({path.name: nl.open(path).frame() for path in folders})
        nl.analysis.history.history(frame, of="throughput")

    A campaign is one value: the mean of its ok runs. Campaigns are in the order of their first
    run's start, or of the rows if starts are unknown.

    Args:
        frame: Runs of several campaigns, with their names in the column `campaign`.
        of: The metric.
        series: Factors that distinguish the configurations; by default all that differ.
        threshold: The smallest change that matters, as a share.
        pool: Factors that may differ within a configuration.

    Returns:
        A row for each configuration and campaign: the factors, `campaign`, `started`, `n` (runs),
        `mean`, `level` (mean of the campaigns since the last change), `change_pct` and `verdict`.
        The last two have values only at the first campaign of a new level, otherwise NaN and "".
        `verdict` is better or worse, or changed if the metric has no better direction.
        `attrs["series"]` has the factors' names in the frame.

    Raises:
        DataError: There is no column `campaign`, no run is ok, or `analysis.spread` raises it.
    """
    if CAMPAIGN not in frame.columns:
        raise DataError(
            "a history needs several campaigns: name several folders, or give the table a column "
            "'campaign' with the name of each run's campaign"
        )
    if not 0 < threshold < 1:
        raise DataError(f"threshold: it must be between 0 and 1 (3 % is 0.03), not {threshold}")
    runs = frames.usable(frame)
    if series is None:
        pooled = frames.as_list(pool)
        differing = pooling.differing_factors(runs, [CAMPAIGN, *frames.factors(runs, pooled)])
        series = list(differing)
    named = frames.factors(runs, series)
    runs, (keys, pooled) = frames.resolve(runs, series, pool)
    metric = frames.metric_for(runs, of, keys)
    pooling.refuse(runs, [*keys, CAMPAIGN], pooled)
    runs = frames.complete(runs, [metric.column])
    order = ordered(runs)
    parts = [
        _series(part, dict(zip(keys, key, strict=True)), metric, order, threshold)
        for key, part in frames.groups(runs, keys)
    ]
    table = pd.concat(parts, ignore_index=True)
    table.attrs["series"] = named
    return table


def points(frame: pd.DataFrame, factors: Sequence[str], options: Any) -> list[str]:
    """Return the column that distinguishes the points of a curve in the chart.

    Args:
        frame: Runs of several campaigns.
        factors: Ignored.
        options: Ignored.

    Returns:
        The column `campaign`.

    Raises:
        DataError: There is no column `campaign`.
    """
    if CAMPAIGN not in frame.columns:
        raise DataError("a history needs several campaigns; name their folders")
    return [CAMPAIGN]


def ordered(runs: pd.DataFrame) -> dict[Any, Any]:
    """Return the campaigns in order of time.

    Args:
        runs: Runs with the columns `campaign` and, if known, `started`.

    Returns:
        Campaign -> start of its first run in UTC (NaT if unknown). The order is that of the starts,
        or that of the rows if a start is unknown.
    """
    names = list(dict.fromkeys(runs[CAMPAIGN]))
    if "started" not in runs.columns:
        return dict.fromkeys(names, pd.NaT)
    started = pd.to_datetime(runs["started"], utc=True, errors="coerce")
    first = started.groupby(runs[CAMPAIGN], sort=False).min()
    if first.isna().any():
        return {name: first[name] for name in names}
    return {name: first[name] for name in sorted(names, key=lambda name: first[name])}


def _series(
    runs: pd.DataFrame,
    key: dict[str, Any],
    metric: Metric,
    order: dict[Any, Any],
    threshold: float,
) -> pd.DataFrame:
    """Return the rows of one configuration."""
    values = pd.to_numeric(runs[metric.column]).groupby(runs[CAMPAIGN], sort=False)
    means, counts = values.mean(), values.count()
    names = [name for name in order if name in means.index]
    series = means[names].to_numpy(float)
    places = _beyond_threshold(series, changes.change_points(series.tolist()), threshold)
    rows = []
    ends = [*places, len(series)]
    level = before = float("nan")
    for number, name in enumerate(names):
        change, verdict = float("nan"), ""
        if number in (0, *places):
            end = next(end for end in ends if end > number)
            before, level = level, float(series[number:end].mean())
            if number:
                change = 100 * (level / before - 1)
                verdict = _verdict(level > before, metric)
        rows.append(
            {
                **key,
                CAMPAIGN: name,
                "started": order[name],
                "n": int(counts[name]),
                "mean": series[number],
                "level": level,
                "change_pct": change,
                "verdict": verdict,
            }
        )
    return pd.DataFrame(rows)


def _beyond_threshold(series: Any, places: Sequence[int], threshold: float) -> list[int]:
    """Remove the smallest change until every change is at least `threshold`; return the rest."""
    kept = list(places)
    while kept:
        edges = [0, *kept, len(series)]
        levels = [series[a:b].mean() for a, b in pairwise(edges)]
        shares = [
            abs(after / before - 1) if before else float("inf")
            for before, after in pairwise(levels)
        ]
        smallest = min(range(len(kept)), key=shares.__getitem__)
        if shares[smallest] >= threshold:
            break
        del kept[smallest]
    return kept


def _verdict(rose: bool, metric: Metric) -> str:
    if not metric.better:
        return CHANGED
    return BETTER if rose == (metric.better == "higher") else WORSE


def last_changes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the last change of each configuration that has changes; a gate judges these.

    Args:
        table: The frame of `history`.

    Returns:
        The columns of `table`, with at most one row for each configuration.
    """
    changed = table[table["verdict"] != ""]
    keys = list(table.columns[: list(table.columns).index(CAMPAIGN)])
    return pd.concat([changed[:0], *(part.tail(1) for _, part in frames.groups(changed, keys))])
