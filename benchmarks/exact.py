"""What analyses of a relation have to tell, from all values of a configuration in memory.

Means, deviations and percentiles are NumPy's; intervals of means and comparisons SciPy's; an
interval of a median is held against how many values lie below its ends, and an improvement within
blocks against how many of all averages of two differences (Walsh averages) do, which are counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
Rows = list[dict[str, Any]]
Cell = tuple[int, str]
Checks = Iterator[tuple[str, float, float]]
"""What is checked, what was told, and what it has to be."""


def held(place: Path, told: dict[str, Rows]) -> tuple[int, list[str]]:
    """How many figures of the analyses were checked, and those that are others, in words.

    The rows of `summary`, `percentiles`, `spread` and `compare`, as far as they are told of.
    """
    cells = [
        (size, transport) for size in (1024, 8192) for transport in ("UDP", "TCP on", "TCP off")
    ]
    checks = itertools.chain(
        *(of_cell(place, cell, told) for cell in cells),
        *(
            improvement(place, row)
            for row in told.get("summary", [])
            if row["statistic"] == "improvement"
        ),
    )
    count, wrong = 0, []
    for name, figure, right in checks:
        count += 1
        if not math.isclose(figure, right, rel_tol=1e-9):
            wrong.append(f"{name}: {float(figure)!r}, and it has to be {float(right)!r}")
    return count, wrong


def of_cell(place: Path, cell: Cell, told: dict[str, Rows]) -> Checks:
    """All that is told of a configuration by itself."""
    blocks, values = _runs(place, cell)
    name = "{} {}".format(*cell)
    mean, sd, n = values.mean(), values.std(ddof=1), len(values)
    low, high = stats.t.interval(CONFIDENCE, n - 1, mean, sd / n**0.5)
    ordered = np.sort(values)
    for row in _of(told.get("summary", []), cell):
        if row["statistic"] == "mean":
            yield from _all(f"summary {name} mean", row, value=mean, low=low, high=high, n=n)
        elif row["statistic"] == "median":
            yield from _all(f"summary {name} median", row, value=np.median(values), n=n)
            beyond = stats.binom.ppf((1 - CONFIDENCE) / 2, n, 0.5)
            for end, rank in (("low", beyond), ("high", n - beyond)):
                below = np.searchsorted(ordered, row[end])
                yield f"summary {name} median {end}, ranks off", max(0, abs(below - rank) - 1), 0
    for row in _of(told.get("spread", []), cell):
        least, most = values.min(), values.max()
        yield from _all(
            f"spread {name}", row, n=n, min=least, mean=mean, max=most, range=most - least, sd=sd,
            cv_pct=100 * sd / mean, low=low, high=high,
        )  # fmt: skip
    curve = _of(told.get("percentiles", []), cell)
    for row, right in zip(
        curve, np.quantile(values, [r["percentile"] / 100 for r in curve]), strict=True
    ):
        yield f"percentiles {name} {row['percentile']}", row["throughput_mbps"], right
    for row in _of(told.get("compare", []), cell):
        before, after = (values[blocks % 2 == rest] for rest in (0, 1))
        test = stats.ttest_ind(np.log(after), np.log(before), equal_var=False)
        ends = test.confidence_interval(CONFIDENCE)
        yield from _all(
            f"compare {name}", row, before=before.mean(), after=after.mean(), n_before=len(before),
            n_after=len(after), ratio=np.exp(np.log(after).mean() - np.log(before).mean()),
            low=np.exp(ends.low), high=np.exp(ends.high), p=test.pvalue,
        )  # fmt: skip


def improvement(place: Path, row: dict[str, Any]) -> Checks:
    """The median of all Walsh averages of the blocks' log ratios, and Wilcoxon's interval."""
    (first, slow), (second, fast) = (
        _runs(place, (size, row["transport"])) for size in (1024, 8192)
    )
    _, here, there = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    ordered = np.sort(np.log(fast[there] / slow[here]))
    n = len(ordered)
    pairs, deviation = n * (n + 1) / 2, (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    z = stats.norm.ppf((1 + CONFIDENCE) / 2)
    middle = pairs / 2
    for name, rank in (
        ("value", middle),
        ("low", middle - z * deviation),
        ("high", middle + z * deviation),
    ):
        twice = 2 * math.log(row[name])
        places = np.searchsorted(ordered, twice - ordered)
        # pairs in either order, and each value with itself once
        below = (int(places.sum()) + int(np.searchsorted(ordered, twice / 2))) / 2
        yield f"summary {row['transport']} improvement {name}", 1 + below / pairs, 1 + rank / pairs


def _all(name: str, row: dict[str, Any], **right: float) -> Checks:
    return ((f"{name} {figure}", row[figure], float(value)) for figure, value in right.items())


def _of(rows: Rows, cell: Cell) -> Rows:
    return [
        row for row in rows if (str(row["send_size"]), row["transport"]) == (str(cell[0]), cell[1])
    ]


def _runs(place: Path, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """The blocks and figures of a configuration's runs that are ok."""
    import duckdb

    columns = duckdb.execute(
        f"select block, throughput_mbps from read_parquet('{place}/parts/*.parquet') "
        "where status = 'ok' and send_size = ? and transport = ?",
        cell,
    ).fetchnumpy()
    return columns["block"], columns["throughput_mbps"]
