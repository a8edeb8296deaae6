"""Convert a host's samples to rows over time.

A row has the rates over the interval before a sample, and the values at the sample.

A value that the host does not report is left out of the row, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from netlimits.evidence.cpu import HZ, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL
from netlimits.evidence.sample.snapshots import Connection, Snapshot, parse_snapshots
from netlimits.evidence.sample.transfer import Reading, readings
from netlimits.model import Completed

Row = dict[str, float]

KINDS = {
    "cpu_user_pct": (0, 1),
    "cpu_system_pct": (2,),
    "cpu_irq_pct": (IRQ,),
    "cpu_softirq_pct": (SOFTIRQ,),
    "cpu_steal_pct": (STEAL,),
}
"""Kind of CPU time -> its columns of /proc/stat."""

_SENDING_MEANS = {
    "cwnd_segs": ("cwnd", 1.0),
    "ssthresh_segs": ("ssthresh", 1.0),
    "in_flight_segs": ("unacked", 1.0),
    "rtt_us": ("rtt", 1e3),
    "min_rtt_us": ("minrtt", 1e3),
    "snd_wnd_bytes": ("snd_wnd", 1.0),
    "sndbuf_used_pct": ("sndbuf_used_pct", 1.0),
}
_SENDING_SUMS = {
    "pacing_rate_mbps": ("pacing_rate", 1e-6),
    "delivery_rate_mbps": ("delivery_rate", 1e-6),
    "notsent_bytes": ("notsent", 1.0),
}
_RECEIVING_MEANS = {
    "rcvbuf_used_pct": ("rcvbuf_used_pct", 1.0),
    "rcv_space_bytes": ("rcv_space", 1.0),
    "rcv_ssthresh_bytes": ("rcv_ssthresh", 1.0),
}
_RECEIVING_SUMS = {"recv_q_bytes": ("recv_q", 1.0)}
"""Column -> (field of a connection, factor to multiply it by). The tables above have this form too.
"""

_LIMITED = {
    "busy_pct": "busy",
    "rwnd_limited_pct": "rwnd_limited",
    "sndbuf_limited_pct": "sndbuf_limited",
}
_GROWN = {
    "retrans_segs": "retransmitted",
    "ce_marked_segs": "delivered_ce",
    "reordering_seen": "reord_seen",
}

_LOOK = re.compile(r"^look [0-9]{9,12}\.[0-9]{9}$", re.MULTILINE)
_QUEUE = re.compile(r"^queue ([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) [0-9]{1,10} ([0-9]{1,10})$",
                    re.MULTILINE)  # fmt: skip
_THREAD = re.compile(r"^thread ([0-9]{1,9}) ([0-9]{1,18}) [0-9]{1,18}$", re.MULTILINE)
_MHZ = re.compile(r"^mhz ([0-9 ]{1,20000})$", re.MULTILINE)
_UDP = re.compile(r"^/proc/net/snmp:Udp: ((?:[0-9]{1,20} ?){5,12})$", re.MULTILINE)

_BITS = 32
"""Number of bits of a qdisc's counters; a larger count wraps."""

SHORTEST = 0.02
"""Minimum seconds of an interval. On a busy host, a sample may come right after a late sample; it
is skipped."""


def series(completed: Completed) -> list[Row]:
    """Return a row for each sample, except the first and those within SHORTEST of the last row.

    Return no rows if samples lack times, or if the host has both ends of a connection.
    """
    seen = parse_snapshots(completed)
    if any(snapshot.at is None or snapshot.one_stack for snapshot in seen):
        return []
    texts = _LOOK.split(completed.stdout)[1:]
    read = readings(completed)
    if not seen or not len(seen) == len(texts) == len(read):
        return []
    rows = []
    before, *others = zip(seen, texts, read, strict=True)
    for after in others:
        seconds = (after[0].at or 0.0) - (before[0].at or 0.0)
        if seconds >= SHORTEST:
            row = {"at_s": after[0].at or 0.0, "interval_s": seconds}
            row |= _carried(before[0], after[0], seconds)
            row |= _momentary(after[0].connections)
            row |= _host(before[1:], after[1:], seconds)
            rows.append(row)
            before = after
    return rows


def _carried(before: Snapshot, after: Snapshot, seconds: float) -> Row:
    then = {c.ends: c for c in before.connections}
    now = {c.ends: c for c in after.connections}
    row: Row = {"connections": float(len(now))}
    if not now or then.keys() - now.keys():
        return row
    pairs = [(then.get(ends, Connection(*ends)), c) for ends, c in now.items()]

    def grown(name: str, of: Sequence[tuple[Connection, Connection]]) -> float:
        return sum(max(0.0, b.value(name) - a.value(name)) for a, b in of)

    if arriving := [pair for pair in pairs if pair[1].receives]:
        row["throughput_mbps"] = grown("bytes_received", arriving) * 8e-6 / seconds
        if all("socket_drops" in b.fields for _, b in arriving):
            row["socket_drops"] = grown("socket_drops", arriving)
    leaving = [pair for pair in pairs if pair[1].sends]
    if not leaving:
        return row
    sent = sum(max(0.0, b.sent - a.sent) for a, b in leaving)
    row["sent_mbps"] = sent * 8e-6 / seconds
    row |= {column: grown(name, leaving) for column, name in _GROWN.items()}
    old = [pair for pair in leaving if pair[0].fields]
    if old and any("busy" in b.fields for _, b in old):
        for column, name in _LIMITED.items():
            row[column] = min(100.0, grown(name, old) / 10 / seconds / len(old))
    if any(b.reports_app_limited for _, b in leaving):
        row["app_limited_pct"] = 100 * sum(b.app_limited for _, b in leaving) / len(leaving)
    return row


def _momentary(connections: Sequence[Connection]) -> Row:
    leaving = [c for c in connections if c.sends]
    arriving = [c for c in connections if c.receives]
    row: Row = {}
    for of, means, sums in (
        (leaving, _SENDING_MEANS, _SENDING_SUMS),
        (arriving, _RECEIVING_MEANS, _RECEIVING_SUMS),
    ):
        for column, (name, factor) in {**means, **sums}.items():
            values = [c.fields[name] for c in of if name in c.fields]
            if values:
                row[column] = factor * sum(values) / (1 if column in sums else len(values))
    return row


def _host(
    before: tuple[str, Reading | None], after: tuple[str, Reading | None], seconds: float
) -> Row:
    row: Row = {}
    (early, then), (late, now) = before, after
    if then and now and now.times.uptime_s > then.times.uptime_s:
        row |= _cpus(then, now)
    if queue := _QUEUE.search(late):
        row |= {"qdisc_packets": float(queue[1]), "qdisc_bytes": float(queue[2])}
        if first := _QUEUE.search(early):
            for column, at in (("qdisc_drops", 3), ("qdisc_overlimits", 4)):
                row[column] = float((int(queue[at]) - int(first[at])) % 2**_BITS)
    if ran := list(_threads(early, late)):
        row["thread_cpu_pct"] = min(100.0, max(ran) / 1e7 / seconds)
        row["process_cpu_pct"] = sum(ran) / 1e7 / seconds
    if clocks := [float(mhz) for line in _MHZ.findall(late) for mhz in line.split()]:
        row["cpu_mhz"] = sum(clocks) / len(clocks)
    first_udp, last_udp = _UDP.search(early), _UDP.search(late)
    if first_udp and last_udp:
        grown = [int(b) - int(a) for a, b in zip(first_udp[1].split(), last_udp[1].split(),
                                                 strict=False)]  # fmt: skip
        row["udp_in_pps"] = max(0, grown[0]) / seconds
        row["udp_rcvbuf_errors"] = float(max(0, grown[4]))
    return row


def _threads(early: str, late: str) -> Iterator[int]:
    then: Mapping[str, str] = dict(_THREAD.findall(early))
    for thread, ran in _THREAD.findall(late):
        if thread in then:
            yield max(0, int(ran) - int(then[thread]))


def _cpus(then: Reading, now: Reading) -> Row:
    seconds = now.at - then.at
    row: Row = {}
    if now.bytes >= then.bytes:
        row["interface_mbps"] = (now.bytes - then.bytes) * 8e-6 / seconds
    if now.times.cpus != then.times.cpus:
        return row
    grown = [
        [max(0, b - a) for a, b in zip(*pair, strict=True)]
        for pair in zip(then.times.ticks, now.times.ticks, strict=True)
    ]
    busy = [max(0.0, 1 - (g[IDLE] + g[IOWAIT]) / HZ / seconds) for g in grown]
    row["cpu_pct"] = 100 * sum(busy) / len(busy)
    row["cpu_peak_pct"] = 100 * max(busy)
    for column, places in KINDS.items():
        ticks = sum(g[at] for g in grown for at in places)
        row[column] = 100 * ticks / HZ / seconds / len(grown)
    return row
