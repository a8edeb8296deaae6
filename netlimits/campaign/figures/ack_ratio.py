"""Segments per ACK of a run: the sender's OutSegs divided by the receiver's OutSegs.

The sender's OutSegs counts the segments on the wire, also with TSO. The receiver sends only ACKs,
so its OutSegs counts them. The receiver's InSegs cannot be used: it counts packets after GRO.
"""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.model import Scalar

MINIMUM = 200
"""Minimum segments from the receiver. A control connection sends about ten, at most 5 % of them."""

BOTH_SEND = 0.5
"""An end that sends more than this share of the other's bytes sends data, not only ACKs."""


_COUNTS = ("tx_bytes", "tcp_out_segs", "udp_out_datagrams")


def figures(both: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return `segments_per_ack` from a run's figures (`local_tcp_out_segs` …).

    The sender is the end that sent more bytes. Return {} if both ends sent data, or if a host lacks
    one of the counts. Also return {} if TCP did not carry the data: the sender sent more UDP
    datagrams than segments, or the receiver sent hardly any segments.
    """
    ends = [[both.get(f"{end}_{name}") for name in _COUNTS] for end in ("local", "remote")]
    if None in (*ends[0], *ends[1]):
        return {}
    receiver, sender = sorted([float(count or 0) for count in end] for end in ends)
    (few, acks, _), (many, segments, datagrams) = receiver, sender
    if acks < MINIMUM or datagrams > segments or few > BOTH_SEND * many:
        return {}
    return {"segments_per_ack": segments / acks}
