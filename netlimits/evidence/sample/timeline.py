"""A run's samples of both ends on the client's clock, in seconds since the first data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlimits.evidence.clocks import Offset
from netlimits.evidence.sample import one_clock
from netlimits.evidence.sample.changes import LevelChange, RateInterval, changes
from netlimits.evidence.sample.series import Row, series
from netlimits.evidence.sample.snapshots import Snapshot, parse_snapshots
from netlimits.model import Completed, Scalar

SAME = Offset(0.0, 0.0)

STARTED = 0.05
"""A run's datagrams flow while the interface has at least this share of its highest rate."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The rows that `series` returns for a host, with the timeline's `time_s` instead of `at_s`.

    `end` is "local" or "remote".
    """

    end: str
    role: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The rows of all hosts on one clock.

    `begin` is the time by the client's clock at which the timeline starts. `offsets` maps a role to
    the offset of the host's clock from the client's clock.
    """

    hosts: tuple[Sampled, ...]
    begin: float
    offsets: Mapping[str, Offset]

    @property
    def error_s(self) -> float:
        """The largest possible error of the hosts' times, in seconds."""
        return max((offset.bound_s for offset in self.offsets.values()), default=0.0)

    def receiving(self) -> Sampled | None:
        """Return the host at which most TCP data arrived; None if none arrived."""
        totals = [
            (sum(row.get("throughput_mbps", 0.0) * row["interval_s"] for row in host.rows), host)
            for host in self.hosts
        ]
        most, host = max(totals, key=lambda total: total[0], default=(0.0, None))
        return host if most else None


def on_one_clock(
    samples: Iterable[tuple[str, str, Completed]],
    known: Mapping[str, Offset],
    *,
    one_kernel: bool = False,
) -> Timeline | None:
    """Return a run's samples on the client's clock; None if they have no times.

    `samples` are (end, role, output) of each host, the client first. `known` are the offsets that
    the check before the campaign measured. For each host the most precise offset is used, which may
    be a known offset or one that is computed from the run's data.
    """
    given = [(end, role, completed) for end, role, completed in samples if completed.stdout]
    rows = {role: series(completed) for _, role, completed in given}
    if not any(rows.values()):
        return None
    seen = {role: parse_snapshots(completed) for _, role, completed in given}
    _, client, _ = given[0]
    if not rows[client]:
        return None
    begins = {role: _begin(seen[role], rows[role]) for role in seen if rows[role]}
    offsets = {client: SAME}
    for role in (role for role in begins if role != client):
        candidates = [begins[role].ahead_of(begins[client])]
        if client in known and role in known:
            candidates.append(known[role].ahead_of(known[client]))
        candidates += _by_bytes(seen[client], seen[role])
        best = min(candidates, key=lambda offset: offset.bound_s)
        offsets[role] = SAME if one_kernel else best
    begin = begins[client].offset_s
    hosts = tuple(
        Sampled(
            end,
            role,
            tuple(
                {
                    "time_s": row["at_s"] - offsets[role].offset_s - begin,
                    **{name: value for name, value in row.items() if name != "at_s"},
                }
                for row in rows[role]
            ),
        )
        for end, role, _ in given
        if role in offsets
    )
    return Timeline(hosts, begin, offsets)


def figures(of: Timeline, interim: Sequence[Mapping[str, Scalar]] = ()) -> dict[str, Scalar]:
    """Return the time and the ratio of the largest change of throughput; empty without a change."""
    every = throughput_changes(of, interim)
    if not every:
        return {}
    largest = max(every, key=lambda change: max(change.ratio, 1 / max(change.ratio, 1e-3)))
    return {"throughput_change_s": largest.at, "throughput_change_ratio": largest.ratio}


def throughput_changes(
    of: Timeline, interim: Sequence[Mapping[str, Scalar]] = ()
) -> list[LevelChange]:
    host = of.receiving()
    if host is not None:
        known = [row for row in host.rows if "throughput_mbps" in row]
        while known and not known[-1]["throughput_mbps"]:
            known.pop()
        while known and not known[0]["throughput_mbps"]:
            known.pop(0)
        return changes(
            [
                RateInterval(
                    row["time_s"] - row["interval_s"], row["time_s"], row["throughput_mbps"]
                )
                for row in known
            ]
        )
    return changes(list(_intervals(of, interim)))


def _intervals(of: Timeline, interim: Sequence[Mapping[str, Scalar]]) -> Iterable[RateInterval]:
    ahead = max((offset.offset_s for offset in of.offsets.values()), key=abs, default=0.0)
    sums: dict[float, tuple[float, float]] = {}
    for row in interim:
        rate, end, length = (row.get(n) for n in ("throughput_mbps", "ending_s", "interval_s"))
        if rate is None or not end or not length:
            return
        total, _ = sums.get(float(end), (0.0, 0.0))
        sums[float(end)] = total + float(rate), float(length)
    for end, (total, length) in sums.items():
        at = end - ahead - of.begin
        yield RateInterval(at - length, at, total)


def _by_bytes(client: Sequence[Snapshot], other: Sequence[Snapshot]) -> Iterator[Offset]:
    """Yield the other host's offset from the client, computed from the data of each direction."""
    if forth := one_clock.offset(client, other):
        yield forth
    if back := one_clock.offset(other, client):
        yield Offset(-back.offset_s, back.bound_s)


def _begin(seen: Sequence[Snapshot], rows: Sequence[Row]) -> Offset:
    """Return the epoch seconds of a host's first data, and their error, as an `Offset`."""
    interval = next((row for row in _with_data(seen, rows)), rows[0])
    since, until = interval["at_s"] - interval["interval_s"], interval["at_s"]
    return Offset(since, until - since)


def _with_data(seen: Sequence[Snapshot], rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows in which data flowed.

    These are the rows with connections. Without any connection (UDP), they are the rows in which
    the interface had at least STARTED of its highest rate.
    """
    if any(snapshot.connections for snapshot in seen):
        yield from (row for row in rows if row["connections"])
        return
    most = max((row.get("interface_mbps", 0.0) for row in rows), default=0.0)
    yield from (r for r in rows if most and r.get("interface_mbps", 0.0) > STARTED * most)
