"""Segments per ACK of a run, from what both ends' kernels counted.

The sender's OutSegs over the receiver's OutSegs: the sender's counts segments as on the wire
(TSO's included), and what a receiver sends is ACKs. The receiver's InSegs is of no use: it counts
packets after GRO. The tool's control connection and an ssh login over the data link add a few
segments to both counts; below MINIMUM they would matter, and there is no figure.
"""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.model import Scalar

MINIMUM = 200
"""Segments that a receiver must have sent: a control connection's ten are then 5 % at most."""

BOTH_SEND = 0.5
"""Share of the sender's bytes from which on the other end's segments are data, not ACKs alone."""


def segments_per_ack(local: Mapping[str, Scalar], remote: Mapping[str, Scalar]) -> float | None:
    """Segments for each ACK, from the differenced figures of both ends (without `local_`).

    The sender is the end that sent more bytes, whatever the tool's direction. None when TCP is
    not what carried the data (more UDP datagrams than segments, or next to no segments), and when
    both ends sent data.
    """
    sender, receiver = sorted((local, remote), key=_sent, reverse=True)
    segments, acks = _count(sender, "tcp_out_segs"), _count(receiver, "tcp_out_segs")
    if acks < MINIMUM or _count(sender, "udp_out_datagrams") > segments:
        return None
    if _count(receiver, "tx_bytes") > BOTH_SEND * _count(sender, "tx_bytes") > 0:
        return None
    return segments / acks


def figures(both: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """`segments_per_ack` from a run's figures (`local_tcp_out_segs` …), or nothing."""
    local, remote = (
        {name.removeprefix(end): value for name, value in both.items() if name.startswith(end)}
        for end in ("local_", "remote_")
    )
    ratio = segments_per_ack(local, remote)
    return {} if ratio is None else {"segments_per_ack": ratio}


def _sent(end: Mapping[str, Scalar]) -> tuple[float, float]:
    return _count(end, "tx_bytes"), _count(end, "tcp_out_segs")


def _count(end: Mapping[str, Scalar], name: str) -> float:
    return float(end.get(name) or 0)
