"""The verdict on a ratio, and the number of runs that would decide an unclear verdict."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from scipy.special import ndtri, stdtrit

from netlimits.analysis.comparisons import survivors
from netlimits.analysis.comparisons.sessions import Sessions
from netlimits.analysis.comparisons.sides import FAILED, RECOVERED
from netlimits.analysis.comparisons.survivors import FEWER, MORE
from netlimits.analysis.statistics.contrasts import FALSE_DISCOVERIES, Contrast
from netlimits.metrics import metric as metric_named

BETTER, WORSE, SAME, UNCLEAR, DIFFER = "better", "worse", "same", "unclear", "differ"


VERDICTS = (BETTER, WORSE, SAME, UNCLEAR, DIFFER, FEWER, MORE, FAILED, RECOVERED)


BAD = (WORSE, FEWER, FAILED)
"""Verdicts with which a comparison or a gate fails."""


THRESHOLD = 0.03
"""Default of the smallest difference that matters, as a share."""


MOST_RUNS = 10_000
"""Maximum number of runs of a side that a row recommends."""


def band(better: str, threshold: float) -> tuple[float, float]:
    """Return the lowest and highest ratio that are within the threshold."""
    low, high = 1 - threshold, 1 + threshold
    return (1 / high, 1 / low) if better == "lower" else (low, high)


def verdict(
    row: Mapping[str, Any],
    limits: tuple[str, float, float],
    unit: Sessions | None,
    trimmed: Contrast | None,
    lost: bool,
) -> str:
    """Return the verdict of a ratio.

    `limits` are the better direction, the threshold and the limit of significant p-values.
    `trimmed` is the contrast with only the best runs of after. `lost` is True if significantly
    fewer runs of a side ended ok.
    """
    fewer = survivors.fewer_side(row)
    if lost and fewer == 1:
        return FEWER
    of_ratio = _of_ratio((row["ratio"], row["low"], row["high"], row["p"]), limits)
    if trimmed and of_ratio == WORSE:
        of_ratio = of_ratio if _of_ratio(trimmed[:4], limits) == WORSE else UNCLEAR
    elif fewer is not None and of_ratio == BETTER:
        of_ratio = UNCLEAR
    if lost and of_ratio != WORSE:
        return MORE
    return DIFFER if of_ratio in (BETTER, WORSE) and unit and not unit.bounded else of_ratio


def _of_ratio(ratio: tuple[float, float, float, float], limits: tuple[str, float, float]) -> str:
    """Return the verdict on a ratio from its interval and p-value, regardless of failed runs."""
    value, low, high, p = ratio
    better, threshold, p_limit = limits
    least, most = band(better, threshold)
    if low >= least and high <= most:
        return SAME
    beyond = not least <= value <= most
    if not (beyond and p <= p_limit):  # a missing p is not significant
        return UNCLEAR
    return BETTER if value > 1 else WORSE


def worsened(row: Mapping[Any, Any]) -> bool:
    """Return True if the metric is worse after than before."""
    return bool(row["ratio"] < 1)


def runs_to_decide(
    row: Mapping[str, Any], threshold: float, ratios: int, unit: Sessions | None
) -> float:
    """Return how many runs of each side, or blocks, would decide an unclear verdict.

    The ratio and the variation are assumed to stay the same. A ratio within the threshold becomes
    `same` once its interval is narrow enough. A ratio beyond the threshold becomes significant once
    its interval excludes 1. Return NaN if more than MOST_RUNS are needed, or if more runs would not
    decide.
    """
    if row["verdict"] != UNCLEAR or math.isnan(row["low"]) or (unit and unit.bounded):
        return math.nan
    if survivors.fewer_side(row) is not None and not row["low"] <= 1 <= row["high"]:
        return math.nan  # runs that are not ok made the verdict unclear; more runs do not help
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
    enough = _width(runs, row) * narrow
    more = range(max(runs + 1, least), MOST_RUNS + 1)
    place = bisect_left(more, True, key=lambda count: _width(count, row) * half <= enough)
    return float(more[place]) if place < len(more) else math.nan


def _width(runs: int, row: Mapping[str, Any]) -> float:
    """Return a number proportional to an interval's width for `runs` runs a side (or blocks)."""
    freedom = runs - 1 if "blocks" in row else 2 * (runs - 1)
    width: float = stdtrit(freedom, 0.975) / runs**0.5
    return width


def _least(ratios: int) -> int:
    """Return the least number n of blocks for significance: Wilcoxon's p is at least 2 / 2ⁿ."""
    return math.ceil(1 + math.log2(max(1, ratios) / FALSE_DISCOVERIES))
