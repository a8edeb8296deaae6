"""Runs that did not end ok, and their effect on a comparison of the ok runs.

Slow runs time out, so the remaining runs are too good. Therefore no ratio is `better` if the sides'
shares of ok runs differ. If the share is smaller before than after, some of the worst runs of after
are left out, so that both shares are equal. The verdict is `worse` only if it holds without them
too (Lee, "Training, Wages, and Sample Selection", 2009). Fisher's exact test decides whether the
shares differ significantly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from netlimits.analysis.statistics import contrasts

FEWER, MORE = "fewer", "more"
"""Verdicts: significantly fewer (or significantly more) runs ended ok after than before."""
TERMS = 100_000
"""Maximum number of probabilities that Fisher's test sums; all further ones are negligible."""


def fewer_side(row: Mapping[str, Any]) -> int | None:
    """Return the side with the smaller share of ok runs: 0 before, 1 after, None for neither."""
    before, after = _crossed(row)
    return None if before == after else int(after < before)


def _crossed(row: Mapping[str, Any]) -> tuple[int, int]:
    """Return the shares of ok runs before and after as integers, which compare exactly.

    Each share is multiplied by the product of both sides' numbers of runs.
    """
    return row["ok_before"] * row["of_after"], row["ok_after"] * row["of_before"]


def beyond_chance(rows: Sequence[Mapping[str, Any]], level: float) -> set[Any]:
    """Return the keys of the configurations in which significantly fewer runs of a side are ok."""
    p_values = {row["key"]: _fisher(row) for row in rows}
    limit = contrasts.significance_threshold(list(p_values.values()), level)
    return {key for key, p in p_values.items() if p <= limit}


def _fisher(row: Mapping[str, Any]) -> float:
    """Return the two-sided p-value of Fisher's exact test, as twice the smaller tail."""
    ok, tried = (row["ok_before"], row["ok_after"]), (row["of_before"], row["of_after"])
    lost = [of - good for of, good in zip(tried, ok, strict=True)]
    fewer = fewer_side(row)
    if fewer is None:
        return 1.0
    # probability that at least this many of all lost runs are on the side that lost more
    most = min(sum(lost), tried[fewer])
    counts = np.arange(lost[fewer], min(most, lost[fewer] + TERMS) + 1)
    other = tried[1 - fewer]
    logs = (
        _choose(tried[fewer], counts)
        + _choose(other, sum(lost) - counts)
        - _choose(sum(tried), np.array(sum(lost)))
    )
    return min(1.0, 2 * float(np.exp(logs).sum()))


def _choose(n: int, k: np.ndarray) -> np.ndarray:
    logs: np.ndarray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return logs


def best_runs(row: Mapping[str, Any], sample: np.ndarray, better: str) -> np.ndarray:
    """Return a mask of the best runs of `after`.

    It leaves out so many runs that the share of ok runs is that of before, or less.
    """
    before, after = _crossed(row)
    share = min(1.0, before / after) if after else 1.0
    # drop one standard deviation more, since the number of lost runs is subject to chance too
    lost = (1 - share) * len(sample) + (len(sample) * share * (1 - share)) ** 0.5
    keep = len(sample) - math.ceil(lost)
    order = np.argsort(sample)
    kept = order[len(sample) - keep :] if better == "higher" else order[:keep]
    mask = np.zeros(len(sample), bool)
    mask[kept] = True
    return mask


def counts(row: Mapping[str, Any], called: Sequence[str]) -> str:
    """Return the number of ok runs in words: "14 of 20 runs ended ok after, 20 of 20 before"."""
    return (
        f"{row['ok_after']} of {row['of_after']} runs ended ok {called[1]}, "
        f"{row['ok_before']} of {row['of_before']} {called[0]}"
    )
