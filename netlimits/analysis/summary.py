"""The reports' summary table: figures of each configuration, and improvements between values.

Each run counts as one number. A mean's interval is Student's t over the runs of its cell; from six
runs on there is also the median with its order-statistic interval. A cell with a row that is the
mean of several runs has no interval, since their variance is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from netlimits.analysis import attempts, caveats, frames, pooling, wording
from netlimits.analysis.comparisons import improvements
from netlimits.analysis.comparisons.improvements import Improvement, Pairing, Request
from netlimits.analysis.sources.relations import Runs
from netlimits.analysis.sources.sketches import sketched
from netlimits.analysis.statistics import dependence, intervals
from netlimits.analysis.statistics.cells import Cell, Grid, Key, cells, grid
from netlimits.analysis.statistics.intervals import ENOUGH, RARE, Interval
from netlimits.errors import DataError
from netlimits.metrics import Metric

MEAN, MEDIAN, IMPROVEMENT = "mean", "median", "improvement"

_OURS = ("metric", "statistic", "value", "n", "runs", "low", "high", "contrast")
"""Columns of a summary that are not factors; a factor with one of these names gets a `_`."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row of the table: a statistic of a metric in one cell, or an improvement between two.

    `mixed` is True if fast and slow runs are mixed, `unreported` if no ok run has the metric.
    """

    metric: str
    statistic: str
    key: Key
    interval: Interval
    n: int
    runs: int
    mixed: bool = False
    unreported: bool = False
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
    """Summarize each metric in each cell of `rows` × `columns`.

        summary(frame, ["throughput"], rows="send_size", columns="offloads",
                improvement={"offloads": "on over off"})

    Args:
        frame: A row for each run, or a relation (`campaign.relation()`).
        of: Short names or columns of metrics.
        rows: Factor of the rows.
        columns: Factors of the columns.
        improvement: Two values of a factor to compare, such as {"offloads": "on over off"}, or
            "8192 over 1024" for values of `rows`. A factor may have a list of comparisons. A ratio
            above 1 means that the first value is better. So, if a metric's lower values are better,
            the figure of 1024 is divided by that of 8192.
        confidence: Confidence level of the intervals.
        pool: Factors that may differ within a cell.

    Returns:
        A tidy frame: `metric` (its column), `statistic` (`mean`, `median` from six runs on,
        `improvement`), the row factor, the column factors, `value`, `n` (runs behind it; of both
        cells for an improvement), `runs` (with an outcome, ok or not), `low` and `high`. With
        `improvement` also `contrast` ("offloads: on over off"); the factors in which its cells
        differ read "A over B". `attrs["notes"]` has the notes.

    Raises:
        DataError: A factor is missing, runs of a cell differ in a factor that is not in `pool`, or
            no metric can be computed.
    """
    if not 0 < confidence < 1:
        raise DataError(f"confidence: it must be between 0 and 1, not {confidence}")
    names = frames.as_list(of)
    runs, frame = frame, sketched(frame, names)
    if not names:
        here = wording.listed(frames.measured(frame))
        raise DataError(f"no metric to summarize; metrics here: {here}")
    keys = _keys(frame, rows, columns)
    laid_out = grid(runs, keys, compares=improvement is not None)
    tried = attempts.with_outcome(frame)
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
    """Select the rows of the means.

    Args:
        table: The frame of `summary`.

    Returns:
        The rows whose `statistic` is `mean`, with an index from 0.
    """
    return table[table["statistic"] == MEAN].reset_index(drop=True)


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
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
        raise DataError(f"{twice[0]} occurs twice in rows and columns; name it once")
    return keys


def _levels(metric_cells: Sequence[Cell], metric: Metric, confidence: float) -> list[Estimate]:
    """Return the means of all cells, then the medians of the cells that have enough runs."""
    means, medians = [], []
    for cell in metric_cells:
        mean = Interval(cell.mean, np.nan, np.nan)
        if len(cell.sample) and not cell.aggregated:
            mean = intervals.mean(cell.sample, confidence)
        estimate = Estimate(
            metric.column, MEAN, cell.key, mean, cell.n, cell.runs, unreported=cell.unreported
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
    """Yield notes on cells whose runs are all equal, of several kinds, or without the metric."""
    means = [estimate for estimate in estimates if estimate.statistic == MEAN]
    if any(estimate.interval.low == estimate.interval.high for estimate in means):
        yield (
            f"{metric.title}: an interval has no width, because all runs of a figure are equal to "
            "the last digit"
        )
    if mixed := [estimate.key for estimate in estimates if estimate.mixed]:
        yield (
            f"{metric.title}: use the medians: fast and slow runs are mixed, so no run is near the "
            f"mean: {_some(mixed)}"
        )
    if unreported := [estimate.key for estimate in means if estimate.unreported]:
        yield f"{metric.title}: not measured by the runs of {_some(unreported)}"


def _some(keys: Sequence[Key]) -> str:
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return "; ".join(wording.label(key) for key in keys[:3]) + more


def _few(estimates: Sequence[Estimate]) -> Iterator[str]:
    means = [estimate for estimate in estimates if estimate.statistic == MEAN]
    counts = [estimate.n for estimate in means if not np.isnan(estimate.interval.low)]
    if any(n < ENOUGH for n in counts):
        yield (
            f"too few runs to trust an interval (fewer than {ENOUGH} a figure): if one run in five "
            "is slower, it covers 61 to 67 %, not 95 (see Statistics, Intervals)"
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
    table.attrs["unreported"] = [_place(estimate) for estimate in estimates if estimate.unreported]
    return table


def _place(estimate: Estimate) -> tuple[str, tuple[str, ...]]:
    return estimate.metric, tuple(wording.text(value) for value in estimate.key)
