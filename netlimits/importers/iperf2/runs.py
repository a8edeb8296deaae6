"""The figures of an iperf 2 run, from its lines.

A TCP client knows what it sent and not what arrived, so only a server's rate is the throughput, and
what a client's server report says of UDP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netlimits.errors import ToolFailure
from netlimits.importers.base import ImportedRun, clean
from netlimits.importers.streams import InterimResult, Parts, figures_of, rows
from netlimits.model import Scalar, Status

_ENOUGH = 0.95
"""The whole run's line ends no earlier than this share of the last interim result."""


@dataclass(frozen=True, slots=True)
class Result:
    """A line of figures."""

    stream: str
    start: float
    end: float
    count: float
    reported: bool = False
    datagrams: tuple[float, float, float] | None = None  # jitter in µs, lost, all
    tcp: tuple[float, float | None, float | None] | None = None  # retransmits, window, RTT in µs

    @property
    def seconds(self) -> float:
        """The length."""
        return self.end - self.start


@dataclass(slots=True)
class Iperf2Run:
    """A run while its lines are read."""

    line: int
    server: bool
    protocol: str = ""
    reverse: bool = False
    values: dict[str, Scalar] = field(default_factory=dict)
    streams: list[str] = field(default_factory=list)
    back: set[str] = field(default_factory=set)  # streams on which the server sent
    full: bool = False  # --full-duplex
    listens: str = ""  # port on which a client waits for the server (-d, -r)
    answers: bool = False  # a server that connects back (-d)
    peer: str = ""
    results: list[Result] = field(default_factory=list)
    error: str = ""
    started: float | None = None

    @property
    def both(self) -> bool:
        """True if data went both ways at once."""
        return self.full or bool(self.back and set(self.streams) - self.back)

    def ways(self) -> Sequence[Iperf2Run]:
        """Return the run of each direction, the client's first; sums of both are left out."""
        if not self.both:
            return [self]
        if not self.back:
            raise ToolFailure(
                "iperf printed both directions and not which line is of which; import the text "
                "(without -y C) or a test of one direction"
            )
        own = [result for result in self.results if result.stream != "SUM"]
        return [
            replace(self, reverse=back, results=[r for r in own if (r.stream in self.back) == back])
            for back in (False, True)
        ]


def whole_lines(results: Sequence[Result], *, reported: bool = False) -> dict[str, Result]:
    """Return the line of the whole run of each stream that has one."""
    own = [result for result in results if result.reported == reported]
    whole: dict[str, Result] = {}
    for name in dict.fromkeys(result.stream for result in own):
        mine = [result for result in own if result.stream == name]
        last = max(result.end for result in mine)
        first = [r for r in mine if r.start < 0.05 * max(r.end, 0.1) and r.end >= _ENOUGH * last]
        if first and first[-1].seconds > 0:
            whole[name] = first[-1]
    return whole


def _sum(whole: Mapping[str, Result]) -> Result | None:
    """Return the result of all streams."""
    streams = {name: result for name, result in whole.items() if name != "SUM"}
    longest = max((result.end for result in streams.values()), default=0.0)
    if "SUM" in whole and whole["SUM"].end >= _ENOUGH * longest:  # 2.1.8 may sum too early
        return whole["SUM"]
    whole = streams
    if len(whole) < 2:
        return next(iter(whole.values()), None)
    longest = max(result.seconds for result in whole.values())
    rate = sum(result.count / result.seconds for result in whole.values())
    of = [result.datagrams for result in whole.values() if result.datagrams]
    tcp = [result.tcp for result in whole.values() if result.tcp]
    datagrams = None
    if len(of) == len(whole):
        datagrams = (max(d[0] for d in of), sum(d[1] for d in of), sum(d[2] for d in of))
    return Result(
        "SUM",
        0.0,
        longest,
        rate * longest,
        datagrams=datagrams,
        tcp=(sum(t[0] for t in tcp), None, None) if len(tcp) == len(whole) else None,
    )


def finished(run: Iperf2Run) -> ImportedRun:
    """Return the run of what was read of it."""
    values = _factors(run)
    flows, connections, timelines = [], dict[str, Scalar](), []
    try:
        ways = run.ways()
        for way in ways:
            own, report = whole_lines(way.results), whole_lines(way.results, reported=True)
            names = {result.stream for result in way.results if not result.reported} - {"SUM"}
            total = _sum(own)
            if total is None or ("SUM" not in own and names - own.keys()):
                raise ToolFailure(run.error or "iperf printed no summary: the run was interrupted")
            flow = _flow(way, total, _sum(report))
            flow.refuse_nonsense()
            flows.append(flow)
            connections |= _of_connections(way, own)
            timelines.append(_interim(way, own))
        figures = figures_of(flows, "iperf") | connections
    except ToolFailure as error:
        status: Status = "invalid" if error.status == "invalid" else "failed"
        return ImportedRun(run.line, status, clean(str(error)), values, started=run.started)
    interim = tuple(rows(timelines, run.started or 0.0, whole=len(ways) == 1))
    return ImportedRun(run.line, "ok", "", values, figures, interim, run.started)


def _sends(run: Iperf2Run) -> bool:
    """Return True if the end that printed the output sent the data."""
    if any(result.datagrams for result in run.results if not result.reported):
        return False
    return run.server == run.reverse


def _factors(run: Iperf2Run) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {
        "tool": "iperf",
        "reported_by": "server" if run.server else "client",
    }
    protocol = run.protocol or ("udp" if any(r.datagrams for r in run.results) else "")
    if protocol:
        values["protocol"] = protocol
    if run.results:
        values["direction"] = "send" if _sends(run) != run.server else "recv"
        streams = {result.stream for result in run.results} - {"SUM"}
        if run.both:
            values["direction"] = "bidir"
            streams -= run.back
        values["streams"] = max(1, len(streams))
    return values | run.values


def _flow(run: Iperf2Run, own: Result, report: Result | None) -> Parts:
    own_end, other_end = ("remote", "local") if run.server else ("local", "remote")
    sends = _sends(run)
    sent = own if sends else None
    got = report if sends else own
    datagrams = (got or own).datagrams
    loss = jitter = None
    if datagrams:
        jitter, lost, packets = datagrams
        loss = 100 * max(0.0, lost) / packets if packets and lost <= packets else None
    udp = run.protocol == "udp" or datagrams is not None
    return Parts(
        own_end if sends else other_end,
        other_end if sends else own_end,
        sent=sent.count if sent else None,
        sent_s=sent.seconds if sent else None,
        arrived=got.count if got else None,
        arrived_s=got.seconds if got else None,
        retransmits=own.tcp[0] if sends and own.tcp and not udp else None,
        loss_pct=loss,
        jitter_us=jitter,
        datagrams=udp,
    )


def _of_connections(run: Iperf2Run, whole: Mapping[str, Result]) -> Iterator[tuple[str, Scalar]]:
    """Yield RTT and congestion window of the sender, means over time and streams."""
    if not _sends(run):
        return
    end = "remote" if run.server else "local"
    mine = [r for r in run.results if not r.reported and r.stream != "SUM" and r.tcp]
    interim = [r for r in mine if r not in whole.values()] or mine
    for place, name in ((1, "cwnd_bytes"), (2, "rtt_us")):
        known = [value for r in interim if r.tcp and (value := r.tcp[place])]
        if known:
            yield f"{end}_{name}", sum(known) / len(known)


def _interim(run: Iperf2Run, whole: Mapping[str, Result]) -> list[InterimResult]:
    """Return the interim results of a direction."""
    end, sends = ("remote" if run.server else "local"), _sends(run)
    own = [r for r in run.results if not r.reported and all(r is not w for w in whole.values())]
    ids = list(dict.fromkeys(r.stream for r in own if r.stream != "SUM"))
    places: dict[str, int] = {}
    timeline = []
    for result in own:
        if result.seconds <= 0:
            continue
        place = places[result.stream] = places.get(result.stream, -1) + 1
        several = len(ids) > 1 and result.stream != "SUM"
        tcp = result.tcp or (None, None, None)
        timeline.append(
            InterimResult(
                place,
                end,
                "send" if sends else "recv",
                result.end,
                result.seconds,
                result.count,
                stream=ids.index(result.stream) + 1 if several else 0,
                retransmits=tcp[0] if sends else None,
                rtt_us=tcp[2] if sends else None,
                cwnd_bytes=tcp[1] if sends else None,
            )
        )
    return timeline
