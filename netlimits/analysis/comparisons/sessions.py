"""Campaigns as sessions: sessions of the same machines differ even if nothing was changed.

Sessions -> what a comparison can show:

    one on each side              that these two sessions differ, for whatever reason
    one on each side, a bound     that the sides differ by more than the bound (`differ_by`)
    several on one side or both   that the sides differ; each session is one value, its runs' mean
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.analysis.statistics import contrasts
from netlimits.analysis.statistics.contrasts import NONE, Contrast

CAMPAIGN = "campaign"
"""Column that distinguishes sessions in frames of several campaigns."""
METHOD = "sessions"


class Sessions(NamedTuple):
    """Number of sessions of each side, and how much two sessions differ if nothing was changed.

    `differ_by` is an upper bound of that difference, as a share; None if it is unknown.
    """

    before: int
    after: int
    differ_by: float | None = None

    @property
    def several(self) -> bool:
        """True if a side has two sessions or more, which show how much sessions differ."""
        return self.before + self.after > 2

    @property
    def bounded(self) -> bool:
        """True if several sessions, or `differ_by`, limit how much sessions can differ."""
        return self.several or self.differ_by is not None


def number(runs: Runs) -> int:
    """Return the number of campaigns of a side; a relation always counts as one."""
    if isinstance(runs, Relation) or CAMPAIGN not in runs.columns:
        return 1
    return max(1, int(runs[CAMPAIGN].nunique()))


def ratio(
    top: np.ndarray, bottom: np.ndarray, of: tuple[np.ndarray, np.ndarray], confidence: float
) -> Contrast:
    """Return the ratio of `top` to `bottom`; `of` has the session of each run of both samples.

    The interval is Student's t on the sessions' mean logarithms. It is Welch's if both sides have
    several sessions, otherwise it assumes a common variance.
    """
    means = [
        pd.Series(np.log(values)).groupby(session).mean().to_numpy()
        for values, session in zip((top, bottom), of, strict=True)
    ]
    count = sum(map(len, means))
    if min(map(len, means)) > 1:
        value, low, high, p = contrasts.welch(means[0], means[1], confidence)
        return Contrast(math.exp(value), math.exp(low), math.exp(high), p, METHOD, count)
    value = float(means[0].mean() - means[1].mean())
    freedom = count - 2
    if freedom < 1:
        return Contrast(math.exp(value), math.nan, math.nan, math.nan, NONE, count)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in means)
    error = (squares / freedom * sum(1 / len(each) for each in means)) ** 0.5
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error)) if error else float(value == 0)
    low_high = (math.exp(value - half), math.exp(value + half))
    return Contrast(math.exp(value), *low_high, p, METHOD, count)


def widened(
    contrast: Contrast, top: np.ndarray, bottom: np.ndarray, differ_by: float, confidence: float
) -> Contrast:
    """Widen two sessions' contrast by `differ_by`, the share by which sessions may differ anyway.

    The null hypothesis is any ratio within that bound. The p-value is that of the ratio nearest to
    the contrast.
    """
    margin = math.log1p(differ_by)
    log_ratio = math.log(contrast.value)
    if abs(log_ratio) <= margin:
        p = 1.0
    else:
        nearer = contrasts.ratio(top * math.exp(-math.copysign(margin, log_ratio)), bottom)
        p = nearer.p
    low, high = contrast.low / (1 + differ_by), contrast.high * (1 + differ_by)
    return contrast._replace(low=low, high=high, p=p)


def notes(sessions: Sessions, called: Sequence[str]) -> str:
    """Return the note on the sessions of a comparison."""
    if sessions.several:
        return (
            "more sessions make the interval narrower, more runs hardly do: each session counts as "
            f"one value, the mean of its runs: {sessions.before} {called[0]} and {sessions.after} "
            f"{called[1]} (Student's t of the logarithms)"
        )
    if sessions.differ_by is not None:
        return (
            "intervals and verdicts assume that two sessions differ by at most "
            f"{100 * sessions.differ_by:g} % without any change (--sessions-differ-by); this was "
            "not measured"
        )
    return (
        "nothing is called better or worse from one session a side: everything that changed "
        "between the two campaigns (heat, neighbours, other processes) is part of every ratio. "
        "To decide, use both sides in one campaign (netlimits run EXPERIMENT --against …), more "
        "campaigns of the baseline (--history), or a bound (--sessions-differ-by 5%)"
    )
