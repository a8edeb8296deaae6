"""Hosts and links of a mesh: how far each is from the others, and which are outliers.

The value of a run is the logarithm of its metric, less the median of its block and configuration.
Tukey's median polish ("Exploratory Data Analysis", 1977, chapter 11) splits each pair's median. The
parts are the effects of sender and receiver, and a residual ("rest" in columns and code).

Senders, receivers and residuals are three groups. Two tests judge each member of a group:

- Student's t of its distance from the group's median, divided by 1.4826 median absolute deviations
  (Iglewicz and Hoaglin 1993). Polishing makes about one residual zero for each effect. So this
  number of the smallest deviations is left out of the median absolute deviation.
- Student's t of its own values, one for each block.

A member is an outlier if both p-values, adjusted for all links or hosts (Holm), are at most LEVEL
and its distance is at least LEAST. All runs of a link must also lie on the same side of the value
that its hosts predict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import frames, pooling
from netlimits.errors import DataError
from netlimits.model import Mesh

SENDER, RECEIVER = Mesh.SENDER, Mesh.RECEIVER

LEVEL = 0.05
"""Significance level: in this share of meshes without outliers, an outlier is named by mistake."""

LEAST = 0.05
"""Smallest distance of an outlier, as a ratio less 1."""

CONSISTENT = 1.4826
"""Factor from a median absolute deviation to the standard deviation of normal values."""

FEWEST = 6
"""Minimum number of members of a group; smaller groups have no outliers."""

BLOCKS = 6
"""Minimum number of blocks for an outlier; fewer do not show how much its own runs vary."""

POLISHED, STEPS = 1e-9, 50
"""A median polish ends if no effect changes by more than this, or after this many iterations."""


def links(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> pd.DataFrame:
    """Compare the links of a mesh.

    Args:
        frame: A row for each run of a mesh.
        of: The metric.
        pool: Factors that may differ within a pair.

    Returns:
        A row for each pair: `sender`, `receiver`, `runs`, the metric's median, `ratio` (to the
        median of all pairs), `rest_ratio` (to what its two hosts predict) with `z` and `p`
        (adjusted, the greater of the two), and `outlier`.

    Raises:
        DataError: The runs are not a mesh's, a value is not above zero, or runs of a pair differ in
            a factor that is not in `pool`.
    """
    metric, logs = _logs(frame, of, pool)
    table = _links(metric, logs)
    return _in_order(table.drop(columns=["log", "sender_log", "receiver_log"]))


def _links(metric: str, logs: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `links`, with `log` and the effects of sender and receiver on it."""
    table = logs.groupby([SENDER, RECEIVER], sort=False, observed=True).agg(
        runs=("log", "size"),
        middle=(metric, "median"),
        log=("log", "median"),
        low=("log", "min"),
        high=("log", "max"),
    )
    table = table.reset_index().rename(columns={"middle": metric})
    senders, receivers = _polished(table)
    table["sender_log"] = table[SENDER].map(senders).astype(float)
    table["receiver_log"] = table[RECEIVER].map(receivers).astype(float)
    rest = table["log"] - table["sender_log"] - table["receiver_log"]
    freedom = len(table) - len(senders) - len(receivers) + 1
    level = table["log"] - rest + rest.median()
    one_sided = (table["low"] > level) | (table["high"] < level)
    table["ratio"] = np.exp(table["log"])
    pairs = table.set_index([SENDER, RECEIVER])
    of_run = pd.MultiIndex.from_frame(logs[[SENDER, RECEIVER]])
    left = logs["log"].to_numpy() - pd.Series(level.to_numpy(), pairs.index)[of_run].to_numpy()
    own = _own(logs.assign(left=left).groupby([SENDER, RECEIVER, "within"], sort=False), table)
    judged = _judged(table.drop(columns=["low", "high"]), rest, freedom, "rest_ratio", own)
    judged["outlier"] &= one_sided
    return judged


def _own(
    by_block: Any, table: pd.DataFrame, keys: Sequence[str] = (SENDER, RECEIVER)
) -> np.ndarray:
    """Return the p-value of each row's values over its blocks; 1 for fewer than BLOCKS blocks."""
    from scipy.special import stdtr

    values = by_block["left"].median().groupby(level=list(keys), sort=False)
    statistics = pd.DataFrame({"n": values.size(), "mean": values.mean(), "sd": values.std()})
    statistics = statistics.reindex(
        pd.MultiIndex.from_frame(table[list(keys)]) if len(keys) > 1 else table[keys[0]]
    )
    n, mean, sd = (statistics[name].to_numpy(float) for name in ("n", "mean", "sd"))
    t = np.divide(np.abs(mean), sd, out=np.where(mean == 0, 0.0, np.inf), where=sd > 0) * n**0.5
    return np.where(n >= BLOCKS, 2 * stdtr(np.maximum(n - 1, 1), -t), 1.0)


def hosts(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> pd.DataFrame:
    """Compare the hosts of a mesh at each end.

    Args:
        frame: A row for each run of a mesh.
        of: The metric.
        pool: Factors that may differ within a pair.

    Returns:
        A row for each host and end: `host`, `end` (sender or receiver), `pairs`, the metric's
        median over its pairs, `ratio` (its effect, relative to the median of all hosts at that
        end), `z`, `p` and `outlier` as in `links`.

    Raises:
        DataError: The runs are not a mesh's, a value is not above zero, or runs of a pair differ in
            a factor that is not in `pool`.
    """
    metric, logs = _logs(frame, of, pool)
    table = _links(metric, logs)
    runs = logs.merge(table[[SENDER, RECEIVER, "sender_log", "receiver_log"]])
    parts = []
    for end, effects in zip((SENDER, RECEIVER), _polished(table), strict=True):
        by = table.groupby(end, sort=False)[metric].agg(["size", "median"])
        part = by.rename(columns={"size": "pairs", "median": metric}).reset_index(names="host")
        part.insert(1, "end", end)
        part[metric] = part[metric].astype(float)
        other = "receiver_log" if end == SENDER else "sender_log"
        left = runs.assign(host=runs[end], left=runs["log"] - runs[other])
        left["left"] -= left["left"].median()
        own = _own(left.groupby(["host", "within"], sort=False), part, ["host"])
        parts.append(_judged(part, part["host"].map(effects), len(part) - 1, "ratio", own, 2))
    return _in_order(pd.concat(parts, ignore_index=True))


def too_few(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> bool:
    """Return True if no pair has enough blocks to name outliers.

    Args:
        frame: A row for each run of a mesh.
        of: The metric.
        pool: Factors that may differ within a pair.

    Returns:
        True if every pair has fewer than BLOCKS blocks.
    """
    _, logs = _logs(frame, of, pool)
    return bool(logs.groupby([SENDER, RECEIVER])["within"].nunique().max() < BLOCKS)


def outliers(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> list[str]:
    """Return the outliers in words.

    Args:
        frame: A row for each run of a mesh.
        of: The metric.
        pool: Factors that may differ within a pair.

    Returns:
        Hosts, then pairs: "hosts-3 as receiver −41 %", "hosts-1 → hosts-2 +12 %".
    """
    by_host = hosts(frame, of, pool)
    by_link = links(frame, of, pool)
    return [
        *(
            f"{row['host']} as {row['end']} {_percent(row['ratio'])}"
            for row in by_host[by_host["outlier"]].to_dict("records")
        ),
        *(
            f"{row[SENDER]} → {row[RECEIVER]} {_percent(row['rest_ratio'])}"
            for row in by_link[by_link["outlier"]].to_dict("records")
        ),
    ]


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %".replace("-", "−")


def _logs(frame: pd.DataFrame, of: str, pool: str | Sequence[str]) -> tuple[str, pd.DataFrame]:
    """Return the metric's column, and each run's pair, value, `log` and block (`within`).

    `log` is the logarithm of the value less the median of its block and configuration.
    """
    runs = frames.usable(frame)
    if missing := [end for end in (SENDER, RECEIVER) if end not in runs.columns]:
        raise DataError(
            f"no column {missing[0]}: these are not runs of a mesh "
            "(`roles: {hosts: 8, pairs: all}`)"
        )
    metric = frames.column(runs, of)
    pooling.refuse(runs, [SENDER, RECEIVER], pool)
    runs = frames.complete(runs, [metric.column])
    values = frames.positive(runs, metric.column)
    pooled = frames.as_list(pool)
    same = [name for name in (*pooled, "block", "campaign") if name in runs.columns]
    logs = pd.Series(np.log(values.to_numpy()), runs.index)
    middle = logs.groupby([runs[name] for name in same], dropna=False) if same else None
    level = middle.transform("median") if middle is not None else logs.median()
    chosen = runs[[SENDER, RECEIVER, metric.column]].assign(log=logs - level)
    blocks = [runs[name] for name in ("campaign", "block") if name in runs.columns]
    if "block" in runs.columns:
        chosen["within"] = runs.groupby(blocks, sort=False, dropna=False).ngroup()
    else:
        chosen["within"] = chosen.groupby([SENDER, RECEIVER], sort=False).cumcount()
    return metric.column, chosen


def _polished(table: pd.DataFrame) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return the effects of senders and receivers on `log`, each with a median of 0."""
    rest = table["log"].to_numpy(dtype=float).copy()
    ends = [pd.factorize(table[end]) for end in (SENDER, RECEIVER)]
    effects = [np.zeros(len(names)) for _, names in ends]
    for _ in range(STEPS):
        moved = 0.0
        for (codes, names), effect in zip(ends, effects, strict=True):
            step = pd.Series(rest).groupby(codes).median().reindex(range(len(names))).to_numpy()
            rest -= step[codes]
            effect += step
            moved = max(moved, float(np.abs(step).max(initial=0.0)))
        if moved < POLISHED:
            break
    (_, senders), (_, receivers) = ends
    first, second = (effect - np.median(effect) for effect in effects)
    return pd.Series(first, senders), pd.Series(second, receivers)


def _judged(
    table: pd.DataFrame,
    effects: pd.Series[float],
    freedom: int,
    name: str,
    own: np.ndarray,
    groups: int = 1,
) -> pd.DataFrame:
    """Return the table with `name` (a ratio), `z`, `p` and `outlier` of its rows' effects.

    `own` are the rows' p-values from their own blocks. If `groups` tables are judged together,
    p-values are multiplied by this number.
    """
    from scipy.special import stdtr

    deviations = effects.to_numpy(dtype=float) - np.median(effects)
    judged = len(deviations) >= FEWEST and freedom >= FEWEST - 1
    free = np.sort(np.abs(deviations))[len(deviations) - max(1, freedom) :]
    scale = CONSISTENT * float(np.median(free))
    z = np.divide(deviations, scale, out=np.full(len(deviations), np.nan), where=scale > 0)
    p = (
        _holm(2 * groups * stdtr(freedom, -np.abs(z)))
        if judged and scale > 0
        else np.ones(len(deviations))
    )
    p = np.maximum(p, _holm(np.minimum(1.0, groups * own)))
    ratio = np.exp(deviations)
    outlier = (p <= LEVEL) & (np.maximum(ratio, 1 / ratio) - 1 >= LEAST)
    return table.assign(**{name: ratio, "z": z, "p": p, "outlier": outlier})


def _holm(p: np.ndarray) -> np.ndarray:
    """Return the p-values adjusted for their number, by Holm's method."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def points(frame: pd.DataFrame, factors: list[str], options: Mapping[str, Any]) -> list[str]:
    """Return the columns that distinguish the points of a mesh's charts.

    Args:
        frame: Ignored.
        factors: Ignored.
        options: Ignored.

    Returns:
        The two ends of a pair.
    """
    return [SENDER, RECEIVER]


def host_key(host: object) -> tuple[str, int]:
    """Return a sort key that puts hosts-2 before hosts-10.

    Args:
        host: The name of a host.

    Returns:
        The name without its number, and the number; 0 if there is none.
    """
    name, _, digits = str(host).rpartition("-")
    return (name, int(digits)) if digits.isdigit() else (str(host), 0)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort the rows by end and host, hosts-2 before hosts-10."""
    keys = [name for name in ("end", "host", SENDER, RECEIVER) if name in table.columns]
    ends = {SENDER: ("", 0), RECEIVER: ("", 1)}
    rows = [
        [
            ends[value] if key == "end" else host_key(value)
            for key, value in zip(keys, row, strict=True)
        ]
        for row in table[keys].itertuples(index=False)
    ]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return table.iloc[order].reset_index(drop=True)
