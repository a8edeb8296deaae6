"""Bulk streams as the looks at a host show them: which connections they are, and when they began.

The busiest connections are the streams: the connection of the transactions beside them carries next
to nothing. The streams' first data is seen at both ends, which tells the clocks of two hosts apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netlimits.evidence.sample.snapshots import Connection, Look


@dataclass(frozen=True, slots=True)
class Begin:
    """Between which looks the first data of the last stream went, in seconds of a host's clock."""

    after: float = -math.inf
    until: float = math.inf

    def since(self, earliest: float) -> Begin:
        """The same, where nothing can have gone before `earliest`, and did just then if untold."""
        after = max(self.after, earliest)
        return Begin(after, self.until if math.isfinite(self.until) else after)

    def ahead_of(self, other: Begin) -> float:
        """By how many seconds this host's clock is ahead of the other one's.

        0 where the looks allow it: hosts of one site have one time. Otherwise the middle of what
        they allow, or the nearest bound where there is but one.
        """
        least, most = self.after - other.until, self.until - other.after
        if least <= 0 <= most or least > most:
            return 0.0
        if math.isfinite(least) and math.isfinite(most):
            return (least + most) / 2
        return least if least > 0 else most


def begin(looks: Sequence[Look], count: int, *, sent: bool) -> Begin:
    """When the last of `count` streams began, which the looked-at host `sent`, or received."""
    streams = list(_most(looks, sent))[:count]
    before = -math.inf
    for look in looks:
        if len(streams) < count or look.at is None:
            break
        begun = {each.ends for each in look.connections if _carried(each, sent)}
        if begun.issuperset(streams):
            return Begin(before, look.at)
        before = look.at
    return Begin()


def alone(looks: Sequence[Look], count: int) -> tuple[list[Look], float]:
    """The looks with the `count` connections alone that received most, and the bytes of the least.

    These are 0 where there is no connection.
    """
    most = _most(looks, sent=False)
    streams = list(most)[:count]
    of_streams = [
        replace(look, connections=tuple(c for c in look.connections if c.ends in streams))
        for look in looks
    ]
    return of_streams, min((most[ends] for ends in streams), default=0.0)


def _most(looks: Sequence[Look], sent: bool) -> dict[tuple[str, str], float]:
    """The bytes that each connection carried in the end, the busiest one first."""
    most: dict[tuple[str, str], float] = {}
    for look in looks:
        for each in look.connections:
            most[each.ends] = max(most.get(each.ends, 0.0), _carried(each, sent))
    return dict(sorted(most.items(), key=lambda item: item[1], reverse=True))


def _carried(connection: Connection, sent: bool) -> float:
    return connection.sent if sent else connection.value("bytes_received")
