"""A packet trace to one frame of TCP packets: tcpdump's text, of 2005 or of today, or a capture.

Times become seconds since the first packet, and sequence numbers relative to the connection's
first byte, as tcpdump prints them, whatever the trace was: text and capture of the same packets
give the same frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlimits.analysis.packets import pcap, tcpdump
from netlimits.analysis.packets.pcap import Packet
from netlimits.errors import DataError

CONTROL_PORT = 12865
"""Where netperf's control connection listens."""

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
"""Numbers of one connection further apart than this (bytes) are of two ways of counting."""


def trace(
    source: str | Path | bytes, *, control_port: int | None = CONTROL_PORT, mss: int | None = None
) -> pd.DataFrame:
    """The TCP packets of a trace in their order, one row each.

    `source` is a file (text of tcpdump, pcap or pcapng), the bytes of one, or, when it holds a
    line break, tcpdump's text itself, taken with `-n` and any of its clocks. `-ttt` and
    `-ttttt` look alike: times that never fall are taken as elapsed time. Connections to or
    from `control_port` are left out; None keeps all.

    With `mss`, a captured packet longer than it (segmentation offload hands the NIC up to
    64 KiB at once) becomes the segments that it was on the wire, at the same time.

    Columns: `time_s` since the first packet; `connection` (from 1, by first packet); `source`,
    `source_port`, `destination`, `destination_port`; `flags` as tcpdump prints them today;
    `kind`: `segment` (carries data), `control` (SYN, FIN, RST), `ack` (nothing but that);
    `seq_start`, `seq_end` (missing where not printed), `length_bytes`, `ack`.
    Numbers count from the connection's first byte, or as printed where its start is not in it.
    Raises DataError naming file and line of what is no packet.
    """
    data, name = _read(source)
    if pcap.is_capture(data):
        packets = list(pcap.packets(data, name))
    else:
        packets = list(tcpdump.packets(data.decode("utf-8", errors="replace"), name))
    if control_port is not None:
        packets = [p for p in packets if control_port not in (p.source_port, p.destination_port)]
    if not packets:
        raise DataError(f"{name}: holds no TCP packet of a data connection")
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
    """Rows of COLUMNS: time since the first packet, connections numbered, numbers relative."""
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
    """How one direction's numbers count: from `base`, the SYN's or, without one, the first seen.

    A capture's are absolute. Text prints a connection's first packet and its SYNs absolute and
    all else relative, unless taken with -S: the first number after `base` decides, being NEAR
    it, rather than 0, or not. Text that starts with small numbers is an excerpt, and stays as
    printed.
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
        """The number from `base` on, past 2³² where the connection has gone on for so long."""
        if decide and self.absolute is None and number == self.base and not is_ack:
            # data never has its SYN's own number: a base this small is met by a relative one
            self.absolute = False if self.after_syn else None
        if decide and self.absolute is None and number != self.base:
            ahead = (number - self.base) % 2**32
            self.absolute = ahead == 1 or (ahead < NEAR <= number)
        counted = number if decide and self.absolute is False else number - self.base
        self.last += (counted - self.last + 2**31) % 2**32 - 2**31
        return self.last


def _cut(row: tuple[object, ...], mss: int) -> Iterator[tuple[object, ...]]:
    """The row as segments of at most `mss` bytes."""
    *head, kind, start, _, length, ack = row
    assert isinstance(length, int)
    if mss < 1:
        raise DataError(f"an MSS is at least 1 byte, not {mss}")
    for offset in range(0, max(length, 1), mss):
        part = min(mss, length - offset)
        low = start + offset if isinstance(start, int) else None
        yield (*head, kind, low, None if low is None else low + part, part, ack)
