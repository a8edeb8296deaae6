"""Bytes that arrived at the receiving hosts while all streams ran, by the kernels' counters.

A retransmission that fills a gap delivers bytes that arrived earlier. So one second showed
21.5 Mbit/s behind a link of 20 Mbit/s. Therefore the bytes of an interval are counted at the
interface. The smallest possible headers are subtracted, and the rest is scaled down to the total of
the streams.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlimits.evidence.sample.snapshots import Snapshot

FRAME, IPV6 = 34, 20
"""Bytes of Ethernet and IPv4 headers that an interface counts per packet; extra bytes of IPv6."""

TCP, TIMESTAMPS, UDP = 20, 12, 8
"""Bytes of the TCP header, of the TCP timestamps option, and of the UDP header."""

ACTIVE = 0.1
"""An interval belongs to the transfer if its rate is at least this share of the usual rate."""

LEAST_INTERVALS = 3
"""Intervals in which the transfer begins or ends are left out if there are at least this many."""

Row = dict[str, float]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The data that arrived while all streams ran; `rows` are interim results per stream."""

    rate_mbps: float
    seconds: float
    rows: tuple[Row, ...]

    @property
    def begin(self) -> float:
        return min(row["ending_s"] - row["interval_s"] for row in self.rows)

    @property
    def stop(self) -> float:
        return max(row["ending_s"] for row in self.rows)

    def within(self, begin: float, stop: float) -> float:
        """Return the rate in Mbit/s between two times of the host's clock."""
        part = sum(
            row["throughput_mbps"]
            * max(0.0, min(stop, row["ending_s"]) - max(begin, row["ending_s"] - row["interval_s"]))
            for row in self.rows
        )
        return part / (stop - begin)


def tcp(
    seen: Sequence[Snapshot], streams: int, *, ipv6: bool = False, skip: float = 0.0
) -> Arrivals | None:
    """Return the arrivals over TCP after `skip` seconds; None unless `streams` connections ran."""
    received = [
        {
            c.ends: c.value("bytes_received")
            for c in snapshot.connections
            if c.value("bytes_received")
        }
        for snapshot in seen
    ]
    moved = [snapshot.counters.get("rx_bytes") for snapshot in seen]
    between = shared(seen, received, streams, skip=skip, moved=moved)
    if between is None:
        return None
    begin, stop = between
    ends = received[begin]
    sums = [[snapshot.get(name) for name in ends] for snapshot in received]
    complete = [
        (snapshot, [value for value in row if value is not None])
        for snapshot, row in zip(seen[begin : stop + 1], sums[begin : stop + 1], strict=True)
    ]
    # drop samples that lack a stream, because its bytes are unknown there
    complete = [(snapshot, row) for snapshot, row in complete if len(row) == streams]
    window = [snapshot for snapshot, _ in complete]
    data = [
        [late - early for early, late in zip(*pair, strict=True)]
        for pair in itertools.pairwise(row for _, row in complete)
    ]
    stamped = all(c.timestamps is not False for snapshot in window for c in snapshot.connections)
    header = FRAME + IPV6 * ipv6 + TCP + TIMESTAMPS * stamped
    return _arrivals(window, data, header)


def shared(
    seen: Sequence[Snapshot],
    sums: Sequence[Mapping[tuple[str, str], float]],
    streams: int,
    *,
    skip: float = 0.0,
    moved: Sequence[float | None] = (),
) -> tuple[int, int] | None:
    """Return the indexes of the first and last sample between which all streams carried data.

    `sums` has for each sample the bytes that each connection has carried so far, if any.
    `moved` has the bytes of the interface. The last interval is left out if a stream may have ended
    within it. Return None unless exactly `streams` connections carried data.
    """
    ends = dict.fromkeys(name for snapshot in sums for name in snapshot)
    if not ends or len(ends) != streams:
        return None
    begins, stops = [], []
    for name in ends:
        places = [at for at, snapshot in enumerate(sums) if name in snapshot]
        growing = [b for a, b in itertools.pairwise(places) if sums[b][name] > sums[a][name]]
        begins.append(places[0])
        stops.append(max(growing, default=-1))
    begin, stop = max(begins), min(stops)
    if stop - begin >= LEAST_INTERVALS and stop + 1 < len(seen):
        stop -= not (stop == max(stops) and _flows(moved, begin, stop))
    start = seen[min(begins)].at
    while start is not None and begin < stop and (seen[begin].at or 0.0) < start + skip:
        begin += 1
    return (begin, stop) if begin < stop and len(sums[begin]) == streams else None


def _flows(moved: Sequence[float | None], begin: int, stop: int) -> bool:
    """Return True if the interval after `stop` has ACTIVE of the mean bytes since `begin`."""
    if not moved or None in moved[begin : stop + 2]:
        return False
    before, here, after = (moved[at] or 0 for at in (begin, stop, stop + 1))
    return after - here >= ACTIVE * (here - before) / (stop - begin)


def udp(seen: Sequence[Snapshot], size: float, *, ipv6: bool = False) -> Arrivals | None:
    """Return the arrivals in datagrams of `size` bytes; None if under 3 intervals have data."""
    taken = [snapshot.counters.get("udp_in") for snapshot in seen]
    if None in taken:
        return None
    grown = [float(b or 0) - float(a or 0) for a, b in itertools.pairwise(taken)]
    most = max(grown, default=0.0)
    busy = [at for at, count in enumerate(grown) if count > most / 100]
    if len(busy) < 3:
        return None
    begin, stop = busy[0] + 1, busy[-1]
    data = [[count * size] for count in grown[begin:stop]]
    once = [UDP * count for count in grown[begin:stop]]
    return _arrivals(seen[begin : stop + 1], data, FRAME + IPV6 * ipv6, once)


def together(parts: Sequence[Arrivals | None]) -> Arrivals | None:
    """Return the sum of several hosts' arrivals over the time that all of them share.

    If the hosts' clocks differ too much, all hosts are assumed to begin at the same time. Return
    None if the arrivals of a host are unknown, or take much less time than those of other hosts.
    """
    shares = [part for part in parts if part is not None]
    if not shares or len(shares) < len(parts):
        return None
    if len(shares) == 1:
        return shares[0]
    longest = max(part.seconds for part in shares)
    begin, stop = max(part.begin for part in shares), min(part.stop for part in shares)
    shifts = [0.0] * len(shares)
    if stop - begin < longest / 2:
        begin, stop = shares[0].begin, shares[0].begin + min(part.seconds for part in shares)
        shifts = [begin - part.begin for part in shares]
    if stop - begin < longest / 2:
        return None
    rate, stream = 0.0, 0.0
    rows: list[Row] = []
    for part, shift in zip(shares, shifts, strict=True):
        rate += part.within(begin - shift, stop - shift)
        rows += [
            {**row, "stream": row["stream"] + stream, "ending_s": row["ending_s"] + shift}
            for row in part.rows
        ]
        stream = max(row["stream"] for row in rows)
    return Arrivals(rate, stop - begin, tuple(rows))


def _arrivals(
    window: Sequence[Snapshot],
    data: Sequence[Sequence[float]],
    header: int,
    once: Sequence[float] = (),
) -> Arrivals | None:
    """Return the arrivals of streams whose bytes in each interval are `data`.

    Headers take `header` bytes of each packet, and another `once` bytes of each interval.
    """
    times = [snapshot.time for snapshot in window]
    if len(window) < 2 or None in times or not any(map(any, data)):
        return None
    ends = [float(at or 0) for at in times]
    if any(b <= a for a, b in itertools.pairwise(ends)):
        return None
    totals = [sum(row) for row in data]
    carried = list(_carried(window, header, once or [0.0] * len(data), totals))
    share = min(1.0, sum(totals) / sum(carried)) if sum(carried) else 1.0
    # use the longest possible duration: a clock that is read late must not raise the rate
    longest = max(ends[-1], window[-1].read or 0.0) - min(ends[0], window[0].at or ends[0])
    share *= (ends[-1] - ends[0]) / longest
    rows = []
    for at, (row, total, most) in enumerate(zip(data, totals, carried, strict=True)):
        seconds = ends[at + 1] - ends[at]
        for stream, count in enumerate(row, 1):
            part = count / total if total else 1 / len(row)
            rate = most * share * part * 8 / 1e6 / seconds
            rows.append(
                {
                    "stream": float(stream),
                    "ending_s": ends[at + 1],
                    "interval_s": seconds,
                    "throughput_mbps": rate,
                }
            )
    seconds = ends[-1] - ends[0]
    return Arrivals(sum(carried) * share * 8 / 1e6 / seconds, seconds, tuple(rows))


def _carried(
    window: Sequence[Snapshot], header: int, once: Sequence[float], totals: Sequence[float]
) -> Iterator[float]:
    """Yield the bytes of user data that the interface received in each interval.

    If the interface's counters are unknown, yield the bytes of the streams.
    """
    for early, late, more, total in zip(window, window[1:], once, totals, strict=False):
        both = (early.counters, late.counters)
        if not all({"rx_bytes", "rx_packets"} <= counters.keys() for counters in both):
            yield total
            continue
        count, packets = (both[1][n] - both[0][n] for n in ("rx_bytes", "rx_packets"))
        yield max(0.0, count - header * packets - more)
