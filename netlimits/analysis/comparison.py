"""Compare campaigns with a baseline: a ratio for each configuration and metric, and a verdict.

Verdicts hold at a false discovery rate of 5 % over the whole table (Benjamini and Hochberg 1995):

    same      the whole interval is within the threshold, whatever its p-value
    better    the ratio is beyond the threshold and significant, in the metric's better direction
    worse     the ratio is beyond the threshold and significant, in the other direction
    differ    better or worse, but each side is one session, and `sessions_differ_by` is not given
    unclear   none of these; the column `runs` has the runs of each side that would decide
    fewer     significantly fewer runs ended ok after than before: as bad as worse
    more      significantly more runs ended ok after than before, and the ratio is not worse
    failed    runs were ok before, and none after: no ratio, and as bad as worse
    recovered runs were ok after, and none before

If the shares of ok runs differ, `better` is not given, and `worse` may need more (`survivors`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import attempts, caveats, defaults, frames, wording
from netlimits.analysis.comparisons import remarks, sessions, sides, survivors, verdicts
from netlimits.analysis.comparisons.sessions import Sessions
from netlimits.analysis.comparisons.sides import FAILED, RECOVERED, Key, listed
from netlimits.analysis.comparisons.verdicts import THRESHOLD
from netlimits.analysis.sources.relations import Relation, Runs, literal
from netlimits.analysis.sources.sketches import sketched
from netlimits.analysis.statistics import contrasts, intervals
from netlimits.analysis.statistics.cells import CellRuns, Grid
from netlimits.analysis.statistics.contrasts import FALSE_DISCOVERIES, Contrast
from netlimits.errors import DataError
from netlimits.metrics import Metric
from netlimits.model import SIDE, SIDES


def compare(
    before: Runs,
    after: Runs,
    of: str | Sequence[str] = (),
    threshold: float = THRESHOLD,
    confidence: float = 0.95,
    among: Sequence[str] | None = None,
    *,
    paired: bool = False,
    called: tuple[str, str] = SIDES,
    sessions_differ_by: float | None = None,
) -> pd.DataFrame:
    """Compare each configuration's metrics `before` and `after`.

    Each campaign is a session. A side of several sessions has a column `campaign`
    (`netlimits.joined`), and each session then counts as one value. If each side has one session,
    no verdict is better or worse unless `sessions_differ_by` bounds how much two sessions differ.

    Args:
        before: A row for each run, or a relation (`campaign.relation()`). `netlimits.compare` also
            takes a campaign, and the path of a results folder or of a file of runs.
        after: Runs of the other side, in the same form.
        of: Metrics, by default those of a default table.
        threshold: The smallest difference that matters, as a share.
        confidence: Confidence level of the intervals.
        among: Columns that may be factors. By default those that look like factors.
        paired: True if both sides share their blocks; ratios are then taken within blocks.
        called: Names of the sides in notes.
        sessions_differ_by: Upper bound, as a share, on how much two sessions differ if nothing was
            changed between them.

    Returns:
        A row for each configuration and metric: the factors (with a trailing `_` if another column
        has the name); `metric`; `before` and `after`, means of the ok runs in the metric's unit;
        `ratio` (above 1 is better, also for a metric whose better direction is lower) with `low`,
        `high` and `p`;
        `n_before` and `n_after` (runs with the metric), `ok_before` and `ok_after`, `of_before` and
        `of_after` (runs with an outcome); `verdict`; `runs` (number of runs of each side that would
        decide an unclear verdict, if ratio and variation stay the same); and, if paired, `blocks`
        (number of blocks with runs of both sides). `attrs["notes"]` has the notes.

    Raises:
        DataError: No configuration is on both sides, no run is ok, a metric is missing or has no
            better direction, or the threshold or the bound on sessions is invalid.
    """
    if not 0 < threshold < 1:
        raise DataError(f"threshold: it must be between 0 and 1 (3 % is 0.03), not {threshold}")
    runs_of = (before, after)
    unit = None if paired else _sessions(runs_of, sessions_differ_by)
    sketches = [sketched(side, of or defaults.TABLES) for side in runs_of]
    outcomes = [attempts.with_outcome(side) for side in sketches]
    good = [sides.ok(side, among) for side in sketches]
    if all(side.empty for side in good):
        frames.usable(sketches[0])  # raises DataError with the reason
    factors = sides.factors(good, outcomes, among)
    metrics = _metrics(frames.usable(sketches[1] if good[0].empty else sketches[0]), of)
    place = "block" if unit is None else sessions.CAMPAIGN if unit.several else ""
    columns = [metric.column for metric in metrics]
    grids = [
        sides.grid(*both, factors, columns, place) for both in zip(runs_of, outcomes, strict=True)
    ]
    del outcomes  # it holds a copy of every run
    tried = [sides.ordered(grid) for grid in grids]
    keys = [key for key in tried[0] if key in tried[1]]
    if not keys:
        raise DataError(
            f"no configuration is on both sides: {listed(tried[0], factors)} {called[0]}; "
            f"{listed(tried[1], factors)} {called[1]}"
        )
    in_order = [bool(unit and not unit.several) and isinstance(grid, Grid) for grid in grids]
    rows = []
    ok: list[dict[Key, int]] = [{}, {}]
    for metric in metrics:
        figures = [sides.figures(*both, metric) for both in zip(grids, called, strict=True)]
        ok = [{key: len(each.values) for key, each in side.items()} for side in figures]
        for key in keys:
            runs = [side[key] for side in figures]
            if any((~np.isnan(each.values)).any() for each in runs):
                rows.append(_row(key, metric, runs, confidence, unit, in_order))
    if not rows:
        raise DataError(
            f"no configuration that is on both sides has a figure: {listed(keys, factors)}"
        )
    cautions = [*remarks.few(rows, unit), *remarks.mixed_kinds(rows, metrics, factors, called)]
    cautions += remarks.aggregated(good)
    cautions += remarks.dependent_runs(rows, metrics, called)
    p_values = [row["p"] for row in rows if not math.isnan(row["p"])]
    p_limit = contrasts.significance_threshold(p_values, FALSE_DISCOVERIES)
    better = {metric.name: metric.better for metric in metrics}
    lost = survivors.beyond_chance([row for row in rows if not row["verdict"]], FALSE_DISCOVERIES)
    ended = list(remarks.ended(rows, lost, factors, called))
    for row in rows:
        trimmed = row.pop("trimmed", None)
        if not row["verdict"]:
            limits = (better[row["metric"]], threshold, p_limit)
            row["verdict"] = verdicts.verdict(row, limits, unit, trimmed, row["key"] in lost)
        row["runs"] = verdicts.runs_to_decide(row, threshold, len(p_values), unit)
    headings = wording.headings(factors, _OURS)
    table = pd.DataFrame(
        [{**dict(zip(headings, row.pop("key"), strict=True)), **row} for row in rows]
    )
    table.attrs["factors"] = headings
    gaps = sides.gaps(grids, ok, factors, called)
    how = sessions.notes(unit, called) if unit else remarks.INTERLEAVED
    about_verdicts = remarks.verdict_notes(len(p_values), threshold, how)
    of_ok = zip(called, runs_of, good, strict=True)
    some = [(name, runs) for name, runs, side in of_ok if not side.empty]
    known = caveats.of_sides(some, columns)
    table.attrs["notes"] = (*gaps, *ended, *about_verdicts, *known, *cautions)
    return table


def _sessions(runs: tuple[Runs, Runs], differ_by: float | None) -> Sessions:
    """Return the sessions of both sides with their bound. Raises DataError if it is invalid."""
    if differ_by is not None and not 0 < differ_by < 1:
        raise DataError(f"sessions_differ_by: it must be between 0 and 1, not {differ_by}")
    first, second = map(sessions.number, runs)
    if differ_by is not None and first + second > 2:
        raise DataError(
            f"sessions_differ_by: leave it out, since {first} and {second} sessions show how much "
            "sessions differ"
        )
    return Sessions(first, second, differ_by)


def duet(
    frame: Runs,
    of: str | Sequence[str] = (),
    threshold: float = THRESHOLD,
    confidence: float = 0.95,
    among: Sequence[str] | None = None,
    called: tuple[str, str] = SIDES,
) -> pd.DataFrame:
    """Compare the second side of `run --against` with the first, within blocks.

    Args:
        frame: The runs of both sides, with the column `side`, or a relation.
        of: Metrics, by default those of a default table.
        threshold: The smallest difference that matters, as a share.
        confidence: Confidence level of the intervals.
        among: Columns that may be factors. By default those that look like factors.
        called: The two values of the column `side`, the first side first.

    Returns:
        The frame of `compare`.

    Raises:
        DataError: The column `side` is missing or has other values, or `compare` raises it.
    """
    values = set(sketched(frame)[SIDE].dropna()) if SIDE in frame.columns else set()
    if not values or not values <= set(called):
        raise DataError(
            f"not a duet of {' and '.join(called)}: "
            + (
                f"its sides are {', '.join(sorted(map(str, values)))}"
                if values
                else "it has no side"
            )
        )
    parts: list[Runs]
    if isinstance(frame, Relation):
        parts = [frame.filter(f"{SIDE} = {literal(name)}").without(SIDE) for name in called]
    else:
        parts = [frame[frame[SIDE] == name].drop(columns=[SIDE]) for name in called]
    names = None if among is None else [name for name in among if name != SIDE]
    before, after = parts
    return compare(before, after, of, threshold, confidence, names, paired=True, called=called)


def _metrics(frame: pd.DataFrame, of: str | Sequence[str]) -> list[Metric]:
    names = frames.as_list(of)
    metrics = [frames.column(frame, name) for name in names or defaults.metrics(frame)]
    for metric in metrics if names else ():
        if not metric.better:
            raise DataError(f"{metric.name} has no better direction, so it cannot be compared")
    return [metric for metric in metrics if metric.better]


def _row(
    key: Key,
    metric: Metric,
    runs: Sequence[CellRuns],
    confidence: float,
    unit: Sessions | None,
    in_order: Sequence[bool],
) -> dict[str, Any]:
    """Return the row of a metric and configuration.

    `unit` is None if both sides share their blocks. If a smaller share of runs was ok before than
    after, the row has a second contrast, `trimmed`, with only the best runs of `after`.
    """
    known = [~np.isnan(each.values) for each in runs]
    samples = [each.values[here] for each, here in zip(runs, known, strict=True)]
    places = [
        np.zeros(len(here))[here] if each.blocks is None else each.blocks[here]
        for each, here in zip(runs, known, strict=True)
    ]
    means = [float(sample.mean()) if len(sample) else math.nan for sample in samples]
    inverted = metric.better == "lower"
    contrast = _contrast(samples, confidence, places, unit, inverted=inverted)
    ok = [len(each.values) for each in runs]
    row: dict[str, Any] = {
        "key": key,
        "metric": metric.name,
        "before": means[0],
        "after": means[1],
        "ratio": contrast.value,
        "low": contrast.low,
        "high": contrast.high,
        "p": contrast.p,
        "n_before": len(samples[0]),
        "n_after": len(samples[1]),
        "ok_before": ok[0],
        "ok_after": ok[1],
        "of_before": runs[0].runs,
        "of_after": runs[1].runs,
        **({} if unit else {"blocks": _shared(places)}),
        "series": [x if known else None for x, known in zip(samples, in_order, strict=True)],
        "kinds": [intervals.of_several_kinds(sample) for sample in samples],
        "verdict": RECOVERED if not ok[0] else "" if ok[1] else FAILED,
    }
    if survivors.fewer_side(row) == 0:  # compare again, with only the best runs of after
        kept = survivors.best_runs(row, samples[1], metric.better)
        some = [samples[0], samples[1][kept]]
        kept_places = [places[0], places[1][kept]]
        row["trimmed"] = _contrast(some, confidence, kept_places, unit, inverted=inverted)
    return row


_OURS = (
    *("metric", "before", "after", "ratio", "low", "high", "p"),
    *("n_before", "n_after", "ok_before", "ok_after", "of_before", "of_after"),
    *("blocks", "verdict", "runs", "statistic"),
)
"""Names that factors may not have: a comparison's columns, and `statistic`, a summary's column."""


def _contrast(
    samples: Sequence[np.ndarray],
    share: float,
    places: Sequence[np.ndarray],
    unit: Sessions | None,
    *,
    inverted: bool,
) -> Contrast:
    """Return the ratio of after to before, or of before to after if `inverted`.

    `share` is the confidence level, and `places` has the block or session of each run.
    """
    order = (0, 1) if inverted else (1, 0)
    top, bottom = (samples[side] for side in order)
    of_top, of_bottom = (places[side] for side in order)
    none = (math.nan, math.nan, math.nan, contrasts.NONE)
    if any((sample <= 0).any() for sample in samples) or min(map(len, samples)) < 2:
        value = math.nan
        if len(top) and len(bottom) and bottom.mean():
            value = float(top.mean() / bottom.mean())
        return Contrast(value, *none, len(samples[0]))
    if unit is None:
        if not _shared(places):  # no block has both sides; Welch's t needs independent sides
            return Contrast(float(top.mean() / bottom.mean()), *none, 0)
        return contrasts.ratio(top, bottom, (of_top, of_bottom), confidence=share)
    if unit.several:
        return sessions.ratio(top, bottom, (of_top, of_bottom), share)
    contrast = contrasts.ratio(top, bottom, confidence=share)
    if unit.differ_by is None:
        return contrast
    return sessions.widened(contrast, top, bottom, unit.differ_by, share)


def _shared(blocks: Sequence[np.ndarray]) -> int:
    first, second = blocks
    return len(np.intersect1d(first, second))
