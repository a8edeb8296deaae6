"""Measure latency under load: transactions while bulk streams run, as one measurement.

One shell script on the client's host starts the streams, waits `lead` seconds for the queues to
fill, and runs the transactions. The streams run `tail` seconds longer, since full queues delay the
start of the transactions. If a stream ends before the transactions, the run is invalid.

The rate of the streams covers the time of the transactions. The kernel of each receiving end counts
the data that arrives (`evidence.sample.arrivals`). In the snapshots, the streams are the busiest
connections. Both ends record when the streams' first data passes, which gives the offset between
the hosts' clocks.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from netlimits.campaign import parallel
from netlimits.errors import InputError, ToolFailure
from netlimits.evidence.sample import arrivals
from netlimits.evidence.sample.snapshots import Connection, Snapshot
from netlimits.model import Bulk, Command, Completed, Measurement, Scalar

_TIMES = re.compile(
    r"^=== netlimits bulk ([0-9]{9,12}\.[0-9]{9}) ([0-9]{9,12}\.[0-9]{9}) ([0-9]{1,3})$", re.M
)

APART = 2.0
"""A stream must carry this many times the transactions' bytes to be distinguished from them."""


@dataclass(frozen=True, slots=True)
class Times:
    """When the streams began and the transactions ended, in seconds by the client's clock.

    `outlived` is the number of streams that ran longer than the transactions.
    """

    began: float
    ended: float
    outlived: int


@dataclass(frozen=True, slots=True)
class Begin:
    """The interval in which the last stream's first data passed, in seconds of a host's clock."""

    after: float = -math.inf
    until: float = math.inf

    def since(self, earliest: float) -> Begin:
        """Return the interval cut to times from `earliest`; an infinite `until` becomes `after`."""
        after = max(self.after, earliest)
        return Begin(after, self.until if math.isfinite(self.until) else after)

    def ahead_of(self, other: Begin) -> float:
        """Return the seconds by which this host's clock is ahead of the other's.

        The two intervals give a range for it. Return 0 if this range contains 0 or is empty, since
        hosts of one site share a time source. Otherwise return the middle of the range, or its only
        bound if the other is infinite.
        """
        least, most = self.after - other.until, self.until - other.after
        if least <= 0 <= most or least > most:
            return 0.0
        if math.isfinite(least) and math.isfinite(most):
            return (least + most) / 2
        return least if least > 0 else most


def directions(bulk: Bulk) -> tuple[str, ...]:
    """Return the directions of the streams, seen from the client."""
    return ("send", "recv") if bulk.direction == "both" else (bulk.direction,)


def receivers(bulk: Bulk | None) -> tuple[str, ...]:
    ends = {"send": "remote", "recv": "local"}
    return tuple(ends[way] for way in directions(bulk)) if bulk else ()


def with_transactions(streams: Sequence[Command], transactions: Command, bulk: Bulk) -> Command:
    """Return a command that runs the transactions while the streams run."""
    numbers = range(2, len(streams) + 2)
    start = [
        f'{shlex.join(c.argv)} >"$d/{n}.out" 2>"$d/{n}.err" & p{n}=$!\n'
        for n, c in zip(numbers, streams, strict=True)
    ]
    script = "".join(
        (
            parallel.SETUP,
            "b=$(date +%s.%N)\n",
            *start,
            f"sleep {bulk.lead:g}\n",
            f'{shlex.join(transactions.argv)} >"$d/1.out" 2>"$d/1.err"; s1=$?\n',
            "e=$(date +%s.%N)\nn=0\n",
            *(f"kill -0 $p{n} 2>/dev/null && n=$((n + 1))\n" for n in numbers),
            parallel.waiting(numbers),
            'echo "=== netlimits bulk $b $e $n"\n',
            parallel.showing(range(1, len(streams) + 2)),
        )
    )
    if len(script.encode()) > parallel.LONGEST:
        raise InputError(f"{len(streams)} streams from one host are too many; take fewer")
    longest = max(command.deadline for command in streams)
    return Command(("sh", "-c", script), deadline=max(longest, transactions.deadline + bulk.lead))


def times(completed: Completed, bulk: Bulk, count: int) -> Times:
    """Return when streams and transactions ran.

    Raises ToolFailure if one of `count` streams did not outlive the transactions.
    """
    match = _TIMES.search(completed.stdout)
    if not match:
        raise ToolFailure("the script of the bulk streams was cut short")
    when = Times(float(match[1]), float(match[2]), int(match[3]))
    if when.outlived < count:
        raise ToolFailure(
            f"{count - when.outlived} of {count} bulk streams had ended before the transactions "
            f"did, {when.ended - when.began:.3g} s after their start: raise `bulk.tail` (it is "
            f"{bulk.tail} s), since a full queue delays a start",
            status="invalid",
        )
    return when


def figures(
    bulk: Bulk,
    snapshots: Mapping[str, Sequence[Snapshot]],
    when: Times,
    transactions: Measurement,
    *,
    ipv6: bool,
) -> dict[str, Scalar]:
    """Return each direction's rate in Mbit/s while the transactions ran, by column."""
    seconds = parallel.number(transactions.figures, "elapsed_s")
    flows = transactions.work.flows if transactions.work else ()
    own = {"remote" if flow.sender == "local" else "local": flow.arrived for flow in flows}
    values: dict[str, Scalar] = {}
    for way, end in zip(directions(bulk), receivers(bulk), strict=True):
        of_streams, least = only_streams(snapshots[end], bulk.streams)
        if end in own and 0 < least <= APART * own[end]:
            raise ToolFailure(
                f"the transactions carried about as much to the {end} host as a bulk stream did, "
                "and cannot be distinguished from it; take smaller requests and responses",
                status="invalid",
            )
        arrived = arrivals.tcp(of_streams, bulk.streams, ipv6=ipv6)
        if arrived is None:
            raise ToolFailure(
                f"the {end} host did not see {bulk.streams} bulk streams carry data while the "
                "transactions ran: is the data path open, or `seconds` too short?",
                status="invalid",
            )
        begins = first_data(snapshots.get("local", ()), bulk.streams, sent=way == "send")
        begins = begins.since(when.began)
        if (late := begins.after - (when.ended - seconds)) > 0:
            raise ToolFailure(
                f"the bulk streams carried nothing yet when the transactions began, nor {late:.2g} "
                f"s later: raise `bulk.lead` (it is {bulk.lead} s), the hosts are slow or busy",
                status="invalid",
            )
        ahead = 0.0
        if end == "remote":
            ahead = first_data(snapshots[end], bulk.streams, sent=False).ahead_of(begins)
        stop = min(arrived.stop, when.ended + ahead)
        begin = max(arrived.begin, when.ended + ahead - seconds)
        if stop - begin < seconds / 2:
            raise ToolFailure(
                f"the {end} host was too busy to be sampled while the transactions ran, so the "
                "bulk streams' rate is unknown; take fewer streams, or free the host's CPUs",
                status="invalid",
            )
        values[f"bulk_{way}_throughput_mbps"] = arrived.within(begin, stop)
    return values


def arrived(bulk: Bulk | None, measured: Mapping[str, Scalar]) -> Iterator[tuple[str, float]]:
    """Yield each sending end, and the rate in Mbit/s at which its streams' data arrived."""
    for way in directions(bulk) if bulk else ():
        yield (
            "local" if way == "send" else "remote",
            parallel.number(measured, f"bulk_{way}_throughput_mbps"),
        )


def first_data(snapshots: Sequence[Snapshot], count: int, *, sent: bool) -> Begin:
    """Return the interval in which the last of `count` streams began, from a host's snapshots.

    `sent` is True if the host sends the streams, False if it receives them.
    """
    streams = list(_most(snapshots, sent))[:count]
    before = -math.inf
    for snapshot in snapshots:
        if len(streams) < count or snapshot.at is None:
            break
        begun = {each.ends for each in snapshot.connections if _carried(each, sent)}
        if begun.issuperset(streams):
            return Begin(before, snapshot.at)
        before = snapshot.at
    return Begin()


def only_streams(snapshots: Sequence[Snapshot], count: int) -> tuple[list[Snapshot], float]:
    """Return snapshots of the `count` busiest connections, and the bytes of the least busy one."""
    most = _most(snapshots, sent=False)
    streams = list(most)[:count]
    of_streams = [
        replace(snapshot, connections=tuple(c for c in snapshot.connections if c.ends in streams))
        for snapshot in snapshots
    ]
    return of_streams, min((most[ends] for ends in streams), default=0.0)


def _most(snapshots: Sequence[Snapshot], sent: bool) -> dict[tuple[str, str], float]:
    """Return each connection's bytes, the busiest connection first."""
    most: dict[tuple[str, str], float] = {}
    for snapshot in snapshots:
        for each in snapshot.connections:
            most[each.ends] = max(most.get(each.ends, 0.0), _carried(each, sent))
    return dict(sorted(most.items(), key=lambda item: item[1], reverse=True))


def _carried(connection: Connection, sent: bool) -> float:
    return connection.sent if sent else connection.value("bytes_received")
