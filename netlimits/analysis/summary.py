"""The reports' summary table: a figure for each configuration, how many runs, and what size gains.

One number a run is the unit: interval samples within a run are not independent. A mean's
interval is Student's t over the runs of its cell; from six runs on the median stands beside it
with its order-statistic interval, and where either lies outside the other's, or runs stand in
groups far apart (`intervals.of_several_kinds`), the table says that they are of more than one
kind; and that an interval is too narrow where runs depend on one another (`dependence`). What one
size gains over another is told by `comparisons.improvements`. `coverage.py` of the benchmarks shows
what each interval covers.

A row that is itself the mean of several runs (`aggregated_runs` of an imported file) counts as so
many in n and in the mean. How those runs spread is lost, and rows of it are no sample of runs, so
that a cell with such a row has no interval either, whatever its n; a note says so.

A configuration whose runs all failed has its cell, without a value; a metric that cannot be had
does not take the others along, but is named in the notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from netlimits.analysis import caveats, frames, pooling, wording
from netlimits.analysis.cells import Cell, Grid, Key, cells, grid
from netlimits.analysis.comparisons import improvements
from netlimits.analysis.comparisons.improvements import Improvement, Pairing, Request
from netlimits.analysis.sources.relations import Runs
from netlimits.analysis.sources.sketches import sketched
from netlimits.analysis.statistics import dependence, intervals
from netlimits.analysis.statistics.intervals import ENOUGH, RARE, Interval
from netlimits.errors import DataError
from netlimits.metrics import Metric

MEAN, MEDIAN, IMPROVEMENT = "mean", "median", "improvement"

_OURS = ("metric", "statistic", "value", "n", "runs", "low", "high", "contrast")
"""The columns of a summary beside the factors; a factor of such a name gets a `_` behind it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One row of the table: a statistic of one metric in one cell, or over two.

    `mixed`: its runs are of more than one kind. `untold`: they do not tell the metric. `contrast`:
    what an improvement compares.
    """

    metric: str
    statistic: str
    key: Key
    interval: Interval
    n: int
    runs: int
    mixed: bool = False
    untold: bool = False
    contrast: str = ""


def summary(
    frame: Runs,
    of: str | Sequence[str],
    rows: str | None = None,
    columns: str | Sequence[str] = (),
    improvement: Request | None = None,
    confidence: float = 0.95,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The mean of each metric in each cell of `rows` × `columns`, with n and its interval.

    `frame` may be a relation (`campaign.relation()`), of more runs than memory holds.
    `of` are metrics' short names or columns; `rows` and `columns` are factors. `improvement`
    compares two values of a factor: {"offloads": "on over off"}, a list for several, or
    "8192 over 1024" of `rows`. Above 1 is better; where lower is better it is what 1024 costs over
    what 8192 does. `pool` names factors that differ within a cell and are meant to.

    Returns a tidy frame: `metric` (its column's name), `statistic` (`mean`, `median` from six
    runs on, `improvement`), the row factor, the column factors, `value`, `n` (runs behind it; of
    both cells for an improvement), `runs` (those that came to something, ok or not), `low` and
    `high`; with an `improvement` also `contrast`, which one it is ("offloads: on over off"): the
    factors in which its cells differ read "A over B". `attrs["notes"]` holds what its reader must
    know.
    Raises DataError for a factor that is not there, for runs pooled without being meant, and
    where none of the metrics can be had.
    """
    if not 0 < confidence < 1:
        raise DataError(f"a confidence lies between 0 and 1, not {confidence}")
    names = [of] if isinstance(of, str) else list(of)
    runs, frame = frame, sketched(frame, names)
    if not names:
        here = wording.listed(frames.measured(frame))
        raise DataError(f"no metric to summarize; metrics here: {here}")
    keys = _keys(frame, rows, columns)
    laid_out = grid(runs, keys, compares=improvement is not None)
    tried = frames.with_outcome(frame)
    pooling.refuse(tried, keys, pool)
    pairings: list[Pairing] = []
    absent: list[str] = []
    if improvement is not None:
        pairings, absent = improvements.pairings(tried, keys, rows, improvement)
    estimates: list[Estimate] = []
    gains: list[Improvement] = []
    notes = [*caveats.notes(runs, _columns(frame, names))]
    notes += pooling.remarks(tried, keys, pool)
    lost: list[DataError] = []
    order = dependence.order(laid_out.tried) if isinstance(laid_out, Grid) else None
    for name in dict.fromkeys(names):
        try:
            metric = frames.column(frame, name)
            partial = frame.attrs.get("partial", {}).get(metric.column)
            of_metric = cells(laid_out, metric, partial=partial is not None)
        except DataError as error:
            lost.append(error)
            continue
        notes += [f"{metric.title}: {partial}"] if partial else []
        levels = _levels(of_metric, metric, confidence)
        estimates += levels
        for pairing in pairings:
            ratios, gaps = improvements.improvements(of_metric, metric, pairing, confidence)
            estimates += [_gain(ratio, metric) for ratio in ratios]
            gains += ratios
            notes += gaps
        notes += _kinds(levels, metric)
        if (blocks := dependence.of_grid(laid_out, metric, order)) is not None:
            notes += dependence.notes(blocks, metric)
    if not estimates:
        raise lost[0]
    notes += [f"left out: {error}" for error in lost]
    notes += [*absent, *_few(estimates), *improvements.notes([gain.contrast for gain in gains])]
    table = _tidy(estimates, keys, notes, confidence, frame)
    if improvement is not None:
        table["contrast"] = [estimate.contrast for estimate in estimates]
    return table


def means(table: pd.DataFrame) -> pd.DataFrame:
    """The means of a summary alone: of each cell its mean, n and interval."""
    return table[table["statistic"] == MEAN].reset_index(drop=True)


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


def _levels(cells: Sequence[Cell], metric: Metric, confidence: float) -> list[Estimate]:
    """The means of all cells, then the medians of those with enough runs."""
    means, medians = [], []
    for cell in cells:
        mean = Interval(cell.mean, np.nan, np.nan)
        if len(cell.sample) and not cell.aggregated:
            mean = intervals.mean(cell.sample, confidence)
        estimate = Estimate(
            metric.column, MEAN, cell.key, mean, cell.n, cell.runs, untold=cell.untold
        )
        means.append(estimate)
        if len(cell.sample) < ENOUGH or cell.aggregated:
            continue
        ordered = np.sort(cell.sample)
        median = intervals.median(ordered, confidence)
        agree = median.low <= mean.value <= median.high and mean.low <= median.value <= mean.high
        mixed = not agree or intervals.of_several_kinds(ordered)
        medians.append(replace(estimate, statistic=MEDIAN, interval=median, mixed=mixed))
    return means + medians


def _gain(ratio: Improvement, metric: Metric) -> Estimate:
    interval = Interval(*ratio.contrast[:4])
    return Estimate(
        *(metric.column, IMPROVEMENT, ratio.key, interval, ratio.n, ratio.runs),
        contrast=str(ratio.of),
    )


def _kinds(estimates: Sequence[Estimate], metric: Metric) -> Iterator[str]:
    """Notes on cells whose runs are all alike, of more than one kind, or do not tell the metric."""
    means = [estimate for estimate in estimates if estimate.statistic == MEAN]
    if any(estimate.interval.low == estimate.interval.high for estimate in means):
        yield (
            f"{metric.title}: some figure reads alike in all its runs, to the last digit: how far "
            "they spread does not show, and neither does an interval"
        )
    if mixed := [estimate.key for estimate in estimates if estimate.mixed]:
        yield (
            f"{metric.title}: use the medians: fast and slow runs are mixed, so no run is near the "
            f"mean: {_some(mixed)}"
        )
    if untold := [estimate.key for estimate in means if estimate.untold]:
        yield f"{metric.title}: runs do not tell it: {_some(untold)}"


def _some(keys: Sequence[Key]) -> str:
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return "; ".join(wording.label(key) for key in keys[:3]) + more


def _few(estimates: Sequence[Estimate]) -> Iterator[str]:
    """Notes on what few runs cannot show."""
    means = [estimate for estimate in estimates if estimate.statistic == MEAN]
    counts = [estimate.n for estimate in means if not np.isnan(estimate.interval.low)]
    if any(n < ENOUGH for n in counts):
        yield (
            f"too few runs to trust an interval (fewer than {ENOUGH} a figure): where one run in "
            "five is slower, it covers 61 to 67 %, not 95 (see Statistics, Intervals)"
        )
    if any(ENOUGH <= n < RARE for n in counts):
        yield (
            f"fewer than {RARE} runs a figure may miss rare slow runs (see Statistics, Intervals)"
        )


def _tidy(
    estimates: Sequence[Estimate],
    keys: Sequence[str],
    notes: Iterable[str],
    confidence: float,
    frame: pd.DataFrame,
) -> pd.DataFrame:
    """The figures as a frame; the factors' columns keep their names where ours leave them free."""
    headings = wording.headings(keys, _OURS)
    of_keys = {
        heading: [estimate.key[place] for estimate in estimates]
        for place, heading in enumerate(headings)
    }
    table = pd.DataFrame(
        {
            "metric": [estimate.metric for estimate in estimates],
            "statistic": [estimate.statistic for estimate in estimates],
            **of_keys,
            "value": [estimate.interval.value for estimate in estimates],
            "n": [estimate.n for estimate in estimates],
            "runs": [estimate.runs for estimate in estimates],
            "low": [estimate.interval.low for estimate in estimates],
            "high": [estimate.interval.high for estimate in estimates],
        }
    )
    table.attrs["notes"] = tuple(dict.fromkeys(notes))
    table.attrs["confidence"] = confidence
    table.attrs["factors"] = dict(zip(headings, keys, strict=True))
    table.attrs["direction"] = frames.direction(frame)
    table.attrs["mixed"] = [_place(estimate) for estimate in estimates if estimate.mixed]
    table.attrs["untold"] = [_place(estimate) for estimate in estimates if estimate.untold]
    return table


def _place(estimate: Estimate) -> tuple[str, tuple[str, ...]]:
    return estimate.metric, tuple(wording.text(value) for value in estimate.key)
