"""Compute figures and interim results from the bytes and seconds that each end counted.

Without the receiver's count there is no throughput, since data that was sent may not have arrived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlimits.errors import ToolFailure
from netlimits.importers.base import SHORT
from netlimits.model import Scalar

_MORE, _WAITING = 1.1, 2**20
"""Maximum of the arrived bytes: the sent bytes times this factor, plus this number of bytes."""

_APART = 0.25
"""Two ends' interim results become one row if their end times differ by at most this share of
an interval."""


@dataclass(frozen=True, slots=True)
class FlowCounts:
    """The bytes, seconds and losses of one direction; None is unknown."""

    sender: str  # "local" (the client's end) or "remote"
    receiver: str
    sent: float | None = None
    sent_s: float | None = None
    arrived: float | None = None
    arrived_s: float | None = None
    retransmits: float | None = None
    loss_pct: float | None = None  # if the receiver counts datagrams but not bytes
    jitter_us: float | None = None
    datagrams: bool = False
    lost: float | None = None  # lost datagrams of `packets` datagrams
    packets: float | None = None

    @property
    def elapsed(self) -> float | None:
        return self.arrived_s or self.sent_s

    @property
    def send_mbps(self) -> float | None:
        return mbps(self.sent, self.sent_s)

    @property
    def recv_mbps(self) -> float | None:
        return mbps(self.arrived, self.arrived_s)

    def refuse_nonsense(self) -> None:
        """Raise ToolFailure if nothing was sent or arrived, or more arrived than was sent."""
        if self.arrived == 0:
            of = (
                "no data was sent"
                if not self.sent
                else f"nothing of {self.sent:,.0f} bytes sent arrived"
            )
            raise ToolFailure(f"throughput is 0: {of}; is the data path open?")
        if self.arrived is None and not self.sent:
            raise ToolFailure("throughput is 0: no data was sent; is the data path open?")
        if self.sent and self.arrived and self.arrived > _MORE * self.sent + _WAITING:
            raise ToolFailure(
                f"{self.arrived:,.0f} bytes arrived, more than the {self.sent:,.0f} that were sent",
                status="invalid",
            )


def mbps(count: float | None, seconds: float | None) -> float | None:
    return count * 8 / 1e6 / seconds if count is not None and seconds else None


def refuse_short(seconds: float | None, planned: float) -> None:
    if seconds is not None and seconds < SHORT * planned:
        raise ToolFailure(f"the run ended after {seconds:g} s of {planned:g} s", status="invalid")


def process_cpu(
    local: float | None, remote: float | None, *, server: bool
) -> Iterator[tuple[str, float]]:
    """Yield the CPU columns of iperf3's processes: both ends for a client, its own for a server."""
    ends = {"remote": local} if server else {"local": local, "remote": remote}
    for end, used in ends.items():
        if used is not None:
            if used < 0:
                raise ToolFailure(f"{end} CPU is {used:g} %, less than 0", status="invalid")
            yield f"iperf3_{end}_process_cpu_pct", used


def lost_pct(lost: float | None, packets: float | None) -> float | None:
    """Return lost datagrams in percent, None without a plausible count."""
    if lost is None or not packets or lost > packets:
        return None
    return 100 * max(0.0, lost) / packets


def figures_of(
    flows: Sequence[FlowCounts], tool: str, *, complete: bool = True
) -> dict[str, Scalar]:
    """Return a run's figures; throughput only if `flows` has all directions (`complete`)."""
    figures: dict[str, Scalar] = {}
    rates = [flow.recv_mbps for flow in flows]
    if complete and None not in rates:
        figures["throughput_mbps"] = sum(rate for rate in rates if rate is not None)
    if flows[0].elapsed:
        figures["elapsed_s"] = flows[0].elapsed
    for flow in flows:
        if flow.send_mbps is not None:
            figures[f"{flow.sender}_send_throughput_mbps"] = flow.send_mbps
        if flow.recv_mbps is not None:
            figures[f"{flow.receiver}_recv_throughput_mbps"] = flow.recv_mbps
        if flow.retransmits is not None:
            figures[f"{flow.sender}_transport_retrans"] = int(flow.retransmits)
    if flows[0].datagrams:
        figures |= _of_datagrams(flows)
    if not any(
        isinstance(figure, int | float) for name, figure in figures.items() if name != "elapsed_s"
    ):
        raise ToolFailure(f"{tool} printed no figure")
    return figures


def _of_datagrams(flows: Sequence[FlowCounts]) -> Iterator[tuple[str, Scalar]]:
    """Yield the loss over all directions and the highest jitter."""
    if all(flow.loss_pct is not None for flow in flows):
        yield "loss_pct", sum(flow.loss_pct or 0.0 for flow in flows) / len(flows)
    elif all(flow.sent and flow.arrived is not None for flow in flows):
        sent = sum(max(flow.sent or 0.0, flow.arrived or 0.0) for flow in flows)
        yield "loss_pct", 100 * (1 - sum(flow.arrived or 0.0 for flow in flows) / sent)
    if jitters := [flow.jitter_us for flow in flows if flow.jitter_us is not None]:
        yield "jitter_us", max(jitters)


@dataclass(frozen=True, slots=True)
class InterimResult:
    place: int  # its number in time; results of both ends with the same number match
    end: str  # the end that counted: "local" or "remote"
    way: str  # "send" or "recv"
    ending_s: float
    seconds: float
    count: float
    stream: int = 0  # from 1; 0 for all streams together
    retransmits: float | None = None
    rtt_us: float | None = None
    cwnd_bytes: float | None = None

    def figures(self, *, one_way: bool) -> Iterator[tuple[str, float]]:
        """Yield columns and values. If `one_way`, the received rate is also `throughput_mbps`."""
        rate = mbps(self.count, self.seconds) or 0.0
        yield f"{self.end}_{self.way}_throughput_mbps", rate
        if self.way == "recv" and one_way:
            yield "throughput_mbps", rate
        for name, value in (
            ("transport_retrans", self.retransmits),
            ("rtt_us", self.rtt_us),
            ("cwnd_bytes", self.cwnd_bytes),
        ):
            if value is not None:
                yield f"{self.end}_{name}", value


@dataclass(frozen=True, slots=True)
class Line:
    """A line of figures as iperf and iperf3 print it, of one stream or of all streams ("SUM")."""

    stream: str
    start: float
    end: float
    count: float
    datagrams: tuple[float, float, float] | None = None  # jitter in µs, lost, all
    tcp: tuple[float, float | None, float | None] | None = None  # retransmits, window, RTT in µs

    @property
    def seconds(self) -> float:
        return self.end - self.start


def flow(
    sender: str, receiver: str, sent: Line | None, got: Line | None, *, udp: bool = False
) -> FlowCounts:
    """Return the counts of a flow from the sender's line and the receiver's."""
    jitter, *counted = got.datagrams if got and got.datagrams else (None, None, None)
    if sent and not sent.count and got and got.count:
        sent = None  # iperf3 3.14 prints 0 for what a server sent over UDP
    return FlowCounts(
        sender,
        receiver,
        sent=sent.count if sent else None,
        sent_s=sent.seconds if sent else None,
        arrived=got.count if got else None,
        arrived_s=got.seconds if got else None,
        retransmits=sent.tcp[0] if sent and sent.tcp and not udp else None,
        loss_pct=lost_pct(*counted),
        jitter_us=jitter,
        datagrams=udp,
    )


def timeline(
    lines: Iterable[Line], end: str, *, sends: bool, udp: bool = False
) -> list[InterimResult]:
    """Return the interim results of an end; streams are numbered if there are several."""
    lines = [line for line in lines if line.seconds > 0]
    ids = list(dict.fromkeys(line.stream for line in lines if line.stream != "SUM"))
    places: Counter[str] = Counter()
    results = []
    for line in lines:
        several = len(ids) > 1 and line.stream != "SUM"
        retransmits, window, rtt = (sends and not udp and line.tcp) or (None, None, None)
        results.append(
            InterimResult(
                places[line.stream],
                end,
                "send" if sends else "recv",
                line.end,
                line.seconds,
                line.count,
                stream=ids.index(line.stream) + 1 if several else 0,
                retransmits=retransmits,
                rtt_us=rtt,
                cwnd_bytes=window,
            )
        )
        places[line.stream] += 1
    return results


def rows(
    timelines: Sequence[Sequence[InterimResult]], origin: float, *, one_way: bool
) -> Iterator[Mapping[str, float]]:
    """Merge the interim results of both ends and directions into rows, in order of time.

    If there is one direction (`one_way`), throughput is the receiver's rate. For two directions it
    is the sum of the rates that both ends received, in rows that have both.
    """
    merged: dict[tuple[int, int, str], dict[str, float]] = {}
    for timeline in sorted(timelines, key=lambda each: each[0].way if each else ""):
        for each in timeline:  # results of receivers come first, since "recv" < "send"
            begun = {"ending_s": origin + each.ending_s, "interval_s": each.seconds}
            key = (each.place, each.stream, "")
            row = merged.setdefault(key, begun)
            if abs(row["ending_s"] - begun["ending_s"]) > _APART * each.seconds:
                row = merged.setdefault((*key[:2], each.end), begun)
            if each.stream:
                row["stream"] = each.stream
            row.update(each.figures(one_way=one_way))
    ends = ("local_recv_throughput_mbps", "remote_recv_throughput_mbps")
    for row in sorted(merged.values(), key=lambda row: (row["ending_s"], row.get("stream", 0))):
        if not one_way and all(name in row for name in ends):
            row["throughput_mbps"] = sum(row[name] for name in ends)
        yield row
