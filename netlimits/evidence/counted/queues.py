"""What the queueing disciplines of an interface dropped, held back and took back.

How several qdiscs of one interface are added up, so that nothing counts twice:

- *drops* and *requeues* are the root's. A parent counts the drops of its children: at enqueue
  because they hand it the drop, later through qdisc_tree_reduce_backlog; `mq` and `mqprio` add
  up their children's counters when they are asked (mq_dump). So the root holds them all.
- *overlimits* are each qdisc's own decision (a shaper's "not yet"), and no parent sees them: they
  are added up over all, without `mq` and `mqprio`, which only repeat their children's.

What hangs on the way in (`ingress`, `clsact`) is not a queue and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from netlimits.errors import ToolFailure
from netlimits.evidence.counted._difference import growth
from netlimits.model import Command, Completed, Scalar, decoding

_INGRESS = ("ingress", "clsact")
_SUMS_OF_CHILDREN = ("mq", "mqprio")


class _Qdisc(TypedDict):
    """What of a qdisc must be there, and what it counts."""

    kind: str
    handle: str
    drops: NotRequired[int]
    overlimits: NotRequired[int]
    requeues: NotRequired[int]


Qdiscs = Sequence[Mapping[str, Any]]


class Queues:
    """Evidence of a local queue that overflowed and of a shaper that held packets back."""

    name = "queues"

    def read(self, interface: str) -> Command:
        """Every qdisc of the interface with its statistics; needs no root."""
        return Command(("tc", "-s", "-j", "qdisc", "show", "dev", interface), deadline=10)

    def figures(self, before: Completed, after: Completed) -> dict[str, Scalar]:
        """`qdisc_drops` and `qdisc_overlimits` in packets, `qdisc_requeues`.

        Nothing where the host has no `tc`. Raises ToolFailure for other qdiscs than before.
        """
        first = qdiscs(before)
        if first is None:
            return {}
        second = qdiscs(after) or ()
        if [_identity(q) for q in first] != [_identity(q) for q in second]:
            was, now = (", ".join(map(_words, each)) or "nothing" for each in (first, second))
            raise ToolFailure(
                f"{before.host}: the qdiscs were replaced during the run: {was} became {now}",
                status="invalid",
            )
        pairs = list(zip(first, second, strict=True))
        roots = [pair for pair in pairs if pair[0].get("root")]
        own = [pair for pair in pairs if pair[0]["kind"] not in _SUMS_OF_CHILDREN]
        counted = (("drops", roots), ("overlimits", own), ("requeues", roots))
        return {
            f"qdisc_{counter}": _grown(before.host, counter, pairs)
            for counter, pairs in counted
            if all(counter in qdisc for pair in pairs for qdisc in pair)
        }


def qdiscs(completed: Completed) -> Qdiscs | None:
    """The qdiscs on the way out, as `tc` prints them; None where it does not.

    Raises ToolFailure for another list than `tc -j` prints.
    """
    try:
        listed = decoding.parsed(completed.stdout)
    except ValueError:
        return None
    if not decoding.has(listed, list[_Qdisc]):
        raise ToolFailure(f"{completed.host}: `tc -j qdisc` lists no qdiscs as it should")
    return [qdisc for qdisc in listed if qdisc["kind"] not in _INGRESS]


def _grown(host: str, counter: str, pairs: Sequence[tuple[Any, Any]]) -> int:
    return sum(
        growth(f"{host}: {counter} of {_words(a)}", a[counter], b[counter], bits=32)
        for a, b in pairs
    )


def _identity(qdisc: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(qdisc.get(key) for key in ("kind", "handle", "parent", "root"))


def _words(qdisc: Mapping[str, Any]) -> str:
    """`tbf 8001: root`"""
    place = "root" if qdisc.get("root") else f"parent {qdisc.get('parent')}"
    return f"{qdisc['kind']} {qdisc['handle']} {place}"
