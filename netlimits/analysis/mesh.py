"""A mesh's hosts and links: how far each lies from the others, and which are outliers.

The unit is the logarithm of a run's figure, less the median of its block and configuration, in
which each pair ran once: so neither drift nor a factor that is pooled is taken for a host's. Of
what is left,

    median over a pair's runs = sender + receiver + rest

by Tukey's median polish ("Exploratory Data Analysis", 1977, chapter 11), which a few odd links
do not bend. Effects of hosts as senders, as receivers, and rests of links are three groups. Within
each a member's distance from the group's median is divided by 1.4826 median absolute deviations
(Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993) and taken for Student's t. As many
of the least deviations as there are effects are left out of that median: polishing makes them zero.
It is an outlier where

- its p-value, adjusted for all links, or all hosts at both ends (Holm), is at most LEVEL,
- it lies LEAST or more apart: of hosts that are all alike the least difference stands out, and
  matters to nobody,
- and of a link that was run more than once each run lies on that side: slow runs that come
  and go are no property of a link.

Of fewer than FEWEST members, or as many free ones, none is told apart.
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
"""About this share of meshes without outliers has a host named, and a link."""

LEAST = 0.05
"""As a ratio less 1: what lies closer to the others is no outlier."""

CONSISTENT = 1.4826
"""Times a median absolute deviation is the standard deviation of normal values."""

FEWEST = 6
"""Members of a group from which on one may stand out from the others."""

POLISHED, STEPS = 1e-9, 50


def links(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> pd.DataFrame:
    """One row a pair: `sender`, `receiver`, `runs`, the metric's median, and how it compares.

    `ratio` is to the median of all pairs, `rest_ratio` to what its two hosts let expect; `z` and
    `p` (adjusted) are the latter's, and `outlier` says whether it is one. Raises DataError for a
    frame without pairs, a figure that is not above zero, and what is pooled without being meant.
    """
    metric, logs = _logs(frame, of, pool)
    table = logs.groupby([SENDER, RECEIVER], sort=False, observed=True).agg(
        runs=("log", "size"),
        middle=(metric, "median"),
        log=("log", "median"),
        low=("log", "min"),
        high=("log", "max"),
    )
    table = table.reset_index().rename(columns={"middle": metric})
    senders, receivers = _polished(table)
    rest = table["log"] - table[SENDER].map(senders) - table[RECEIVER].map(receivers)
    freedom = len(table) - len(senders) - len(receivers) + 1
    level = table["log"] - rest + rest.median()
    one_sided = (table["low"] > level) | (table["high"] < level)
    table["ratio"] = np.exp(table["log"])
    judged = _judged(table.drop(columns=["log", "low", "high"]), rest, freedom, "rest_ratio")
    judged["outlier"] &= one_sided
    return _in_order(judged)


def hosts(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> pd.DataFrame:
    """One row a host and end: `host`, `end` (sender or receiver), `pairs`, and how it compares.

    The metric's column is the median over its pairs, `ratio` its effect, to the middle of all hosts
    at that end; `z`, `p` and `outlier` as in `links`, which raises what this raises.
    """
    table = links(frame, of, pool)
    metric = frames.column(frame, of).column
    log = table.assign(log=np.log(table["ratio"]))
    parts = []
    for end, effects in zip((SENDER, RECEIVER), _polished(log), strict=True):
        by = table.groupby(end, sort=False)[metric].agg(["size", "median"])
        part = by.rename(columns={"size": "pairs", "median": metric}).reset_index(names="host")
        part.insert(1, "end", end)
        part[metric] = part[metric].astype(float)
        parts.append(_judged(part, part["host"].map(effects), len(part) - 1, "ratio", 2))
    return _in_order(pd.concat(parts, ignore_index=True))


def outliers(frame: pd.DataFrame, of: str, pool: str | Sequence[str] = ()) -> list[str]:
    """The outliers, hosts first: "hosts-3 as receiver −41 %", "hosts-1 → hosts-2 +12 %"."""
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
    """The metric's column, and each run's pair, figure and logarithm less its block's median."""
    runs = frames.usable(frame)
    if missing := [end for end in (SENDER, RECEIVER) if end not in runs.columns]:
        raise DataError(
            f"there is no column {missing[0]}: these are not the runs of a mesh "
            "(`roles: {hosts: 8, pairs: all}`)"
        )
    metric = frames.column(runs, of)
    pooling.refuse(runs, [SENDER, RECEIVER], pool)
    runs = frames.complete(runs, [metric.column])
    values = runs[metric.column].astype(float)
    if not (values > 0).all():
        raise DataError(f"{metric.column} is not above zero in every run: it has no ratio")
    pooled = [pool] if isinstance(pool, str) else list(pool)
    same = [name for name in (*pooled, "block", "campaign") if name in runs.columns]
    logs = pd.Series(np.log(values.to_numpy()), runs.index)
    middle = logs.groupby([runs[name] for name in same], dropna=False) if same else None
    level = middle.transform("median") if middle is not None else logs.median()
    return metric.column, runs[[SENDER, RECEIVER, metric.column]].assign(log=logs - level)


def _polished(table: pd.DataFrame) -> tuple[pd.Series[float], pd.Series[float]]:
    """The effects of senders and receivers on `log`, each around a median of 0."""
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
    table: pd.DataFrame, effects: pd.Series[float], freedom: int, name: str, groups: int = 1
) -> pd.DataFrame:
    """The table with `name` (a ratio), `z`, `p` and `outlier` of its rows' effects.

    They are one of so many `groups` that are judged together, with so much `freedom`.
    """
    from scipy.special import stdtr

    away = effects.to_numpy(dtype=float) - np.median(effects)
    judged = len(away) >= FEWEST and freedom >= FEWEST - 1
    free = np.sort(np.abs(away))[len(away) - max(1, freedom) :]
    scale = CONSISTENT * float(np.median(free))
    z = np.divide(away, scale, out=np.full(len(away), np.nan), where=scale > 0)
    p = (
        _holm(2 * groups * stdtr(freedom, -np.abs(z)))
        if judged and scale > 0
        else np.ones(len(away))
    )
    ratio = np.exp(away)
    outlier = (p <= LEVEL) & (np.maximum(ratio, 1 / ratio) - 1 >= LEAST)
    return table.assign(**{name: ratio, "z": z, "p": p, "outlier": outlier})


def _holm(p: np.ndarray) -> np.ndarray:
    """p-values adjusted for their number, so that any false one has the chance that it names."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def points(frame: pd.DataFrame, factors: list[str], options: Mapping[str, Any]) -> list[str]:
    """What the points of a mesh's charts differ in: the two ends of a pair."""
    return [SENDER, RECEIVER]


def number(host: object) -> tuple[str, int]:
    """What hosts are sorted by: hosts-2 before hosts-10."""
    name, _, digits = str(host).rpartition("-")
    return (name, int(digits)) if digits.isdigit() else (str(host), 0)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The rows by end, and by host as it is numbered."""
    keys = [name for name in ("end", "host", SENDER, RECEIVER) if name in table.columns]
    ends = {SENDER: ("", 0), RECEIVER: ("", 1)}
    rows = [
        [
            ends[value] if key == "end" else number(value)
            for key, value in zip(keys, row, strict=True)
        ]
        for row in table[keys].itertuples(index=False)
    ]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return table.iloc[order].reset_index(drop=True)
