"""The effect of a change (one interval each), and the sentences that it supports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlimits.limits.base import PROVEN, REFUTED, LimitClass

_NO_LIMIT = (0.9, 1.1)
"""Range of the ratio within which throughput does not follow a change, so that it is no limit."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of one change for one class; `contrary` if its direct effect speaks against it."""

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


def sentences(own: Proof | None, by_class: Mapping[str, Proof]) -> Iterator[str]:
    """Yield a sentence for each change: its ratio, and what it proves about each of its classes."""
    first = [] if own is None else [own]
    by_level: dict[str, list[Proof]] = {}
    for proof in [*first, *(proof for proof in by_class.values() if proof is not own)]:
        by_level.setdefault(proof.level, []).append(proof)
    for group in by_level.values():
        head, *_ = group
        change = head.limit.intervention.change.partition(":")[0]
        clauses = [_said(proof, own) for proof in group]
        if not head.figures:
            yield f"{change[:1].upper()}{change[1:]}: {'; '.join(clauses)}."
            continue
        yield f"With {change} throughput was {head.figures}: {'; '.join(clauses)}."
        if supported := _supported(group):
            yield supported


def _said(proof: Proof, own: Proof | None) -> str:
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
    """Return what a ratio supports although it refuted a class; "" if it refuted none."""
    head, *_ = group
    if all(proof.state != REFUTED for proof in group) or any(
        proof.state == PROVEN for proof in group
    ):
        return ""
    what = head.limit.intervention.what
    for least, most, words in SUPPORTS.get(what, ()):
        if least <= head.low and head.high <= most:
            return f"That supports that {words}."
    low, high = _NO_LIMIT
    if low <= head.low and head.high <= high:
        return "Throughput does not follow what was changed: that supports another limit."
    return ""


SUPPORTS: Mapping[str, Sequence[tuple[float, float, str]]] = {
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
"""Change -> ranges of the ratio, and what each supports."""
