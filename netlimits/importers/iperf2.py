"""iperf 2's text output, 2.0 to 2.2, of clients and servers, with enhanced reports (-e).

A TCP client knows what it sent and not what arrived, so its rate is `local_send_throughput_mbps`; a
server's is the throughput, and so is what a client's server report says of UDP. A line that begins
at 0 and ends last is the whole run's, the others are interim results; without such a line the run
was interrupted. The sum of parallel streams is the line [SUM], or the sum of the streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from netlimits.errors import ToolFailure
from netlimits.importers.base import LINE_LIMIT, Given, ImportedRun, SourceText, clean
from netlimits.importers.rates import AMOUNT, RATE, amount, bytes_in
from netlimits.importers.streams import InterimResult, Parts, figures_of, rows
from netlimits.model import Scalar, Status

ID = r"\[ *(?P<id>\*?\d{1,9}|SUM(?:-\d{1,9}|-cnt)?|FD\d{1,9})\]"
_LINE = re.compile(
    ID + r" +(?P<start>\d{1,9}\.\d{1,6}) *- *(?P<end>\d{1,9}\.\d{1,6}) +sec +"
    rf"{AMOUNT} +{RATE}(?P<rest>.*)"
)
_CLIENT = re.compile(r"Client connecting to (\S+), (TCP|UDP) port \d+.*")
_SERVER = re.compile(r"Server listening on (TCP|UDP) port \d+.*")
_CONNECTED = re.compile(ID + r" local \S+ port \d+ connected with \S+ port \d+(?P<about>.*)")
_REPORT = re.compile(ID + r" Server Report:.*")
_DATAGRAMS = re.compile(
    r" +(-?[\d.]{1,20}) ms +(-?\d{1,15})/ *(\d{1,15}) *\((?:-?nan|[-\d.e+]{1,20})%\)"
)
_WRITES = re.compile(
    r" +\d{1,12}/\d{1,12} +(\d{1,12})(?: +(-?\d{1,12})K?/(\d{1,12})(?:\(\d{1,12}\))? us)?.*"
)
_SIZE = re.compile(r"(?:Write buffer size|Read buffer size): *([\d.]{1,15}) ?([KMG]?)Byte.*")
_DATAGRAM_SIZE = re.compile(r"(?:Sending|Receiving) (\d{1,9}) byte datagrams.*")
_CONGESTION = re.compile(
    r"TCP congestion control using (\S{1,40}).*|TCP congestion control set to (\S{1,40}).*"
)
_MSS = re.compile(r"icwnd/mss/irtt=\d+/(\d{2,6})/")
_ERROR = re.compile(
    r"(?:\[ *\d+\] )?(?:tcp |udp )?((?:connect|write|read|bind|recvn?) failed: .*"
    r"|WARNING: did not receive ack of last datagram.*)|error: (.*)"
)
_ENOUGH = 0.95
"""The whole run's line ends no earlier than this share of the last interim result."""


@dataclass(frozen=True, slots=True)
class Result:
    """A line of figures.

    Attributes:
        stream: The stream's name, "SUM" for all of them.
        start: Seconds since the start.
        end: Seconds since the start.
        count: Bytes, by the rate.
        reported: True if the server reported it to a client.
        datagrams: Jitter in µs, lost datagrams and datagrams.
        tcp: Retransmits, congestion window in bytes and RTT in µs.
    """

    stream: str
    start: float
    end: float
    count: float
    reported: bool = False
    datagrams: tuple[float, float, float] | None = None
    tcp: tuple[float, float | None, float | None] | None = None

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
    values: dict[str, Scalar] = field(default_factory=dict)
    streams: list[str] = field(default_factory=list)
    reverse: bool = False
    results: list[Result] = field(default_factory=list)
    error: str = ""
    dual: bool = False
    started: float | None = None


def claims(source: SourceText) -> bool:
    """Return True if a line is iperf 2's: where a test begins, or a result."""
    lines = [line.strip() for line in source.lines if len(line) <= LINE_LIMIT]
    return any(
        _CLIENT.fullmatch(line) or _SERVER.fullmatch(line) or _LINE.fullmatch(line)
        for line in lines
    )


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    """Return a run for each test of a client, and for each test of a server's client."""
    return [finished(run) for run in _runs(source) if run.streams or run.results or run.error]


def _runs(source: SourceText) -> Iterator[Iperf2Run]:
    run: Iperf2Run | None = None
    protocol, listening, facts = "", False, dict[str, Scalar]()
    reported = ""
    for number, line in enumerate(source.lines, 1):
        line = line[:LINE_LIMIT].strip()
        client, server = _CLIENT.fullmatch(line), _SERVER.fullmatch(line)
        connected = _CONNECTED.fullmatch(line)
        if client or server:
            waiting = run is not None and not run.results
            dual = waiting and listening and client is not None
            if run is not None and waiting and client and not listening:
                protocol = run.protocol = client[2].lower()  # connections were printed before it
                continue
            if run is not None and not dual:
                yield run
            run, facts = None, {}
            protocol = (client[2] if client else server[1] if server else "").lower()
            if client:
                run = Iperf2Run(number, server=False, protocol=protocol, dual=dual or listening)
            listening = server is not None or dual
        elif connected and (run is None or (listening and _whole(run.results))):
            if run is not None:
                yield run
            run = Iperf2Run(number, server=listening, protocol=protocol)
        elif run is None and (_LINE.fullmatch(line) or _ERROR.fullmatch(line)) and not listening:
            run = Iperf2Run(number, server=False, protocol=protocol)
        facts |= _facts(line)
        if run is None:
            continue
        run.values |= facts
        if connected:
            run.streams.append(connected["id"])
            run.reverse |= "(reverse)" in connected["about"]
            run.dual |= "(full-duplex)" in connected["about"]
            if mss := _MSS.search(connected["about"]):
                run.values["mss"] = int(mss[1])
        elif report := _REPORT.fullmatch(line):
            reported = report["id"]
        elif error := _ERROR.fullmatch(line):
            run.error = run.error or error[1] or error[2]
        elif match := _LINE.fullmatch(line):
            result = _result(match, reported == match["id"])
            reported = ""
            run.results.append(result)
            run.line = number
    if run is not None:
        yield run


def _facts(line: str) -> dict[str, Scalar]:
    if match := _SIZE.fullmatch(line):
        size = amount(match[1], match[2])
        return {"send_size": int(size)} if size == int(size) else {}
    if match := _DATAGRAM_SIZE.fullmatch(line):
        return {"send_size": int(match[1])}
    if match := _CONGESTION.fullmatch(line):
        return {"congestion_control": clean(match[1] or match[2])}
    return {}


def _result(match: re.Match[str], reported: bool) -> Result:
    start, end = float(match["start"]), float(match["end"])
    rest = match["rest"]
    of, tcp = _DATAGRAMS.match(rest), None
    if not of and "pps" not in rest and (writes := _WRITES.fullmatch(rest)):
        window = float(writes[2]) if writes[2] else -1.0
        rtt = float(writes[3]) if writes[3] else 0.0
        tcp = (float(writes[1]), window * 1024 if window > 0 else None, rtt or None)
    datagrams = (1000 * max(0.0, float(of[1])), float(of[2]), float(of[3])) if of else None
    count = bytes_in(match.group(4, 5), match.group(6, 7, 8), end - start)
    name = "SUM" if match["id"].startswith("SUM") else match["id"]
    return Result(name, start, end, count, reported, datagrams, tcp)


def _whole(results: Sequence[Result], *, reported: bool = False) -> dict[str, Result]:
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
    try:
        if run.dual or any(result.stream[:2] == "FD" for result in run.results):
            raise ToolFailure(
                "iperf -d and --full-duplex print both directions in one table; import the "
                "output of tests of one direction"
            )
        own, report = _whole(run.results), _whole(run.results, reported=True)
        names = {result.stream for result in run.results if not result.reported} - {"SUM"}
        total = _sum(own)
        if total is None or ("SUM" not in own and names - own.keys()):
            raise ToolFailure(run.error or "iperf printed no summary: the run was interrupted")
        flow = _flow(run, total, _sum(report))
        flow.refuse_nonsense()
        figures = figures_of([flow], "iperf")
        figures |= _of_connections(run, own)
    except ToolFailure as error:
        status: Status = "invalid" if error.status == "invalid" else "failed"
        return ImportedRun(run.line, status, clean(str(error)), values, started=run.started)
    interim = tuple(_interim(run, own))
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


def _interim(run: Iperf2Run, whole: Mapping[str, Result]) -> Iterator[Mapping[str, float]]:
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
    yield from rows([timeline], run.started or 0.0, whole=True)
