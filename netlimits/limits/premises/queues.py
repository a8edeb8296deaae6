"""Premises on where data waits and where packets were lost."""

from __future__ import annotations

from netlimits.limits import places
from netlimits.limits.base import Premise
from netlimits.limits.figures import RunFigures

UNREAD = 0.5
"""Minimum unread share of the receive window if the reader is too slow. The share was 0.00 if the
window was the limit on a path with delay, and 0.01 to 0.14 on a path without limits. It was 0.8 or
more if the reader slept."""
ELSEWHERE = 0.5
"""Maximum share of the lost packets that the hosts themselves dropped, if the path is the limit."""
LOST_BEHIND = 0.09
"""Maximum share of datagrams that are lost after leaving the sender, if the sender is the limit.
At this share, about a tenth of the datagrams does not arrive."""


def read_at_once(run: RunFigures) -> list[Premise]:
    """Return the premise that the receiving program reads data at once; empty if unknown."""
    unread = run.unread
    if unread is None:
        return []
    short = f"{100 * unread:.0f} % of the receive window is data that its program has not read"
    return [Premise.below(unread, UNREAD, short)]


def waits_on_path(run: RunFigures) -> list[Premise]:
    """Return the premise that the path holds more waiting data than the receiver has unread.

    The list is empty if either amount is unknown.
    """
    unread, queue, rate = run.received("recv_q_bytes"), run.queueing_us, run.throughput
    if unread is None or queue is None or not rate:
        return []
    on_path = queue * rate / 8
    short = f"{unread:,.0f} bytes are unread at the receiver, and {on_path:,.0f} wait on the path"
    return [Premise.below(unread / max(on_path, 1.0), 1.0, short)]


def lost_on_path(run: RunFigures) -> list[Premise]:
    """Return the premise that hosts dropped at most half of the lost packets.

    The list is empty if hosts dropped no packets.
    """
    where = {place: n for place, n in places.losses(run).items() if place != places.PATH}
    total = places.lost(run)
    if not where or not total:
        return []
    most = max(where, key=where.__getitem__)
    short = f"{where[most]:,.0f} of the {total:,.0f} lost packets were dropped {most}"
    return [Premise.below(sum(where.values()) / total, ELSEWHERE, short)]


def arrived_as_sent(run: RunFigures) -> list[Premise]:
    """Return the premise that few datagrams were lost after leaving the sender; empty for TCP."""
    lost = run.sent_datagrams_lost
    if lost is None:
        return []
    short = f"{100 * lost:.0f} % of the datagrams were lost after it had sent them"
    own = places.share(run, *places.ON_SENDER) or 0.0
    return [Premise.below(lost * (1 - own), LOST_BEHIND, short)]
