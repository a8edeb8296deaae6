"""Figures of an end from the samples during a run: its connections, and the tool's processes.

A connection's counters are differences between its first sample and its last sample. What it did
before the first sample is left out: counted from the start, two equal runs were 73 and 100 % busy.
`ss` omits a counter if it is 0, or if the kernel does not report it. So a counter is unknown on a
host if no connection shows it. If some connections show it, it is 0 for the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from netlimits.evidence.sample import resources
from netlimits.evidence.sample.command import command
from netlimits.evidence.sample.snapshots import Connection, Snapshot, parse_snapshots
from netlimits.model import Completed, Scalar

__all__ = ["command", "figures"]

_PROCESS = re.compile(
    r"([0-9]+|-)\s+[0-9]+\s+[0-9]+\s+([0-9]{1,9})\s+(?:([0-9]{1,6}(?:\.[0-9]{1,2})?)\s+)?\S.*"
)
"""A line of `ps` with the columns netns, pid, ppid, nlwp, pcpu and comm; pcpu may be missing."""

_LIMITED = frozenset({"rwnd_limited", "sndbuf_limited"})
_SENDERS_COUNTS = {"retransmitted": "retrans_segs", "reord_seen": "reordering_seen"}
_RECEIVERS_COUNTS = {"socket_drops": "socket_drops"}
_SENDERS_MEANS = {
    "snd_wnd_bytes": "snd_wnd",
    "notsent_bytes": "notsent",
    "sndbuf_used_pct": "sndbuf_used_pct",
    "sndbuf_bytes": "sndbuf",
}
_RECEIVERS_MEANS = {
    "recv_q_bytes": "recv_q",
    "rcvbuf_used_pct": "rcvbuf_used_pct",
    "rcvbuf_bytes": "rcvbuf",
    "rcv_space_bytes": "rcv_space",
    "rcv_ssthresh_bytes": "rcv_ssthresh",
}
"""Figure -> field of a `Connection`, as in _SENDERS_MEANS. _SENDERS_COUNTS and _RECEIVERS_COUNTS
are the reverse: field -> figure."""
LATE_SNAPSHOTS = 4
"""Minimum number of samples with data for `late_data_pct`."""
STEADY = 8
"""Minimum number of samples with the same pacing rate to assume that a program set it."""
_COUNTED = _LIMITED | _SENDERS_COUNTS.keys() | _RECEIVERS_COUNTS.keys()
_COUNTED |= {"busy", "bytes_received", "data_segs_in", "segs_out"}
"""Counters that grow while a connection lives."""


def figures(samples: Sequence[Completed]) -> dict[str, Scalar]:
    """Return the figures from the samples of an end's hosts; unknown figures are left out."""
    values: dict[str, Scalar] = {}
    rows = [row for sample in samples for row in _processes(sample.stdout)]
    if rows:
        values["processes"] = len(rows)
        values["threads"] = sum(int(row[2]) for row in rows)
        used = sum(float(row[3] or 0) for row in rows)
        if used and all(row[3] for row in rows):  # 0: the process that did the work had ended
            values["process_cpu_pct"] = used
    values |= resources.figures(samples)
    values |= resources.other_programs(samples)
    of_data = ([s for s in parse_snapshots(sample) if s.connections and not s.one_stack]
               for sample in samples)  # fmt: skip
    hosts = [seen for seen in of_data if seen]
    if not hosts:
        return values
    values["connections"] = sum(max(len(s.connections) for s in seen) for seen in hosts)
    values |= _sending(hosts) | _late(hosts)
    grown = [pair for seen in hosts for pair in _grown(seen)]
    sending = [(c, s) for c, s in grown if c.sends]
    values |= _limited(sending)
    values |= _counted([c for c, _ in sending], _SENDERS_COUNTS)
    receiving = [c for c, _ in grown if c.receives]
    values |= _counted(receiving, _RECEIVERS_COUNTS)
    every = [c for seen in hosts for s in seen for c in s.connections if c.receives]
    values |= _means(every, _RECEIVERS_MEANS)
    acks = sum(c.value("segs_out") for c in receiving)
    if acks and all("data_segs_in" in c.fields for c in receiving):
        values["sampled_segments_per_ack"] = sum(c.value("data_segs_in") for c in receiving) / acks
    return values


def _grown(seen: Sequence[Snapshot]) -> list[tuple[Connection, float]]:
    """Return (growth, seconds) of each connection between its first and its last sample."""
    counters = {name for snapshot in seen for c in snapshot.connections for name in c.fields}
    counters |= _LIMITED if "busy" in counters else frozenset()
    first: dict[tuple[str, str], tuple[float, Connection]] = {}
    last: dict[tuple[str, str], tuple[float, Connection]] = {}
    for snapshot in seen:
        if snapshot.at is not None:
            for connection in snapshot.connections:
                first.setdefault(connection.ends, (snapshot.at, connection))
                last[connection.ends] = (snapshot.at, connection)
    pairs = []
    for ends, (since, early) in first.items():
        until, late = last[ends]
        if until > since:
            growth = {name: late.value(name) - early.value(name) for name in _COUNTED & counters}
            fields = {name: max(0.0, value) for name, value in growth.items()}
            fields["bytes_sent"] = max(0.0, late.sent - early.sent)
            pairs.append((Connection(*ends, fields), until - since))
    return pairs


def _limited(sending: Sequence[tuple[Connection, float]]) -> dict[str, Scalar]:
    if not sending or any("busy" not in c.fields for c, _ in sending):
        return {}
    busy = sum(c.value("busy") for c, _ in sending)
    shares = [min(100.0, c.value("busy") / 10 / seconds) for c, seconds in sending]
    percentages: dict[str, Scalar] = {"busy_pct": sum(shares) / len(shares)}
    if busy:
        for name in sorted(_LIMITED):
            share = 100 * sum(c.value(name) for c, _ in sending) / busy
            percentages[f"{name}_pct"] = min(100.0, share)
    return percentages


def _counted(connections: Sequence[Connection], names: Mapping[str, str]) -> dict[str, Scalar]:
    return {
        figure: sum(c.value(name) for c in connections)
        for name, figure in names.items()
        if connections and all(name in c.fields for c in connections)
    }


def _means(connections: Sequence[Connection], names: Mapping[str, str]) -> dict[str, Scalar]:
    known = {
        figure: [c.fields[name] for c in connections if name in c.fields]
        for figure, name in names.items()
    }
    return {figure: sum(values) / len(values) for figure, values in known.items() if values}


def _sending(hosts: Sequence[Sequence[Snapshot]]) -> dict[str, Scalar]:
    sending = [
        [[c for c in snapshot.connections if c.sends] for snapshot in seen] for seen in hosts
    ]
    moments = [with_data for seen in sending if (with_data := list(filter(None, seen)))]
    every = [c for seen in moments for snapshot in seen for c in snapshot]
    if not every:
        return {}

    def mean(name: str) -> float | None:
        fields = [value for c in every if (value := c.value(name))]
        return sum(fields) / len(fields) if fields else None

    def total(name: str) -> float | None:
        """Add up the connections of a sample, take the mean of a host's samples, add up the hosts.

        Samples in which a connection lacks the field do not count.
        """
        sums = [
            [
                sum(c.value(name) for c in snapshot)
                for snapshot in seen
                if all(c.value(name) for c in snapshot)
            ]
            for seen in moments
        ]
        return sum(sum(of_host) / len(of_host) for of_host in sums) if all(sums) else None

    reported = all(
        any(c.reports_app_limited for snapshot in seen for c in snapshot) for seen in moments
    )
    # the kernel reports an unknown rate, window or time as 0
    values = {
        "cwnd_segs": mean("cwnd"),
        "mss_bytes": mean("mss"),
        "rtt_us": _times(1000, mean("rtt")),
        "min_rtt_us": _times(1000, mean("minrtt")),
        "pacing_rate_mbps": _times(1e-6, total("pacing_rate")),
        "delivery_rate_mbps": _times(1e-6, total("delivery_rate")),
        "app_limited_pct": 100 * sum(c.app_limited for c in every) / len(every)
        if reported
        else None,
    }
    known: dict[str, Scalar] = {n: value for n, value in values.items() if value is not None}
    return known | _means(every, _SENDERS_MEANS) | _own_pace(every)


def _own_pace(every: Sequence[Connection]) -> dict[str, Scalar]:
    """Return `own_pace_pct`, the share of samples in which the congestion control sets the pace.

    If a pace did not change in STEADY or more samples, the program has set it.
    """
    paces: dict[tuple[str, str], list[float]] = {}
    for connection in every:
        paces.setdefault(connection.ends, []).append(connection.value("pacing_rate"))
    fixed = {
        ends
        for ends, each in paces.items()
        if len(each) >= STEADY and len({*each}) == 1 and each[0]
    }
    own = [
        c.fields["sets_its_pace"] if c.ends not in fixed else 0.0
        for c in every
        if "sets_its_pace" in c.fields
    ]
    return {"own_pace_pct": 100 * sum(own) / len(own)} if own else {}


def _late(hosts: Sequence[Sequence[Snapshot]]) -> dict[str, Scalar]:
    """Return `late_data_pct`: the share of data that was sent in the second half of the time."""
    early, late = 0.0, 0.0
    for seen in hosts:
        sums: dict[float, float] = {}
        for snapshot in seen:
            if snapshot.at is not None:
                sums[snapshot.at] = sum(
                    c.value("bytes_acked") or c.sent for c in snapshot.connections
                )
        times = [at for at in sums if sums[at]]
        if len(times) < LATE_SNAPSHOTS:
            return {}
        first, last = seen[0].at or times[0], times[-1]
        middle = min(times, key=lambda at: abs(at - (first + last) / 2))
        early += sums[middle]
        late += sums[last] - sums[middle]
    return {"late_data_pct": 100 * max(0.0, late) / (early + late)} if early + late else {}


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _processes(stdout: str) -> list[re.Match[str]]:
    """Return the rows of processes in this network namespace.

    If there are none, return the rows of processes whose namespace is unknown.
    """
    first, *lines = stdout.splitlines() or [""]
    if not first.startswith("namespace "):
        return []
    here = re.sub(r"\D", "", first)
    rows = [row for line in lines if (row := _PROCESS.fullmatch(line.strip()))]
    return [row for row in rows if row[1] == here] or [row for row in rows if row[1] == "-"]
