"""Results of interventions: the runs with each of them compared with those without, by block.

A campaign that `sequel` planned has a factor `intervention`: `none`, and names of changes
(`streams-x2`), each of which may serve several classes. What was changed stands in columns that
begin with `next_`. A change that did not move what it was meant to move leaves a class open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from netlimits.analysis import frames
from netlimits.analysis.statistics import contrasts
from netlimits.limits import mediators, statements
from netlimits.limits.base import OPEN, PROVEN, REFUTED, LimitClass
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures
from netlimits.limits.statements import Proof
from netlimits.limits.verdicts import UNDETERMINED, Verdict

if TYPE_CHECKING:
    import pandas as pd

INTERVENTION, NONE, CHANGED = "intervention", "none", "next_"
"""The factor, its level without an intervention, and how the columns of what it changes begin."""

MORE = 6
"""Blocks to add to six that leave a class open: the interval of twelve is two thirds as wide."""

MORE_BLOCKS = f"{MORE} more blocks of the same runs"
"""What decides where the interval of a proof's own ratio is too wide."""

_PAIRED = (contrasts.WILCOXON, contrasts.TWO_WAY)


def tested(frame: pd.DataFrame) -> bool:
    """Return True if a campaign made interventions: it has their factor and what they changed."""
    names = map(str, frame.columns)
    return INTERVENTION in frame.columns and any(name.startswith(CHANGED) for name in names)


def factors(frame: pd.DataFrame) -> list[str]:
    """Return the factors that distinguish configurations, without those that `sequel` adds."""
    names = frames.varied(frame)
    if tested(frame):
        return names[: names.index(INTERVENTION)]  # words of tools stand behind, as `next_` does
    return names


def bare(part: pd.DataFrame) -> pd.DataFrame:
    """Return the runs without an intervention."""
    return part[part[INTERVENTION] == NONE] if tested(part) else part


def proofs(
    part: pd.DataFrame, evidence: Mapping[Any, RunFigures], blocks: pd.Series[Any] | None
) -> Mapping[str, Proof]:
    """Return class -> what its change came to, of one configuration's runs.

    Levels that are the same change, whatever class they are called after, are one sample.
    """
    without = bare(part)
    by_class = {}
    for limit in CLASSES:
        level = limit.intervention.level or limit.name
        same = [each.name for each in CLASSES if (each.intervention.level or each.name) == level]
        runs = part[part[INTERVENTION].isin([level, *same])]
        if len(runs):
            by_class[limit.name] = _proof(limit, level, runs, without, evidence, blocks)
    return by_class


def unmade(part: pd.DataFrame, rest: pd.DataFrame) -> list[str]:
    """Return a sentence for each intervention of a configuration of which no run is ok."""
    if INTERVENTION not in part.columns or not len(rest):
        return []
    missing = {*map(str, rest[INTERVENTION])} - {*map(str, part[INTERVENTION]), NONE}
    return [f"{name}: none of its runs is ok." for name in sorted(missing)]


def _proof(
    limit: LimitClass,
    level: str,
    changed: pd.DataFrame,
    without: pd.DataFrame,
    evidence: Mapping[Any, RunFigures],
    blocks: pd.Series[Any] | None,
) -> Proof:
    """Return what the runs with a change, and those without, say of a class."""
    contrast = ratio(changed, without, evidence, blocks)
    if contrast is None:
        why = "a run with or without it lacks its throughput, or no run without it is ok"
        return Proof(limit, level, OPEN, "", why=why)
    over = f"{contrast.n} blocks" if contrast.method in _PAIRED else f"{contrast.n} runs"
    interval = f"95 % interval {contrast.low:.3g} to {contrast.high:.3g}, {over}"
    if math.isnan(contrast.low) or math.isnan(contrast.high):
        interval = f"too few for an interval: {over}"
    figures = f"{contrast.value:.3g} times as much ({interval})"
    with_, bare_ = ([evidence[index] for index in side.index] for side in (changed, without))
    state = limit.intervention.state(contrast.low, contrast.high)
    why = mediators.unmoved(limit.name, limit.intervention.what, with_, bare_)
    if state == PROVEN:
        why = why or mediators.slack(limit.intervention.what, bare_)
    return Proof(
        limit,
        level,
        OPEN if why else state,
        figures,
        contrast.value,
        contrast.low,
        contrast.high,
        why,
        mediators.contrary(limit.intervention.what, with_, bare_),
    )


def ratio(
    top: pd.DataFrame,
    bottom: pd.DataFrame,
    evidence: Mapping[Any, RunFigures],
    blocks: pd.Series[Any] | None,
) -> contrasts.Contrast | None:
    """Return the ratio of throughput; None where a run lacks it, or it is 0."""
    values = [
        np.array([evidence[index].achieved or math.nan for index in side.index])
        for side in (top, bottom)
    ]
    if not len(bottom) or not all(bool((side > 0).all()) for side in values):
        return None
    both = None
    if blocks is not None:
        both = (blocks[top.index].to_numpy(), blocks[bottom.index].to_numpy())
    return contrasts.ratio(values[0], values[1], both)


def _explains(name: str, other: str) -> bool:
    """Return True if a class comes before another, which follows from it."""
    order = [limit.name for limit in CLASSES]
    return order.index(name) < order.index(other)


def proved(
    verdict: Verdict, by_class: Mapping[str, Proof], applicable: Collection[str] = ()
) -> dict[str, Any]:
    """Return the verdict in view of the proofs: its class, `state`, the sentence and the ratio.

    `applicable` are the classes that could limit such runs: none of datagrams where TCP ran.

    The verdict's own proof counts; where it is refuted, or there is none, and exactly one other
    class is proven, that is the class, if counters suggest it or the change moves it alone. Where
    the verdict's is open or proven, only a class that explains it takes its place: a packet rate is
    a cap on the path, too, and a core that is full of softirq a packet rate. No class takes the
    place while one that would explain it is suggested, or tried, and not refuted. What was never
    tried, or is undetermined still, is `open`.
    """
    by_class = _considered(verdict, by_class, applicable)
    own = by_class.get(verdict.limit)
    specific = {limit.name for limit in CLASSES if limit.intervention.specific}
    refuted = {proof.name for proof in by_class.values() if proof.state == REFUTED}
    standing = {*by_class, *verdict.leading} - refuted
    others = [
        proof
        for proof in by_class.values()
        if proof.state == PROVEN
        and proof is not own
        and proof.name in {*specific, *verdict.leading}
        and not any(_explains(name, proof.name) for name in standing)
    ]
    if own and own.state != REFUTED:
        others = [p for p in others if p.name in specific and _explains(p.name, own.name)]
    if len(others) == 1:
        own = others[0]
    state = own.state if own else OPEN
    limit = own.name if own else verdict.limit
    row: dict[str, Any] = {
        "class": limit,
        "state": state,
        "proof": " ".join(statements.sentences(own, by_class)),
    }
    if own:
        row |= {"ratio": own.ratio, "ratio_low": own.low, "ratio_high": own.high}
    if limit != verdict.limit:
        row |= {"runner_up": "", "why_not": "", "confidence": math.nan}  # they are of another class
        text = "nothing certain" if verdict.limit == UNDETERMINED else verdict.limit
        row["evidence"] = f"Counters suggest {text}: {verdict.sentence}"
    if state in (PROVEN, REFUTED) or (own and own.why):
        row["decide"] = ""
    elif own:
        row["decide"] = MORE_BLOCKS
    if state == PROVEN or verdict.runner_up in by_class:  # what was measured since says more
        row |= {"runner_up": "", "why_not": ""}
    return row


def _considered(
    verdict: Verdict, by_class: Mapping[str, Proof], applicable: Collection[str]
) -> dict[str, Proof]:
    """Return the proofs of the classes that counters suggest.

    A second stream is the change of half a dozen classes: of those without any evidence it tells
    nothing. Where nothing suggests any class of a change, somebody asked for it: then all of these
    stay that could limit such runs.
    """
    likely = {verdict.limit, *verdict.leading, *verdict.likely}
    suggested = {proof.level for proof in by_class.values() if proof.name in likely}
    fitting = {proof.level for proof in by_class.values() if proof.name in applicable}
    return {
        name: proof
        for name, proof in by_class.items()
        if name in likely
        or (proof.level not in suggested and (name in applicable or proof.level not in fitting))
    }
