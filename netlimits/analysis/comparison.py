"""Campaigns against a baseline: for each configuration and metric the ratio, and what it means.

Two finished campaigns are two sessions: the machines may differ by more than their runs' spread
tells, so a ratio of two says that these sessions differ, no more, unless something bounds how much
sessions do (`sessions`). The sides of a duet are interleaved in the same blocks: their ratios are
taken within blocks (`duet`). Runs that did not end ok may be the slow ones (`survivors`). Many
ratios at 95 % are not all right at once: verdicts hold at a false discovery rate of 5 % over the
whole table (Benjamini and Hochberg 1995).

    same      the whole interval lies within the threshold, whatever its p-value
    better    the ratio is beyond the threshold and more than chance, in the metric's own direction
    worse     the same the other way
    differ    the ratio is beyond the threshold and more than chance; of two sessions, which is all
              that is known
    unclear   none of these: with so many `runs` of each side it would be, if ratio and spread stay
    fewer     fewer runs ended ok after than before, and more than chance: as bad as worse
    more      the other way round
    failed    runs were ok before, and of those after none is: no ratio, and as bad as worse
    recovered the other way round
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from netlimits.analysis import caveats, defaults, frames, wording
from netlimits.analysis.comparisons import remarks, sessions, sides, survivors  # fmt: skip
from netlimits.analysis.comparisons.sessions import Sessions
from netlimits.analysis.comparisons.sides import FAILED, RECOVERED, Configured, Key, listed
from netlimits.analysis.comparisons.survivors import FEWER, MORE
from netlimits.analysis.sources.relations import Relation, Runs, literal, quoted
from netlimits.analysis.sources.sketches import sketched
from netlimits.analysis.sources.streams import ConfigurationRuns
from netlimits.analysis.statistics import contrasts, intervals
from netlimits.analysis.statistics.contrasts import FALSE_DISCOVERIES, Contrast
from netlimits.errors import DataError
from netlimits.metrics import Metric
from netlimits.metrics import metric as metric_named
from netlimits.model import SIDE, SIDES

BETTER, WORSE, SAME, UNCLEAR, DIFFER = "better", "worse", "same", "unclear", "differ"
VERDICTS = (BETTER, WORSE, SAME, UNCLEAR, DIFFER, FEWER, MORE, FAILED, RECOVERED)
BAD = (WORSE, FEWER, FAILED)
"""Verdicts for which a comparison, or a gate, does not pass."""
THRESHOLD = 0.03
"""The share of a figure below which a difference does not matter, unless another is named."""
MOST_RUNS = 10_000
"""Runs of a side beyond which nobody is told that they would decide."""


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
    """Compare each configuration's figures `before` and `after`: return a row for each metric.

    Columns: the factors, with a `_` behind a name that is one of the others; `metric`; `before`
    and `after`, the means of the runs that are ok, in the metric's unit; `ratio` (after to before,
    or where lower is better before to after: above 1 is better) with `low` and `high`; `p`;
    `n_before` and `n_after`, the runs that have the figure, `ok_before` and `ok_after`, those that
    are ok, `of_before` and `of_after`, those that came to something;
    `verdict`; `runs` of each side that would decide an unclear one. `attrs["notes"]` names the
    configurations that are on one side only, and those of which runs failed on one side or both.
    `threshold` is a share, 0.03 for 3 %; `among` are the columns that may be factors, where that is
    known. Runs that are `paired` by their blocks, which both sides have in common, have a column
    `blocks` too: how many hold both. Notes call the sides what they are `called`. Either side may
    be a relation (`campaign.relation()`).

    Each campaign is a session: several of a side, told apart by a column `campaign`, are the unit
    (`netlimits.joined`). With one session a side nothing is better or worse, unless
    `sessions_differ_by` says by which share two sessions differ at most without any change.

    Raises DataError if no configuration is on both sides, no run of either side is ok, a metric is
    missing or has no better direction, the threshold is invalid, or a bound on sessions is given
    beside several sessions.
    """
    if not 0 < threshold < 1:
        raise DataError(f"a threshold is a share between 0 and 1 (3 % is 0.03), not {threshold}")
    runs_of = (before, after)
    unit = None if paired else _sessions(runs_of, sessions_differ_by)
    sketches = [sketched(side, of or defaults.TABLES) for side in runs_of]
    outcomes = [frames.with_outcome(side) for side in sketches]
    good = [sides.ok(side) for side in sketches]
    if all(side.empty for side in good):
        frames.usable(sketches[0])  # raises, with the reason
    factors = sides.factors(good, outcomes, among)
    ok = [
        _configured(*both, factors, ok=True, paired=paired)
        for both in zip(runs_of, good, strict=True)
    ]
    tried = [_configured(*both, factors, ok=False) for both in zip(runs_of, outcomes, strict=True)]
    keys = [key for key in tried[0] if key in tried[1]]
    if not keys:
        raise DataError(
            f"no configuration is on both sides: {listed(tried[0], factors)} {called[0]}; "
            f"{listed(tried[1], factors)} {called[1]}"
        )
    metrics = _metrics(good[1] if good[0].empty else good[0], of)
    told = [
        runs if isinstance(runs, Relation) else side
        for runs, side in zip(runs_of, good, strict=True)
    ]
    _refuse_infinite(told, metrics, called)
    rows = []
    for metric in metrics:
        for key in keys:
            runs = [side.get(key) for side in ok]
            if _tells(runs, metric):
                counts = [len(side[key]) for side in tried]
                rows.append(_row(key, metric, runs, counts, confidence, unit))
    if not rows:
        raise DataError(
            f"no configuration that is on both sides has a figure: {listed(keys, factors)}"
        )
    cautions = [*remarks.few(rows, unit), *remarks.mixed_kinds(rows, metrics, factors, called)]
    cautions += remarks.dependent_runs(rows, metrics, called)
    chances = [row["p"] for row in rows if not math.isnan(row["p"])]
    discovered = contrasts.discovered(chances, FALSE_DISCOVERIES)
    better = {metric.name: metric.better for metric in metrics}
    lost = survivors.beyond_chance([row for row in rows if not row["verdict"]], FALSE_DISCOVERIES)
    ended = list(remarks.ended(rows, lost, factors, called))
    for row in rows:
        trimmed = row.pop("trimmed", None)
        if not row["verdict"]:
            limits = (better[row["metric"]], threshold, discovered)
            row["verdict"] = _verdict(row, limits, unit, trimmed, row["key"] in lost)
        row["runs"] = _runs(row, threshold, len(chances), unit)
    headings = wording.headings(factors, _OURS)
    table = pd.DataFrame(
        [{**dict(zip(headings, row.pop("key"), strict=True)), **row} for row in rows]
    )
    table.attrs["factors"] = headings
    gaps = sides.gaps(ok, tried, factors, called)
    how = sessions.notes(unit, called) if unit else remarks.INTERLEAVED
    verdicts = remarks.verdict_notes(len(chances), threshold, how)
    some = [
        (name, runs) for name, runs, side in zip(called, told, good, strict=True) if not side.empty
    ]
    known = caveats.of_sides(some, [metric.column for metric in metrics])
    table.attrs["notes"] = (*gaps, *ended, *verdicts, *known, *cautions)
    return table


def _sessions(runs: tuple[Runs, Runs], differ_by: float | None) -> Sessions:
    """Return how many sessions each side has. Raises DataError for a bound that cannot be."""
    if differ_by is not None and not 0 < differ_by < 1:
        raise DataError(f"sessions differ by a share between 0 and 1, not by {differ_by}")
    first, second = map(sessions.number, runs)
    if differ_by is not None and first + second > 2:
        raise DataError(
            f"{first} and {second} sessions tell how much sessions differ: leave the bound out"
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
    """How the second side of a duet differs from the first, within blocks; as `compare` has it.

    `frame` holds the runs of both, told apart by the column `side`. Raises DataError where that is
    not there, or has other values.
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
    names = [of] if isinstance(of, str) else list(of)
    metrics = [frames.column(frame, name) for name in names or defaults.metrics(frame)]
    for metric in metrics if names else ():
        if not metric.better:
            raise DataError(f"{metric.name} is neither better higher nor better lower")
    return [metric for metric in metrics if metric.better]


def _configured(
    runs: Runs, sketch: pd.DataFrame, factors: Sequence[str], *, ok: bool, paired: bool = False
) -> dict[Key, Configured]:
    if isinstance(runs, Relation):
        return sides.of_relation(runs, factors, ok=ok, paired=paired)
    return sides.configurations(sketch, factors)


def _refuse_infinite(
    good: Sequence[Runs], metrics: Sequence[Metric], called: Sequence[str]
) -> None:
    """Raise DataError for a metric that is infinite in some run."""
    for metric in metrics:
        for name, side in zip(called, good, strict=True):
            if metric.column not in side.columns:
                continue
            if isinstance(side, Relation):
                is_so = f"bool_or(isinf(try_cast({quoted(metric.column)} as double)))"
                infinite = side.counted(infinite=f"{is_so} filter (where {side.ok})")["infinite"]
            else:
                infinite = side[metric.column].isin([math.inf, -math.inf]).any()
            if infinite:
                raise DataError(f"{metric.column} is infinite in some run {name}")


def _tells(runs: Sequence[Configured | None], metric: Metric) -> bool:
    """Whether a run of either side has a figure of the metric."""
    return any(
        bool(part[metric.column].notna().any())
        for part in runs
        if part is not None and metric.column in part
    )


def _row(
    key: Key,
    metric: Metric,
    runs: Sequence[Configured | None],
    tried: Sequence[int],
    confidence: float,
    unit: Sessions | None,
) -> dict[str, Any]:
    """Return the row of one metric of one configuration; `runs` is None for a side without ok runs.

    `unit` is None for a duet. `trimmed` is the contrast of some of the runs of `after`, if `before`
    ended fewer ok.
    """
    figures = [
        pd.to_numeric(part[metric.column], errors="coerce").dropna()
        if part is not None and metric.column in part.columns
        else pd.Series(dtype=float)
        for part in runs
    ]
    samples = [values.to_numpy(float) for values in figures]
    places = [_places(part, values.index, unit) for part, values in zip(runs, figures, strict=True)]
    means = [float(sample.mean()) if len(sample) else math.nan for sample in samples]
    turned = metric.better == "lower"
    contrast = _contrast(samples, confidence, places, unit, turned=turned)
    shared = {} if unit else {"blocks": _shared(places)}
    ok = [len(part) if part is not None else 0 for part in runs]

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
        "of_before": tried[0],
        "of_after": tried[1],
        **shared,
        "series": [
            None if isinstance(part, ConfigurationRuns) or not unit or unit.several else sample
            for part, sample in zip(runs, samples, strict=True)
        ],
        "kinds": [intervals.of_several_kinds(sample) for sample in samples],
        "verdict": RECOVERED if runs[0] is None else FAILED if runs[1] is None else "",
    }
    if survivors.side(row) == 0:  # what after makes of as few runs
        kept = survivors.trimmed(row, samples[1], metric.better)
        some = [samples[0], samples[1][kept]]
        kept_places = [places[0], places[1][kept]]
        row["trimmed"] = _contrast(some, confidence, kept_places, unit, turned=turned)
    return row


def _places(
    part: Configured | None, index: pd.Index[Any], unit: Sessions | None
) -> np.ndarray[Any, Any]:
    """Return the block of each run of a duet, else its session."""
    if part is None:
        return np.empty(0)
    if unit is None:
        return part["block"].reindex(index).to_numpy()
    return sessions.names(part, index) if unit.several else np.zeros(len(index))


_OURS = (
    *("metric", "before", "after", "ratio", "low", "high", "p"),
    *("n_before", "n_after", "ok_before", "ok_after", "of_before", "of_after"),
    *("blocks", "verdict", "runs", "statistic"),
)
"""The columns of a comparison beside the factors, and one by which a summary is known."""


def _contrast(
    samples: Sequence[np.ndarray],
    share: float,
    places: Sequence[np.ndarray],
    unit: Sessions | None,
    *,
    turned: bool,
) -> Contrast:
    """Return the ratio of after to before, or of before to after where it is `turned`.

    No interval for one run, or for values without a log. `places` are the runs' blocks in a duet,
    where `unit` is None, and else their sessions.
    """
    order = (0, 1) if turned else (1, 0)
    top, bottom = (samples[side] for side in order)
    of_top, of_bottom = (places[side] for side in order)
    none = (math.nan, math.nan, math.nan, contrasts.NONE)
    if any((sample <= 0).any() for sample in samples) or min(map(len, samples)) < 2:
        value = math.nan
        if len(top) and len(bottom) and bottom.mean():
            value = float(top.mean() / bottom.mean())
        return Contrast(value, *none, len(samples[0]))
    if unit is None:
        if not _shared(places):  # never paired, so never two samples either
            return Contrast(float(top.mean() / bottom.mean()), *none, 0)
        return contrasts.ratio(top, bottom, (of_top, of_bottom), confidence=share)
    if unit.several:
        return sessions.ratio(top, bottom, (of_top, of_bottom), share)
    contrast = contrasts.ratio(top, bottom, confidence=share)
    if unit.differ_by is None:
        return contrast
    return sessions.widened(contrast, top, bottom, unit.differ_by, share)


def band(better: str, threshold: float) -> tuple[float, float]:
    """Return the ratios up to which a figure changed by no more than the threshold."""
    low, high = 1 - threshold, 1 + threshold
    return (1 / high, 1 / low) if better == "lower" else (low, high)


def _shared(blocks: Sequence[np.ndarray]) -> int:
    """How many blocks hold runs of both sides."""
    first, second = blocks
    return len(np.intersect1d(first, second))


def _verdict(
    row: Mapping[str, Any],
    limits: tuple[str, float, float],
    unit: Sessions | None,
    trimmed: Contrast | None,
    lost: bool,
) -> str:
    """Return the verdict of a ratio; `limits` are the better direction, threshold and greatest p.

    `lost` says that fewer runs ended on one side beyond chance, `trimmed` compares with the best
    runs of after alone.
    """
    fewer = survivors.side(row)
    if lost and fewer == 1:
        return FEWER
    verdict = _of_ratio((row["ratio"], row["low"], row["high"], row["p"]), limits)
    if trimmed and verdict == WORSE:
        verdict = verdict if _of_ratio(trimmed[:4], limits) == WORSE else UNCLEAR
    elif fewer is not None and verdict == BETTER:
        verdict = UNCLEAR
    if lost and verdict != WORSE:
        return MORE
    return DIFFER if verdict in (BETTER, WORSE) and unit and not unit.bounded else verdict


def _of_ratio(ratio: tuple[float, float, float, float], limits: tuple[str, float, float]) -> str:
    """Return what a ratio with its interval and p-value means, among runs that all ended."""
    value, low, high, p = ratio
    better, threshold, discovered = limits
    least, most = band(better, threshold)
    if low >= least and high <= most:
        return SAME
    beyond = not least <= value <= most
    if not (beyond and p <= discovered):  # a missing p is no discovery
        return UNCLEAR
    return BETTER if value > 1 else WORSE


def worsened(row: Mapping[Any, Any]) -> bool:
    """Return True if a row's figure is less good after than before."""
    return bool(row["ratio"] < 1)


def _runs(row: Mapping[str, Any], threshold: float, ratios: int, unit: Sessions | None) -> float:
    """How many runs of each side, or blocks, decide, if the spread and the ratio stay as they are.

    A ratio within the threshold is `same` once its interval is as narrow as the threshold, or,
    where it is that narrow and holds the threshold itself, as the ratio is far from that. One
    beyond it is a discovery once its interval, at the confidence that one of so many `ratios` may
    need, leaves out 1. More than there are; NaN for more than anybody would make.
    """
    if row["verdict"] != UNCLEAR or math.isnan(row["low"]) or (unit and unit.bounded):
        return math.nan
    if survivors.side(row) is not None and not row["low"] <= 1 <= row["high"]:
        return math.nan  # it is unclear for the runs that did not end
    half = math.log(row["high"] / row["low"]) / 2
    runs = min(row["n_before"], row["n_after"], row.get("blocks", math.inf))
    narrow, off = math.log1p(threshold), abs(math.log(row["ratio"]))
    least = 0
    unchanged = band(metric_named(row["metric"]).better, threshold)
    if not unchanged[0] <= row["ratio"] <= unchanged[1]:
        narrow = off * float(ndtri(0.975) / ndtri(1 - FALSE_DISCOVERIES / 2 / max(1, ratios)))
        least = _least(ratios) if "blocks" in row else 0
    elif half < narrow:
        narrow -= off
    if half <= 0 or narrow <= 0:
        return math.nan
    more = np.arange(runs + 1, MOST_RUNS + 1)
    enough = more[(_width(more, row) * half <= _width(runs, row) * narrow) & (more >= least)]
    return float(enough[0]) if len(enough) else math.nan


def _width(runs: Any, row: Mapping[str, Any]) -> Any:
    """What an interval's width is in proportion to, of so many runs a side or blocks."""
    freedom = runs - 1 if "blocks" in row else 2 * (runs - 1)
    return stdtrit(freedom, 0.975) / np.sqrt(runs)


def _least(ratios: int) -> int:
    """Blocks without which Wilcoxon's test finds one of so many ratios in no case.

    With n blocks its least p-value is 2 / 2ⁿ, which has to be a discovery alone among the others.
    """
    return math.ceil(1 + math.log2(max(1, ratios) / FALSE_DISCOVERIES))
