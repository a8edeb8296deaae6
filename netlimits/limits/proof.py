"""Results of interventions: compare runs with and without each change, block by block."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netlimits.analysis import frames
from netlimits.analysis.statistics import contrasts
from netlimits.limits import mediators
from netlimits.limits.base import OPEN, PROVEN, REFUTED, LimitClass
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures
from netlimits.limits.verdicts import UNDETERMINED, Verdict

if TYPE_CHECKING:
    import pandas as pd

INTERVENTION, NONE, CHANGED = "intervention", "none", "next_"
"""Name of the factor for interventions, its level for runs without an intervention, and prefix of
the factors that hold changed values."""

MORE = 6
"""Number of blocks to add if six blocks leave a class open. Twelve blocks give an interval that is
two thirds as wide."""

MORE_BLOCKS = f"{MORE} more blocks of the same runs"
"""Text of the column `decide` if the interval of a proof is too wide."""

_PAIRED = (contrasts.WILCOXON, contrasts.TWO_WAY)

_SUPPORTS: Mapping[str, Sequence[tuple[float, float, str]]] = {
    "streams": (
        (1.6, 2.5, "the limit is that of each connection: a window, a pace, its losses, a thread"),
        (1.05, 1.6, "the limit is partly that of each connection, and partly what they share"),
        (0.85, 1.05, "what both streams share is the limit: a path, a CPU, or one program"),
    ),
    "sender_load": ((0.9, 1.1, "the sender has CPU left"),),
    "receiver_load": ((0.9, 1.1, "the receiver has CPU left"),),
    "receive_buffer": ((0.9, 1.1, "the window is wide enough"),),
    "send_buffer": ((0.9, 1.1, "the send buffer is large enough"),),
    "packet_size": ((0.9, 1.1, "bits, not packets, are what is limited"),),
}
"""Change -> ranges of the ratio of throughput (low, high), each with the statement that a ratio in
this range supports."""

_NO_LIMIT = (0.9, 1.1)
"""Range of the ratio of throughput in which a change counts as having no effect."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of one change for one class.

    `figures` is the ratio of throughput in words. `why` is the reason if the change proves nothing,
    else "". `contrary` is true if losses remain although less is sent (`mediators.contrary`).
    """

    limit: LimitClass
    level: str
    state: str
    figures: str
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""
    contrary: bool = False

    @property
    def name(self) -> str:
        return self.limit.name


def tested(frame: pd.DataFrame) -> bool:
    """Return True if the frame has the factor `intervention` and factors with changed values."""
    names = map(str, frame.columns)
    return INTERVENTION in frame.columns and any(name.startswith(CHANGED) for name in names)


def factors(frame: pd.DataFrame) -> list[str]:
    """Return the factors that distinguish configurations, except factors that `sequel` added."""
    names = frames.varied(frame)
    if tested(frame):
        return names[: names.index(INTERVENTION)]  # `next_…` and text columns of tools follow
    return names


def bare(part: pd.DataFrame) -> pd.DataFrame:
    """Return the runs without an intervention; all runs if the campaign has no interventions."""
    return part[part[INTERVENTION] == NONE] if tested(part) else part


def proofs(
    part: pd.DataFrame, evidence: Mapping[Any, RunFigures], blocks: pd.Series[Any] | None
) -> Mapping[str, Proof]:
    """Return class -> the result of its change, from the runs of one configuration."""
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
    """Return a sentence for each intervention whose runs all failed.

    `part` has the ok runs of a configuration, and `rest` its other runs.
    """
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
    """Return the ratio of throughput, `top` over `bottom`.

    Return None if `bottom` has no runs, or if a run's throughput is unknown or 0.
    """
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
    """Return True if `name` comes before `other` in CLASSES and explains the evidence for it."""
    order = [limit.name for limit in CLASSES]
    return order.index(name) < order.index(other)


def proved(
    verdict: Verdict, by_class: Mapping[str, Proof], applicable: Collection[str] = ()
) -> dict[str, Any]:
    """Return the verdict after the proofs: its class, `state`, proof in words and ratio.

    `applicable` are the classes that apply to such runs. For example, classes of datagrams do not
    apply to TCP.

    Another class replaces the class of the verdict if it is the only class that meets these
    conditions:

    - The class is proven.
    - Counters suggest the class, or its change is specific to it.
    - Every suggested or tested class that would explain the evidence for this class is refuted.
    - If the proof of the verdict is open or proven, the change must be specific, and the class must
      explain the evidence for the verdict. For example, a packet rate also looks like a cap on the
      path, and a CPU full of softirq also looks like a packet rate.

    The state is `open` if the resulting class has no proof. `undetermined` never has a proof.
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
        "proof": " ".join(_sentences(own, by_class)),
    }
    if own:
        row |= {"ratio": own.ratio, "ratio_low": own.low, "ratio_high": own.high}
    if limit != verdict.limit:
        # these values described the replaced class
        row |= {"runner_up": "", "why_not": "", "confidence": math.nan}
        text = "nothing certain" if verdict.limit == UNDETERMINED else verdict.limit
        row["evidence"] = f"Counters suggest {text}: {verdict.sentence}"
    if state in (PROVEN, REFUTED) or (own and own.why):
        row["decide"] = ""
    elif own:
        row["decide"] = MORE_BLOCKS
    if state == PROVEN or verdict.runner_up in by_class:  # the proofs supersede the runner-up
        row |= {"runner_up": "", "why_not": ""}
    return row


def _considered(
    verdict: Verdict, by_class: Mapping[str, Proof], applicable: Collection[str]
) -> dict[str, Proof]:
    """Return the proofs that count: for each change, only proofs of classes that counters suggest.

    Several classes can share a change, such as twice the streams. Its result proves a class only if
    counters suggest that class. If counters suggest no class of a change, the user asked for the
    change. Then the proofs of `applicable` classes count. If no class of the change is applicable,
    all its proofs count.
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


def _sentences(own: Proof | None, by_class: Mapping[str, Proof]) -> Iterator[str]:
    """Yield a sentence for each change, with its ratio and the result for each of its classes."""
    first = [] if own is None else [own]
    by_level: dict[str, list[Proof]] = {}
    for proof in [*first, *(proof for proof in by_class.values() if proof is not own)]:
        by_level.setdefault(proof.level, []).append(proof)
    for group in by_level.values():
        head, *_ = group
        change = head.limit.intervention.change.partition(":")[0]
        clauses = [_clause(proof, own) for proof in group]
        if not head.figures:
            yield f"{change[:1].upper()}{change[1:]}: {'; '.join(clauses)}."
            continue
        yield f"With {change} throughput was {head.figures}: {'; '.join(clauses)}."
        if supported := _supported(group):
            yield supported


def _clause(proof: Proof, own: Proof | None) -> str:
    expected = proof.limit.intervention.expectation
    if proof.why:
        return f"{proof.name} is open: {proof.why}"
    if proof.state == PROVEN and proof is not own:
        return (
            f"{proof.name} would also explain the ratio ({expected}), but counters make it less "
            "likely"
        )
    tail = "would prove it" if proof.state != PROVEN else "proves it"
    return f"{proof.name} is {proof.state} ({expected} {tail})"


def _supported(group: Sequence[Proof]) -> str:
    head, *_ = group
    if all(proof.state != REFUTED for proof in group) or any(
        proof.state == PROVEN for proof in group
    ):
        return ""
    what = head.limit.intervention.what
    for least, most, words in _SUPPORTS.get(what, ()):
        if least <= head.low and head.high <= most:
            return f"That supports that {words}."
    low, high = _NO_LIMIT
    if low <= head.low and head.high <= high:
        return "Throughput does not follow what was changed: that supports another limit."
    return ""
