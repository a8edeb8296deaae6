"""Read a packet trace as a frame of TCP packets: tcpdump's text, of 2005 or today, or a capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlimits.analysis.packets import pcap, tcpdump
from netlimits.analysis.packets.pcap import Packet
from netlimits.errors import DataError

CONTROL_PORT = 12865
"""Port of netperf's control connection."""

COLUMNS = {
    "time_s": "float64",
    "connection": "int64",
    "source": "str",
    "source_port": "int64",
    "destination": "str",
    "destination_port": "int64",
    "flags": "str",
    "kind": "str",
    "seq_start": "Int64",
    "seq_end": "Int64",
    "length_bytes": "int64",
    "ack": "Int64",
}

NEAR = 1 << 24
"""Bytes within which a sequence number must follow another to count as of the same kind.

The kinds are absolute numbers and relative numbers, which begin near 0.
"""


def trace(
    source: str | Path | bytes, *, control_port: int | None = CONTROL_PORT, mss: int | None = None
) -> pd.DataFrame:
    """Read the TCP packets of a trace, in order.

    Args:
        source: A file (tcpdump's text, pcap or pcapng), its bytes, or, if it contains a line break,
            tcpdump's text itself, taken with `-n` and any of its clocks. `-ttt` and `-ttttt` print
            the same format: times that never fall are taken as `-ttttt`, since the first packet.
        control_port: Connections to or from this port are left out; None keeps all.
        mss: A captured packet longer than this (segmentation offload hands the NIC up to 64 KiB at
            once) is split into the segments of the wire, at the same time.

    Returns:
        A row for each packet: `time_s` since the first packet; `connection` (from 1, by first
        packet); `source`, `source_port`, `destination`, `destination_port`; `flags` as today's
        tcpdump prints them; `kind`: `segment` (has data), `control` (SYN, FIN, RST) or `ack`
        (nothing else); `seq_start`, `seq_end` (missing if not printed), `length_bytes` and `ack`.
        Numbers count from the connection's first byte, or as printed if its start is missing.

    Raises:
        DataError: A line or packet cannot be read; the message names file and line.
    """
    data, name = _read(source)
    if pcap.is_capture(data):
        packets = list(pcap.packets(data, name))
    else:
        packets = list(tcpdump.packets(data.decode("utf-8", errors="replace"), name))
    if control_port is not None:
        packets = [p for p in packets if control_port not in (p.source_port, p.destination_port)]
    if not packets:
        raise DataError(f"{name}: contains no TCP packet of a data connection")
    rows = _rows(packets, text=not pcap.is_capture(data))
    if mss is not None:
        rows = [part for row in rows for part in _cut(row, mss)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    frame.attrs["trace"] = name
    return frame


def _read(source: str | Path | bytes) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, "trace"
    if isinstance(source, str) and "\n" in source:
        return source.encode(), "trace"
    try:
        return Path(source).read_bytes(), str(source)
    except OSError as error:
        raise DataError(f"{source}: cannot be read: {error.strerror or error}") from error


def _rows(packets: Sequence[Packet], text: bool) -> list[tuple[object, ...]]:
    """Return rows of COLUMNS, with times since the first packet and relative numbers."""
    first = min(p.time_ns for p in packets)
    names: dict[frozenset[End], int] = {}
    counts: dict[tuple[End, End], _Count] = {}
    rows: list[tuple[object, ...]] = []
    for p in packets:
        a, b = (p.source, p.source_port), (p.destination, p.destination_port)
        connection = names.setdefault(frozenset((a, b)), len(names) + 1)
        syn = "S" in p.flags
        seq = ack = None
        if p.seq >= 0:
            if syn or (a, b) not in counts:
                counts[a, b] = _Count.starting(p.seq, text, syn)
            seq = counts[a, b].relative(p.seq, decide=not syn)
        if p.ack is not None:
            if (b, a) not in counts:
                counts[b, a] = _Count.starting(p.ack - 1, text, syn)
            ack = counts[b, a].relative(p.ack - 1, decide=not syn, is_ack=True) + 1
        kind = "segment" if p.length else "control" if set("SFR") & set(p.flags) else "ack"
        end = None if seq is None else seq + p.length
        time_s = (p.time_ns - first) / 1e9
        rows.append((time_s, connection, *a, *b, p.flags, kind, seq, end, p.length, ack))
    return rows


End = tuple[str, int]


@dataclass(slots=True)
class _Count:
    """Convert one direction's sequence numbers to numbers relative to `base`.

    A capture's numbers are absolute. tcpdump's text has absolute numbers in a connection's first
    packet and in SYNs, and relative numbers elsewhere. With -S all its numbers are absolute. The
    first number other than `base` decides. It is absolute if it is `base` + 1, or if it is less
    than NEAR above `base` and itself NEAR or more. If a text's first number is below NEAR and not
    that of a SYN, the text is an excerpt: its numbers stay unchanged.
    """

    base: int
    absolute: bool | None
    last: int = 0
    after_syn: bool = False

    @classmethod
    def starting(cls, number: int, text: bool, syn: bool) -> _Count:
        if text and not syn and number < NEAR:
            return cls(0, True, number)
        return cls(number, None if text else True, after_syn=syn)

    def relative(self, number: int, decide: bool, is_ack: bool = False) -> int:
        """Return the number relative to `base`; on a long connection it exceeds 2³²."""
        if decide and self.absolute is None and number == self.base and not is_ack:
            # data cannot have the number of its SYN, so the same number must be relative
            self.absolute = False if self.after_syn else None
        if decide and self.absolute is None and number != self.base:
            ahead = (number - self.base) % 2**32
            self.absolute = ahead == 1 or (ahead < NEAR <= number)
        counted = number if decide and self.absolute is False else number - self.base
        self.last += (counted - self.last + 2**31) % 2**32 - 2**31
        return self.last


def _cut(row: tuple[object, ...], mss: int) -> Iterator[tuple[object, ...]]:
    """Yield the row as segments of at most `mss` bytes."""
    *head, kind, start, _, length, ack = row
    assert isinstance(length, int)
    if mss < 1:
        raise DataError(f"mss: it must be at least 1 byte, not {mss}")
    for offset in range(0, max(length, 1), mss):
        part = min(mss, length - offset)
        low = start + offset if isinstance(start, int) else None
        yield (*head, kind, low, None if low is None else low + part, part, ack)
