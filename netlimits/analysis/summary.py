"""The reports' summary table: a figure for each configuration, how many runs, and what size gains.

One number a run is the unit: interval samples within a run are not independent. A mean's
interval is Student's t over the runs of its cell; from six runs on the median stands beside it
with its order-statistic interval, and where either lies outside the other's, or runs stand in
groups far apart (`intervals.of_several_kinds`), the table says that they are of more than one
kind. An improvement is a ratio, turned so that better is above 1, with the interval of
`analysis.contrasts`: within blocks where the campaign has any. `coverage.py` of the benchmarks
shows what each of them covers.

A row that is itself the mean of several runs (`aggregated_runs` of an imported file) counts as so
many in n and in the mean. How those runs spread is lost, and rows of it are no sample of runs, so
that a cell with such a row has no interval either, whatever its n; a note says so.

A configuration whose runs all failed has its cell, without a value; a metric that cannot be had
does not take the others along, but is named in the notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import caveats, contrasts, frames, intervals, pooling, wording
from netlimits.analysis.contrasts import Contrast
from netlimits.analysis.intervals import ENOUGH, RARE
from netlimits.errors import DataError
from netlimits.metrics import Metric

MEAN, MEDIAN, IMPROVEMENT = "mean", "median", "improvement"

_OURS = ("metric", "statistic", "value", "n", "runs", "low", "high")
"""The columns of a summary beside the factors; a factor of such a name gets a `_` behind it."""

_HOW = {
    contrasts.WILCOXON: "within blocks: Hodges-Lehmann, Wilcoxon's interval",
    contrasts.TWO_WAY: f"within fewer than {ENOUGH} blocks: log(y) ~ configuration + block",
    contrasts.WELCH: "of runs without blocks: Welch's t on logarithms",
}
FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of row and columns: its runs' figures, their weights and blocks.

    `runs` is how many came to something, ok or not; `key` is what they have in common. `untold`
    says that runs were ok and none of them has the figure, as with a tool that does not tell it.
    """

    key: tuple[Any, ...]
    sample: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray | None
    runs: int
    untold: bool = False

    @property
    def n(self) -> int:
        """How many runs stand behind the figure."""
        return int(self.weights.sum())

    @property
    def aggregated(self) -> bool:
        """Whether some row is the mean of several runs."""
        return bool((self.weights > 1).any())

    @property
    def mean(self) -> float:
        """The mean over the runs; NaN where there is none."""
        return float(np.average(self.sample, weights=self.weights)) if len(self.sample) else np.nan


def summary(
    frame: pd.DataFrame,
    of: str | Sequence[str],
    rows: str | None = None,
    columns: str | Sequence[str] = (),
    improvement: str | None = None,
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The mean of each metric in each cell of `rows` × `columns`, with n and its interval.

    `of` are metrics' short names or columns; `rows` and `columns` are factors. `improvement`
    reads "8192 over 1024": values of `rows`. For a metric where lower is better it is what 1024
    costs over what 8192 does. `pool` names factors that differ within a cell and are meant to.

    Returns a tidy frame: `metric` (its column's name), `statistic` (`mean`, `median` from six
    runs on, `improvement`), the row factor, the column factors, `value`, `n` (runs behind it; of
    both cells for an improvement), `runs` (those that came to something, ok or not), `low` and
    `high`. `attrs["notes"]` holds what its reader must know.
    Raises DataError for a factor that is not there, for runs pooled without being meant, and
    where none of the metrics can be had.
    """
    if not 0 < confidence < 1:
        raise DataError(f"a confidence lies between 0 and 1, not {confidence}")
    names = [of] if isinstance(of, str) else list(of)
    if not names:
        raise DataError(f"no metric to summarize; metrics here: {_here(frame)}")
    keys = _keys(frame, rows, columns)
    over = None if improvement is None else _values(frame, rows, improvement)
    runs = frames.usable(frame)  # raises, with the reason, when no run is ok
    pooling.refuse(frames.with_outcome(frame), keys, pool)
    parts, notes, methods = [], list(caveats.notes(frame, _columns(frame, names))), []
    notes += pooling.remarks(frames.with_outcome(frame), keys, pool)
    lost: list[DataError] = []
    groups = _grouped(frames.with_outcome(frame), keys), _grouped(runs, keys)
    for name in dict.fromkeys(names):
        try:
            metric = frames.column(frame, name)
            partial = frame.attrs.get("partial", {}).get(metric.column)
            cells = list(_cells(groups, runs, keys, metric, partial=partial is not None))
        except DataError as error:
            lost.append(error)
            continue
        notes += [f"{metric.title}: {partial}"] if partial else []
        part, kinds = _levels(cells, metric, confidence)
        if over is not None:
            ratios, why = _improvements(cells, metric, over, rows is not None, confidence)
            methods += [(r, x) for r, x in ratios]
            part += [r for r, _ in ratios]
            notes += why
        notes += kinds
        parts += [{"metric": metric.column, **row} for row in part]
    if not parts:
        raise lost[0]
    notes += [f"left out: {error}" for error in lost]
    notes += _few(parts) + _contrast_notes(methods)
    return _tidy(parts, keys, dict.fromkeys(notes), confidence, frame)


def means(table: pd.DataFrame) -> pd.DataFrame:
    """The means of a summary alone: of each cell its mean, n and interval."""
    return table[table["statistic"] == MEAN].reset_index(drop=True)


def _here(frame: pd.DataFrame) -> str:
    return wording.listed(frames.measured(frame))


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns of those metrics that are there."""
    columns = []
    for name in names:
        try:
            columns.append(frames.column(frame, name).column)
        except DataError:
            continue
    return columns


def _keys(frame: pd.DataFrame, rows: str | None, columns: str | Sequence[str]) -> list[str]:
    keys = [*frames.factors(frame, rows), *frames.factors(frame, columns)]
    twice = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if twice:
        raise DataError(f"{twice[0]} is named twice among rows and columns; once is enough")
    return keys


Groups = dict[tuple[Any, ...], tuple[tuple[Any, ...], np.ndarray]]
"""What a combination of the keys' values hashes as -> (itself, its rows' places)."""


def _cells(
    both: tuple[Groups, Groups],
    runs: pd.DataFrame,
    keys: list[str],
    metric: Metric,
    *,
    partial: bool,
) -> Iterator[Cell]:
    """Each cell, in the order of `wording.rank`.

    Raises DataError for a metric that some runs of a cell lack, unless it is known to be
    `partial`: then the others count.
    """
    groups, used = both  # of all that came to something, and of those that are ok
    values = runs[metric.column].to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise DataError(f"{metric.column} is infinite in some run")
    weights = frames.weights(runs).to_numpy()
    blocks = contrasts.blocks(runs)
    named = None if blocks is None else blocks.to_numpy()
    any_present = False
    cells = []
    for hashed, (key, places) in groups.items():
        rows = used[hashed][1] if hashed in used else np.array([], dtype=int)
        sample = values[rows]
        present = ~np.isnan(sample)
        if partial and present.any():
            rows, sample, present = rows[present], sample[present], present[present]
        if present.any() and not present.all():
            where = ", ".join(f"{k} {wording.text(v)}" for k, v in zip(keys, key, strict=True))
            raise DataError(
                f"{metric.column} is missing in {int((~present).sum())} of the {len(rows)} runs"
                f"{f' of {where}' if where else ''}"
            )
        untold = len(rows) > 0 and not present.any()
        if untold:
            rows, sample = rows[:0], sample[:0]
        any_present |= bool(present.any())
        mine = None if named is None else named[rows]
        cells.append(Cell(key, sample, weights[rows], mine, len(places), untold))
    if not any_present:
        raise DataError(f"{metric.column} has no value in any run")
    yield from sorted(cells, key=lambda cell: tuple(wording.rank(v) for v in cell.key))


def _grouped(runs: pd.DataFrame, keys: list[str]) -> Groups:
    """Each combination of the keys' values, with its rows."""
    if not keys:
        return {(): ((), np.arange(len(runs)))} if len(runs) else {}
    codes = runs.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    groups = {}
    for places in np.split(order, starts[1:]):
        key = tuple(runs[name].iloc[places[0]] for name in keys)
        groups[tuple(_hashed(value) for value in key)] = (key, places)
    return groups


def _hashed(value: Any) -> Any:
    return None if wording.is_missing(value) else value


def _levels(
    cells: Sequence[Cell], metric: Metric, confidence: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of means, then of medians; and notes on cells with runs of more than one kind."""
    means, medians, mixed = [], [], []
    alike = False
    for cell in cells:
        row = {"key": cell.key, "n": cell.n, "runs": cell.runs, "untold": cell.untold}
        mean = _no_interval(cell.mean)
        if len(cell.sample) and not cell.aggregated:
            mean = intervals.mean(cell.sample, confidence)
        means.append({**row, "statistic": MEAN, **_ends(mean)})
        alike |= mean.low == mean.high
        if len(cell.sample) < ENOUGH or cell.aggregated:
            continue
        median = intervals.median(cell.sample, confidence)
        medians.append({**row, "statistic": MEDIAN, **_ends(median)})
        agree = median.low <= mean.value <= median.high and mean.low <= median.value <= mean.high
        if not agree or intervals.of_several_kinds(cell.sample):
            mixed.append(cell.key)
            medians[-1]["mixed"] = True
    notes = []
    if alike:
        notes.append(
            f"{metric.title}: some figure reads alike in all its runs, to the last digit: how far "
            "they spread does not show, and neither does an interval"
        )
    if mixed:
        where = _some(mixed)
        notes.append(
            f"{metric.title}: runs are of more than one kind, a mean is a figure of none: {where}"
        )
    if untold := [cell.key for cell in cells if cell.untold]:
        notes.append(f"{metric.title}: runs do not tell it: {_some(untold)}")
    return means + medians, notes


def _some(keys: Sequence[tuple[Any, ...]]) -> str:
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return "; ".join(wording.label(key) for key in keys[:3]) + more


def _no_interval(value: float) -> intervals.Interval:
    return intervals.Interval(value, np.nan, np.nan)


def _ends(interval: intervals.Interval | Contrast) -> dict[str, float]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def _improvements(
    cells: Sequence[Cell],
    metric: Metric,
    over: tuple[str, str],
    has_rows: bool,
    confidence: float,
) -> tuple[list[tuple[dict[str, Any], Contrast]], list[str]]:
    """The ratio of the two named rows in every column, better above 1; and notes on gaps."""
    assert has_rows
    columns: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for cell in cells:
        hashed = tuple(_hashed(value) for value in cell.key[1:])
        columns.setdefault(hashed, {})[wording.text(cell.key[0])] = cell
    ratios, why, pairs = [], [], 0
    for of_column in columns.values():
        pair = [of_column.get(value) for value in over]
        if pair[0] is None or pair[1] is None or not (len(pair[0].sample) and len(pair[1].sample)):
            continue
        pairs += 1
        top, bottom = (pair[1], pair[0]) if metric.better == "lower" else (pair[0], pair[1])
        contrast = _contrast(top, bottom, confidence)
        if contrast is None:
            why.append(f"{metric.title}: no improvement, a ratio needs means above zero")
            continue
        row = {
            "statistic": IMPROVEMENT,
            "key": (f"{over[0]} over {over[1]}", *pair[0].key[1:]),
            "n": top.n + bottom.n,
            "runs": top.runs + bottom.runs,
            **_ends(contrast),
        }
        ratios.append((row, contrast))
    if not pairs:
        why.append(
            f"{metric.title}: no improvement, no column has runs of both {over[0]} and {over[1]}"
        )
    return ratios, why


def _contrast(top: Cell, bottom: Cell, confidence: float) -> Contrast | None:
    """Top over bottom; None where a ratio means nothing, no interval where a value has no log."""
    if not (top.mean > 0 and bottom.mean > 0):
        return None
    plain = top.mean / bottom.mean
    every = np.concatenate([top.sample, bottom.sample])
    lone = min(len(top.sample), len(bottom.sample)) < 2
    if top.aggregated or bottom.aggregated or lone or (every <= 0).any():
        return Contrast(plain, np.nan, np.nan, np.nan, contrasts.NONE, top.n + bottom.n)
    blocks = None
    if top.blocks is not None and bottom.blocks is not None:
        blocks = (top.blocks, bottom.blocks)
    return contrasts.ratio(top.sample, bottom.sample, blocks, confidence)


def _values(frame: pd.DataFrame, rows: str | None, written: str) -> tuple[str, str]:
    """The two values of `rows` that an improvement names."""
    if rows is None:
        raise DataError(f"improvement {written!r} compares two values of a row factor: name one")
    over, word, under = written.partition(" over ")
    over, under = over.strip(), under.strip()
    if not word or over == under:
        raise DataError(f"improvement reads 'A over B', values of {rows}, not {written!r}")
    frames.factors(frame, rows)
    here = [wording.text(value) for value in sorted(frame[rows].unique(), key=wording.rank)]
    for value in (over, under):
        if value not in here:
            raise DataError(
                f"improvement {written!r}: {rows} is never {value}; it is {', '.join(here)}"
            )
    return over, under


def _few(parts: Sequence[dict[str, Any]]) -> list[str]:
    """Notes on what few runs cannot show."""
    counts = [r["n"] for r in parts if r["statistic"] == MEAN and not np.isnan(r["low"])]
    notes = []
    if any(n < ENOUGH for n in counts):
        notes.append(
            f"fewer than {ENOUGH} runs a figure: its interval takes them to be of one kind; were "
            "one run in five slower, it would hold 61 to 67 % of the time, not 95"
        )
    if any(ENOUGH <= n < RARE for n in counts):
        notes.append(
            f"fewer than {RARE} runs a figure: what befalls one run in twenty may be in none of "
            "them; were such runs half as fast, a mean's interval would hold 59 to 91 % of the "
            "time, not 95"
        )
    return notes


def _contrast_notes(methods: Sequence[tuple[dict[str, Any], Contrast]]) -> list[str]:
    """How the improvements' intervals came about, and how many of several are more than chance."""
    how = {c.method for _, c in methods if c.method}
    notes = [f"improvement {_HOW[name]}" for name in _HOW if name in how]
    chances = [c.p for _, c in methods if not np.isnan(c.p)]
    if len(chances) > 1:
        from scipy.stats import false_discovery_control

        real = int((false_discovery_control(chances) <= FALSE_DISCOVERIES).sum())
        notes.append(
            f"{real} of {len(chances)} improvements are more than chance, at a false discovery "
            f"rate of {100 * FALSE_DISCOVERIES:g} % (Benjamini-Hochberg)"
        )
    return notes


def _tidy(
    parts: Sequence[dict[str, Any]],
    keys: Sequence[str],
    notes: Sequence[str] | dict[str, None],
    confidence: float,
    frame: pd.DataFrame,
) -> pd.DataFrame:
    """The rows as a frame; the factors' columns keep their names where ours leave them free."""
    headings: list[str] = []
    for key in keys:
        name = key
        while name in (*_OURS, *headings):
            name += "_"
        headings.append(name)
    data: dict[str, Any] = {name: [row[name] for row in parts] for name in ("metric", "statistic")}
    for place, name in enumerate(headings):
        data[name] = [row["key"][place] for row in parts]
    data |= {name: [row[name] for row in parts] for name in ("value", "n", "runs", "low", "high")}
    table = pd.DataFrame(data)
    table.attrs["notes"] = tuple(notes)
    table.attrs["confidence"] = confidence
    table.attrs["factors"] = dict(zip(headings, keys, strict=True))
    table.attrs["direction"] = frames.direction(frame)
    for mark in ("mixed", "untold"):
        table.attrs[mark] = [
            (row["metric"], tuple(wording.text(v) for v in row["key"]))
            for row in parts
            if row.get(mark)
        ]
    return table
