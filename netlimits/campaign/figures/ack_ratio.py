"""Segments per ACK of a run: the sender's OutSegs over the receiver's OutSegs.

The sender's counts segments as on the wire (TSO's included), and what a receiver sends is ACKs. The
receiver's InSegs is of no use: it counts packets after GRO.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from netlimits.model import Scalar

MINIMUM = 200
"""Segments that a receiver must have sent: a control connection's ten are then 5 % at most."""

BOTH_SEND = 0.5
"""Share of the sender's bytes from which on the other end's segments are data, not ACKs alone."""


def segments_per_ack(local: Mapping[str, Scalar], remote: Mapping[str, Scalar]) -> float | None:
    """Return the segments per ACK, from the differenced figures of both ends (without `local_`).

    The sender is the end that sent more bytes, whatever the tool's direction. Returns None if TCP
    did not carry the data (more UDP datagrams than segments, or hardly any segments), if both ends
    sent data, or if a host does not count one of these.
    """
    ends = [_Sent.of(end) for end in (local, remote)]
    if None in ends:
        return None
    receiver, sender = sorted(filter(None, ends))
    if receiver.segments < MINIMUM or sender.datagrams > sender.segments:
        return None
    if receiver.bytes > BOTH_SEND * sender.bytes:
        return None
    return sender.segments / receiver.segments


def figures(both: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return `segments_per_ack` from a run's figures (`local_tcp_out_segs` …), or nothing."""
    local, remote = (
        {name.removeprefix(end): value for name, value in both.items() if name.startswith(end)}
        for end in ("local_", "remote_")
    )
    ratio = segments_per_ack(local, remote)
    return {} if ratio is None else {"segments_per_ack": ratio}


class _Sent(NamedTuple):
    """Counts of what one end sent over its interface."""

    bytes: float
    segments: float
    datagrams: float

    @classmethod
    def of(cls, end: Mapping[str, Scalar]) -> _Sent | None:
        """Return one end's counts, or None if any of them is unknown, which is not 0."""
        counts = [end.get(name) for name in ("tx_bytes", "tcp_out_segs", "udp_out_datagrams")]
        return None if None in counts else cls(*(float(count or 0) for count in counts))
