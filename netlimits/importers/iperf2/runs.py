"""The figures of an iperf 2 run, from its lines.

A TCP client knows how much it sent, but not how much arrived. So the throughput is known only from
a server's output or, over UDP, from the server report in a client's output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netlimits.errors import ToolFailure
from netlimits.importers.base import ImportedRun, failed
from netlimits.importers.streams import FlowCounts, Line, figures_of, flow, rows, timeline
from netlimits.model import Scalar

_ENOUGH = 0.95
"""A line for the whole run must end at this share of the latest end, or later."""


@dataclass(frozen=True, slots=True)
class Result(Line):
    """A line of figures, perhaps one that the server reported to a client."""

    reported: bool = False


@dataclass(slots=True)
class Iperf2Run:
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
        return self.full or bool(self.back and set(self.streams) - self.back)

    def ways(self) -> Sequence[Iperf2Run]:
        """Return this run, or one run for each of two directions, client to server first.

        The runs of two directions lack the lines with sums of all streams.
        """
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
    """Return stream -> the line for its whole run, if it has such a line."""
    own = [result for result in results if result.reported == reported]
    totals: dict[str, Result] = {}
    for name in dict.fromkeys(result.stream for result in own):
        mine = [result for result in own if result.stream == name]
        last = max(result.end for result in mine)
        first = [r for r in mine if r.start < 0.05 * max(r.end, 0.1) and r.end >= _ENOUGH * last]
        if first and first[-1].seconds > 0:
            totals[name] = first[-1]
    return totals


def _sum(totals: Mapping[str, Result]) -> Result | None:
    streams = {name: result for name, result in totals.items() if name != "SUM"}
    longest = max((result.end for result in streams.values()), default=0.0)
    if "SUM" in totals and totals["SUM"].end >= _ENOUGH * longest:  # 2.1.8 may sum too early
        return totals["SUM"]
    totals = streams
    if len(totals) < 2:
        return next(iter(totals.values()), None)
    longest = max(result.seconds for result in totals.values())
    rate = sum(result.count / result.seconds for result in totals.values())
    of = [result.datagrams for result in totals.values() if result.datagrams]
    tcp = [result.tcp for result in totals.values() if result.tcp]
    datagrams = None
    if len(of) == len(totals):
        datagrams = (max(d[0] for d in of), sum(d[1] for d in of), sum(d[2] for d in of))
    return Result(
        "SUM",
        0.0,
        longest,
        rate * longest,
        datagrams=datagrams,
        tcp=(sum(t[0] for t in tcp), None, None) if len(tcp) == len(totals) else None,
    )


def finished(run: Iperf2Run) -> ImportedRun:
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
            flows.append(_flow(way, total, _sum(report)))
            flows[-1].refuse_nonsense()
            connections |= _of_connections(way, own)
            done = {id(line) for line in own.values()}  # by id, since lines may be equal
            interim = [r for r in way.results if not r.reported and id(r) not in done]
            end = "remote" if way.server else "local"
            timelines.append(timeline(interim, end, sends=_sends(way)))
        figures = figures_of(flows, "iperf") | connections
    except ToolFailure as error:
        return failed(run.line, error, values, run.started)
    every = tuple(rows(timelines, run.started or 0.0, one_way=len(ways) == 1))
    return ImportedRun(run.line, "ok", "", values, figures, every, run.started)


def _sends(run: Iperf2Run) -> bool:
    """Return True if the end that printed the output is the sender."""
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


def _flow(run: Iperf2Run, own: Result, report: Result | None) -> FlowCounts:
    ends = ("remote", "local") if run.server else ("local", "remote")
    udp = run.protocol == "udp" or any(line.datagrams for line in (own, report) if line)
    if _sends(run):
        return flow(*ends, own, report, udp=udp)
    return flow(*ends[::-1], None, own, udp=udp)


def _of_connections(run: Iperf2Run, totals: Mapping[str, Result]) -> Iterator[tuple[str, Scalar]]:
    """Yield RTT and congestion window of the sender, means over time and streams."""
    if not _sends(run):
        return
    end = "remote" if run.server else "local"
    mine = [r for r in run.results if not r.reported and r.stream != "SUM" and r.tcp]
    interim = [r for r in mine if r not in totals.values()] or mine
    for place, name in ((1, "cwnd_bytes"), (2, "rtt_us")):
        known = [value for r in interim if r.tcp and (value := r.tcp[place])]
        if known:
            yield f"{end}_{name}", sum(known) / len(known)
