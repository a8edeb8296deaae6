"""The reports' summary table: a mean for each configuration, how many runs, and what size gains.

One number a run is the unit: interval samples within a run are not independent. A mean's
interval is Student's t over the runs of its cell. An improvement is the ratio of two
unrounded means, turned so that better is above 1; its interval is a log-t one: with the
relative standard errors r = s / (mean √n) of both cells (delta method on the logarithm),
log ratio ± t(ν) √(r₁² + r₂²), and Welch and Satterthwaite's
ν = (r₁² + r₂²)² / (r₁⁴/(n₁−1) + r₂⁴/(n₂−1)). A cell of one run has no interval: its `low` and
`high` are NaN.

A row that is itself the mean of several runs (`aggregated_runs` of an imported file) counts as so
many in n and in the mean. How those runs spread is lost, and rows of it are no sample of runs, so
that a cell with such a row has no interval either, whatever its n; a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from netlimits.analysis import frames
from netlimits.errors import DataError
from netlimits.metrics import Metric, metric


def summary(
    frame: pd.DataFrame,
    of: str | Sequence[str],
    rows: str,
    columns: str | Sequence[str] = (),
    improvement: str | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The mean of each metric in each cell of `rows` × `columns`, with n and its interval.

    `of` are metrics' short names or columns; `rows` and `columns` are factors. `improvement`
    reads "8192 over 1024": values of `rows`. For a metric where lower is better it is
    mean(1024) / mean(8192), else mean(8192) / mean(1024).

    Returns a tidy frame: `metric` (its column's name), `statistic` (`mean` or `improvement`),
    the row factor, the column factors, `value`, `n` (runs behind it; of both cells for an
    improvement), `low` and `high`. `attrs["notes"]` holds what its reader must know.
    Raises DataError for a metric or factor that is not there, or that some runs of a cell lack.
    """
    if not 0 < confidence < 1:
        raise DataError(f"a confidence lies between 0 and 1, not {confidence}")
    wanted = [frames.column(frame, name) for name in ([of] if isinstance(of, str) else of)]
    if not wanted:
        raise DataError(f"no metric to summarize; metrics here: {_here(frame)}")
    keys = [*frames.factors(frame, rows), *frames.factors(frame, columns)]
    runs = frames.usable(frame)
    cells = _cells(runs, keys, wanted)
    means = _with_intervals(cells, confidence)
    parts = [means]
    if improvement is not None:
        parts.append(_improvements(means, cells, keys, improvement, confidence))
    table = pd.concat(parts, ignore_index=True)
    order = {m.column: i for i, m in enumerate(wanted)}
    table = table.sort_values("metric", key=lambda c: c.map(order), kind="stable")
    table = table[["metric", "statistic", *keys, "value", "n", "low", "high"]]
    table = table.reset_index(drop=True)
    table.attrs["notes"] = frames.notes(frame, [m.column for m in wanted])
    table.attrs["confidence"] = confidence
    return table


def _here(frame: pd.DataFrame) -> str:
    return frames.listed(frames.measured(frame))


def _cells(runs: pd.DataFrame, keys: list[str], wanted: Sequence[Metric]) -> pd.DataFrame:
    """One row a metric and cell: n, mean, var; cells in the order of `frames.rank`."""
    names = [m.column for m in wanted]
    grouped = runs.groupby(keys, sort=False, dropna=False, observed=True)
    size = grouped.size()
    parts = []
    weights = frames.weights(runs)
    for name in names:
        part = grouped[name].agg(["mean", "var", "count"]).rename(columns={"count": "n"})
        short = part[(part["n"] > 0) & (part["n"] < size)]
        if len(short):
            where = dict(zip(keys, _tuple(short.index[0]), strict=True))
            place = ", ".join(f"{key} {frames.text(value)}" for key, value in where.items())
            lacking, of_all = (
                int(size.loc[short.index[0]] - short["n"].iloc[0]),
                size.loc[short.index[0]],
            )
            raise DataError(f"{name} is missing in {lacking} of the {of_all} runs of {place}")
        if (weights > 1).any():
            part = _weighted(runs, keys, name, weights, part)
        part = part[part["n"] > 0].reset_index()
        if part.empty:
            raise DataError(f"{name} has no value in any run")
        ranks = part[keys].apply(lambda row: tuple(frames.rank(v) for v in row), axis=1)
        parts.append(part.loc[sorted(part.index, key=ranks.__getitem__)].assign(metric=name))
    return pd.concat(parts, ignore_index=True)


def _weighted(
    runs: pd.DataFrame, keys: list[str], name: str, weights: pd.Series[Any], part: pd.DataFrame
) -> pd.DataFrame:
    """Cells whose rows stand for several runs each: n of these, no variance."""
    rows = runs[keys].assign(_n=weights.where(runs[name].notna(), 0), _sum=weights * runs[name])
    grouped = rows.groupby(keys, sort=False, dropna=False, observed=True)
    n = grouped["_n"].sum()
    aggregated = n > part["n"]
    mean = (grouped["_sum"].sum() / n.where(n > 0)).where(aggregated, part["mean"])
    return part.assign(mean=mean, var=part["var"].mask(aggregated), n=n)


def _tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _with_intervals(cells: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Student's t interval of each mean: mean ± t(n − 1) s / √n."""
    n = cells["n"].to_numpy(dtype=float)
    freedom = np.where(n > 1, n - 1, np.nan)
    half = stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(cells["var"].to_numpy() / n)
    mean = cells["mean"].to_numpy()
    rest = cells.drop(columns=["mean", "var"])
    return rest.assign(statistic="mean", value=mean, low=mean - half, high=mean + half)


def _improvements(
    means: pd.DataFrame, cells: pd.DataFrame, keys: list[str], written: str, confidence: float
) -> pd.DataFrame:
    """The ratio of the two named rows in every column, better above 1."""
    rows, *columns = keys
    over, under = _values(means[rows], written, rows)
    found = []
    for name, part in cells.groupby("metric", sort=False):
        better = metric(str(name)).better
        for key, cell in frames.groups(part, columns):
            pair = [cell[cell[rows].map(frames.text) == value] for value in (over, under)]
            if pair[0].empty or pair[1].empty:
                continue
            top, bottom = (pair[1], pair[0]) if better == "lower" else (pair[0], pair[1])
            value, low, high = _ratio(top.iloc[0], bottom.iloc[0], confidence, str(name))
            found.append(
                {
                    "metric": name,
                    "statistic": "improvement",
                    rows: f"{over} over {under}",
                    **dict(zip(columns, key, strict=True)),
                    "value": value,
                    "n": int(top["n"].iloc[0] + bottom["n"].iloc[0]),
                    "low": low,
                    "high": high,
                }
            )
    if not found:
        raise DataError(f"improvement {written!r}: no column has runs of both")
    return pd.DataFrame(found)


def _values(column: pd.Series[Any], written: str, rows: str) -> tuple[str, str]:
    over, word, under = written.partition(" over ")
    over, under = over.strip(), under.strip()
    here = sorted(column.unique(), key=frames.rank)
    texts = [frames.text(value) for value in here]
    if not word or over == under:
        raise DataError(f"improvement reads 'A over B', values of {rows}, not {written!r}")
    for value in (over, under):
        if value not in texts:
            raise DataError(
                f"improvement {written!r}: {rows} is never {value}; it is {', '.join(texts)}"
            )
    return over, under


def _ratio(
    top: pd.Series[Any], bottom: pd.Series[Any], confidence: float, name: str
) -> tuple[float, float, float]:
    """mean(top) / mean(bottom) and its log-t interval (the module's head has the formula)."""
    if not (top["mean"] > 0 and bottom["mean"] > 0):
        raise DataError(
            f"{name}: a ratio needs means above zero, not {top['mean']}, {bottom['mean']}"
        )
    value = float(top["mean"] / bottom["mean"])
    if np.isnan(top["var"]) or np.isnan(bottom["var"]):  # a lone run, or an aggregate
        return value, np.nan, np.nan
    squares = [c["var"] / (c["n"] * c["mean"] ** 2) for c in (top, bottom)]
    total = sum(squares)
    if total == 0:
        return value, value, value
    freedom = total**2 / sum(
        r**2 / (c["n"] - 1) for r, c in zip(squares, (top, bottom), strict=True)
    )
    factor = float(np.exp(stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(total)))
    return value, value / factor, value * factor
