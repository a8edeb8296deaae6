"""What interventions say: within blocks, the runs with each of them against those without.

A campaign that `sequel` planned has a factor `intervention`: `none`, and names of classes whose
intervention was made. What it changed stands in columns that begin with `next_`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netlimits.analysis import contrasts, frames
from netlimits.limits.base import OPEN, PROVEN, REFUTED, LimitClass
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures
from netlimits.limits.verdicts import UNDETERMINED, Verdict

if TYPE_CHECKING:
    import pandas as pd

INTERVENTION, NONE, CHANGED = "intervention", "none", "next_"
"""The factor, its level without an intervention, and how the columns of what it changes begin."""

_PAIRED = (contrasts.WILCOXON, contrasts.TWO_WAY)


@dataclass(frozen=True, slots=True)
class Proof:
    """What the intervention of one class came to: `proven`, `refuted` or `open`."""

    limit: str
    state: str
    sentence: str
    ratio: float
    low: float
    high: float


def tested(frame: pd.DataFrame) -> bool:
    """Whether a campaign made interventions: it has their factor, and what they changed."""
    names = map(str, frame.columns)
    return INTERVENTION in frame.columns and any(name.startswith(CHANGED) for name in names)


def factors(frame: pd.DataFrame) -> list[str]:
    """The factors that tell configurations apart: those that `sequel` puts before its own."""
    names = frames.varied(frame)
    if tested(frame):
        return names[: names.index(INTERVENTION)]  # words of tools stand behind, as `next_` does
    return names


def bare(part: pd.DataFrame) -> pd.DataFrame:
    """The runs without an intervention."""
    return part[part[INTERVENTION] == NONE] if tested(part) else part


def proofs(
    part: pd.DataFrame, evidence: Mapping[Any, RunFigures], blocks: pd.Series[Any] | None
) -> Mapping[str, Proof]:
    """Class -> what its intervention came to, of one configuration's runs."""
    without = bare(part)
    changed = {limit: part[part[INTERVENTION] == limit.name] for limit in CLASSES}
    return {
        limit.name: _proof(limit, _ratio(runs, without, evidence, blocks))
        for limit, runs in changed.items()
        if len(runs)
    }


def unmade(part: pd.DataFrame, rest: pd.DataFrame) -> list[str]:
    """What to say of each intervention of a configuration of which no run is ok, but `rest`."""
    if INTERVENTION not in part.columns or not len(rest):
        return []
    missing = {*map(str, rest[INTERVENTION])} - {*map(str, part[INTERVENTION]), NONE}
    return [f"{name} is open: none of its runs is ok." for name in sorted(missing)]


def _proof(limit: LimitClass, ratio: contrasts.Contrast | None) -> Proof:
    """What a ratio, with the intervention over without it, says of a class."""
    expected = limit.intervention
    if ratio is None:
        sentence = (
            f"{limit.name} is open: a run with or without it lacks its throughput, or no run "
            "without it is ok."
        )
        return Proof(limit.name, OPEN, sentence, math.nan, math.nan, math.nan)
    state = expected.state(ratio.low, ratio.high)
    over = f"{ratio.n} blocks" if ratio.method in _PAIRED else f"{ratio.n} runs"
    interval = f"95 % interval {ratio.low:.3g} to {ratio.high:.3g}, {over}"
    if math.isnan(ratio.low) or math.isnan(ratio.high):
        interval = f"too few for an interval: {over}"
    sentence = (
        f"{limit.name} is {state}: with {expected.change.partition(':')[0]} throughput was "
        f"{ratio.value:.3g} times as much ({interval}), where {expected.expectation} would "
        "prove it."
    )
    return Proof(limit.name, state, sentence, ratio.value, ratio.low, ratio.high)


def _ratio(
    top: pd.DataFrame,
    bottom: pd.DataFrame,
    evidence: Mapping[Any, RunFigures],
    blocks: pd.Series[Any] | None,
) -> contrasts.Contrast | None:
    """The ratio of throughput; None where a run lacks it, or it is 0."""
    values = [
        np.array([evidence[index].throughput or math.nan for index in side.index])
        for side in (top, bottom)
    ]
    if not len(bottom) or not all(bool((side > 0).all()) for side in values):
        return None
    both = None
    if blocks is not None:
        both = (blocks[top.index].to_numpy(), blocks[bottom.index].to_numpy())
    return contrasts.ratio(values[0], values[1], both)


def _explains(name: str, other: str) -> bool:
    """Whether a class comes before another, which follows from it."""
    order = [limit.name for limit in CLASSES]
    return order.index(name) < order.index(other)


def proved(verdict: Verdict, by_class: Mapping[str, Proof]) -> dict[str, Any]:
    """The verdict in view of the proofs: its class, `state`, the sentence and the ratio.

    The verdict's own proof counts; where it is refuted, or there is none, and exactly one other
    class is proven, that is the class, if counters suggest it or the change moves it alone. Where
    the verdict's is open or proven, only a class that explains it takes its place: a packet rate is
    a cap on the path, too, and a core that is full of softirq a packet rate. No class takes the
    place while one that would explain it is suggested, or tried, and not refuted. What was never
    tried, or is undetermined still, is `open`.
    """
    own = by_class.get(verdict.limit)
    specific = {limit.name for limit in CLASSES if limit.intervention.alone}
    refuted = {proof.limit for proof in by_class.values() if proof.state == REFUTED}
    standing = {*by_class, *verdict.leading} - refuted
    others = [
        proof
        for proof in by_class.values()
        if proof.state == PROVEN
        and proof is not own
        and proof.limit in {*specific, *verdict.leading}
        and not any(_explains(name, proof.limit) for name in standing)
    ]
    if own and own.state != REFUTED:
        others = [p for p in others if p.limit in specific and _explains(p.limit, own.limit)]
    if len(others) == 1:
        own = others[0]
    state = own.state if own else OPEN
    limit = own.limit if own else verdict.limit
    rest = [proof.sentence for proof in by_class.values() if proof is not own]
    row: dict[str, Any] = {
        "class": limit,
        "state": state,
        "proof": " ".join([*([own.sentence] if own else []), *rest]),
    }
    if own:
        row |= {"ratio": own.ratio, "ratio_low": own.low, "ratio_high": own.high}
    if limit != verdict.limit:
        row |= {"runner_up": "", "why_not": "", "confidence": math.nan}  # they are of another class
        text = "nothing certain" if verdict.limit == UNDETERMINED else verdict.limit
        row["evidence"] = f"Counters suggest {text}: {verdict.sentence}"
    if state in (PROVEN, REFUTED):
        row["decide"] = ""
    return row
