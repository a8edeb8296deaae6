"""The offset between two hosts' clocks during a run, from the bytes that their samples count.

Data arrives after it was sent and before it was acknowledged. So each sample of the receiver lies
between two times of the sender, as in a round trip of NTP.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from netlimits.evidence.clocks import Offset
from netlimits.evidence.sample.changes import SCALE
from netlimits.evidence.sample.snapshots import Connection, Snapshot

LEAST = 4
"""Minimum number of samples of the receiver for an offset."""

Curve = list[tuple[float, float]]
"""(Bytes counted, time), both ascending."""


def offset(sender: Sequence[Snapshot], receiver: Sequence[Snapshot]) -> Offset | None:
    """Return the offset of the receiver's clock from the sender's; None with too few samples."""
    sent = {c.ends for snapshot in sender for c in snapshot.connections if c.sends}
    taken = {c.ends[::-1] for snapshot in receiver for c in snapshot.connections if c.receives}
    estimates = [
        estimate
        for ends in sorted(sent & taken)
        for estimate in _of_connection(sender, receiver, ends)
    ]
    if len(estimates) < LEAST:
        return None
    middles = [(low + high) / 2 for low, high in estimates]
    best = median(middles)
    spread = median(abs(middle - best) for middle in middles)
    half = median((high - low) / 2 for low, high in estimates)
    return Offset(best, half + SCALE * spread)


def _of_connection(
    sender: Sequence[Snapshot], receiver: Sequence[Snapshot], ends: tuple[str, str]
) -> Iterator[tuple[float, float]]:
    """Yield the (smallest, largest) possible offset for each sample of the receiver."""
    sent = _curve(sender, ends, lambda c: c.value("bytes_sent") - c.value("bytes_retrans"))
    acked = _curve(sender, ends, lambda c: c.value("bytes_acked"))
    for count, at in _curve(receiver, ends[::-1], lambda c: c.value("bytes_received")):
        left, back = _time(sent, count), _time(acked, count)
        if left is not None and back is not None and back >= left:
            yield at - back, at - left


def _curve(
    snapshots: Sequence[Snapshot], ends: tuple[str, str], of: Callable[[Connection], float]
) -> Curve:
    points: Curve = []
    for snapshot in snapshots:
        for count in (of(c) for c in snapshot.connections if c.ends == ends):
            if snapshot.at is not None and count > (points[-1][0] if points else 0):
                points.append((count, snapshot.at))
    return points


def _time(curve: Curve, count: float) -> float | None:
    """Return the interpolated time at which a count was reached; None outside of the curve."""
    place = bisect_left(curve, (count, 0.0))
    if not 0 < place < len(curve):
        return None
    (low, since), (high, until) = curve[place - 1], curve[place]
    return since + (until - since) * (count - low) / (high - low)
