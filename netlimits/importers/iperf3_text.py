"""iperf3's text output of a client or a server, 3.0 to 3.21, with any -f, -P, -u, -R or --bidir.

The UDP summary before 3.7 is one line, with the sender's bytes and rate and the receiver's loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.importers.base import Given, ImportedRun, SourceText, clean, failed
from netlimits.importers.rates import AMOUNT, RATE, amount, bytes_in
from netlimits.importers.streams import (
    FlowCounts,
    Line,
    figures_of,
    flow,
    lost_pct,
    process_cpu,
    refuse_short,
    rows,
    timeline,
)
from netlimits.model import Scalar

_LINE = re.compile(
    r"\[ *(?P<id>\d{1,6}|SUM)\](?:\[(?P<role>TX|RX)-[CS]\])? +"
    r"(?P<start>\d{1,9}\.\d{1,6}) *- *(?P<end>\d{1,9}\.\d{1,6}) +sec +"
    rf"{AMOUNT} +{RATE}(?P<rest>.*)"
)
_RETRANSMITS = re.compile(r" +(\d{1,12})(?: +" + AMOUNT + r")?(?: +.*)?")
_DATAGRAMS = re.compile(
    r" +(\d{1,12}(?:\.\d{1,9})?) ms +(-?\d{1,15})/(\d{1,15}) \((?:-?nan|[-\d.e+]{1,20})%\)"
)
_CONNECTED = re.compile(r"\[ *(\d{1,6})\] local \S+ port \d+ connected to \S+ port \d+")
_CLIENT = re.compile(r"Connecting to host (\S+), port \d+")
_SERVER = re.compile(r"Accepted connection from (\S+), port \d+")
_REVERSE = re.compile(r"Reverse mode, remote host \S+ is sending")
_ERROR = re.compile(r"iperf3: (?:error - |interrupt - )(.*)|iperf3: (unable to .*)")
_INTERRUPT = re.compile(r"iperf3: interrupt - .*")
"""Line that iperf3 prints after the summary of a run that Ctrl-C ended."""
_HEADER = re.compile(r"\[ ID\](?:\[Role\])? Interval +Transfer +(?:Bandwidth|Bitrate)\b(.*)")
_TEST = re.compile(
    r"Starting Test: protocol: (\w{1,8}), (\d{1,6}) streams, (\d{1,9}) byte blocks, "
    r"omitting (\d{1,6}) seconds, (?:(\d{1,9}) second test)?.*"
)
_FACTS = {
    "time": re.compile(r"Time: \w{3}, (\d\d \w{3} \d{4} \d\d:\d\d:\d\d) (?:GMT|UTC)"),
    "mss": re.compile(r" *TCP MSS: (\d{2,6})(?: \(default\))?"),
    "congestion": re.compile(r"snd_tcp_congestion (\S{1,40})"),
    "target": re.compile(r" *Target Bitrate: (\d{1,18})"),
    "cpu": re.compile(
        r"CPU Utilization: (local|remote)/(?:sender|receiver) (-?[\d.]{1,20})% \(.*\), "
        r"(?:local|remote)/(?:sender|receiver) (-?[\d.]{1,20})% \(.*\)"
    ),
}
_RULE = re.compile(r"(- ){8,}-? *")


@dataclass(frozen=True, slots=True)
class _Result(Line):
    """A line of figures.

    `role` is TX or RX in a test of both directions, `party` the label of a summary line (`sender`,
    `receiver`), and `rules` the number of separator lines (`- - -`) above it.
    """

    role: str = ""
    party: str = ""
    rules: int = 0


@dataclass(slots=True)
class _Run:
    line: int
    server: bool
    reverse: bool = False
    facts: dict[str, re.Match[str]] = field(default_factory=dict)
    test: re.Match[str] | None = None
    streams: list[str] = field(default_factory=list)
    header: str = ""
    results: list[_Result] = field(default_factory=list)
    rules: int = 0
    error: str = ""

    @property
    def summary(self) -> list[_Result]:
        """The lines for the whole run: labelled lines, or UDP lines after the last separator."""
        labelled = [result for result in self.results if result.party]
        if labelled or not self.rules:
            return labelled
        return [r for r in self.results if r.rules == self.rules and r.datagrams]

    @property
    def intervals(self) -> list[_Result]:
        summary = self.summary
        return [r for r in self.results if not r.party and all(r is not s for s in summary)]


def claims(source: SourceText) -> bool:
    return any(
        _CLIENT.fullmatch(line)
        or _SERVER.fullmatch(line)
        or _CONNECTED.match(line)
        or _ERROR.fullmatch(line)
        or (
            (match := _LINE.fullmatch(line))
            and (match["role"] or match["rest"].split()[-1:] in (["sender"], ["receiver"]))
        )
        or (_HEADER.fullmatch(line) and re.search(r" Bitrate| Retr|\[Role\]", line))
        for _, line in source.stripped()
    )


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    """Return a run for each test; a test without a summary was interrupted."""
    return [run for each in _runs(source) if (run := _finished(each)) is not None]


def _runs(source: SourceText) -> list[_Run]:
    runs: list[_Run] = []
    before: dict[str, re.Match[str]] = {}
    for number, line in source.stripped():
        run = runs[-1] if runs else None
        server, header = _SERVER.fullmatch(line), _HEADER.fullmatch(line)
        done = run is not None and any(result.party for result in run.results)
        begins = server or _CLIENT.fullmatch(line) or (header and done)
        if begins or (run is None and (header or _CONNECTED.match(line))):
            run = _Run(number, server=server is not None, facts=before)
            runs.append(run)
            before, done = {}, False
        for name, pattern in _FACTS.items():
            if match := pattern.fullmatch(line):
                early = run is None or (name == "time" and run.results)
                (before if early or run is None else run.facts)[name] = match
        if error := _ERROR.fullmatch(line):
            ended = run is not None and not run.server and _INTERRUPT.fullmatch(line)
            if run is None or (done and not ended):
                run = _Run(number, server=False)
                runs.append(run)
            run.error = run.error or error[1] or error[2]
        if run is None:
            continue
        _add(run, line, header)
        run.line = number if run.results and _LINE.fullmatch(line) else run.line
    return runs


def _add(run: _Run, line: str, header: re.Match[str] | None) -> None:
    if header:
        run.header = run.header or header[1]
    elif _RULE.fullmatch(line):
        run.rules += 1
    elif match := _TEST.fullmatch(line):
        run.test = match
    elif _REVERSE.fullmatch(line):
        run.reverse = True
    elif match := _CONNECTED.match(line):
        run.streams.append(match[1])
    elif match := _LINE.fullmatch(line):
        rest = match["rest"].rstrip()
        if rest.endswith("(omitted)"):
            return
        start, end = float(match["start"]), float(match["end"])
        party = rest.split()[-1:] in (["sender"], ["receiver"]) and rest.split()[-1]
        run.results.append(
            _Result(
                match["id"],
                start,
                end,
                bytes_in(match.group(5, 6), match.group(7, 8, 9), end - start),
                *_counts(rest),
                match["role"] or "",
                party or "",
                run.rules,
            )
        )


def _counts(rest: str) -> tuple[Any, Any]:
    """Parse the text after a rate; return values of `Line.datagrams` and `Line.tcp`, or None."""
    if of := _DATAGRAMS.match(rest):
        return (1000 * float(of[1]), float(of[2]), float(of[3])), None
    if of := _RETRANSMITS.fullmatch(rest):
        return None, (float(of[1]), amount(of[2], of[3]) if of[2] else None, None)
    return None, None


def _finished(run: _Run) -> ImportedRun | None:
    """Return the run, None if a server was stopped before a test began."""
    stopped = not run.error or run.error.startswith("the server has terminated")
    if stopped and not (run.results or run.streams):
        return None
    values = _factors(run)
    started = _started(run)
    try:
        if not run.summary or (run.error and not run.server):
            raise ToolFailure(run.error or "iperf3 printed no summary: the run was interrupted")
        figures = _figures(run)
    except ToolFailure as error:
        return failed(run.line, error, values, started)
    interim = tuple(_interim(run, started or 0.0))
    return ImportedRun(run.line, "ok", "", values, figures, interim, started)


def _udp(run: _Run) -> bool:
    if run.test:
        return run.test[1].upper() == "UDP"
    return "Datagrams" in run.header or any(result.datagrams for result in run.results)


def _ways(run: _Run) -> list[tuple[str, str, str]]:
    """Return (sender, receiver, role of the lines) for each direction."""
    if {result.role for result in run.results} >= {"TX", "RX"}:
        first, second = ("RX", "TX") if run.server else ("TX", "RX")
        return [("local", "remote", first), ("remote", "local", second)]
    reverse = run.reverse
    if run.server:  # it sends if its lines count retransmits, or if only "sender" has data
        parties = {result.party for result in run.summary if result.count > 0}
        reverse = parties == {"sender"} or "Retr" in run.header
    return [("remote", "local", "")] if reverse else [("local", "remote", "")]


def _factors(run: _Run) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {
        "tool": "iperf3",
        "reported_by": "server" if run.server else "client",
    }
    if run.results:
        ways = _ways(run)
        values["protocol"] = "udp" if _udp(run) else "tcp"
        reverse = ways[0][0] == "remote"
        values["direction"] = "bidir" if len(ways) > 1 else "recv" if reverse else "send"
        streams = {r.stream for r in run.results if r.stream != "SUM"}
        values["streams"] = max(1, len(streams) // len(ways))
    if run.test:
        values |= {"protocol": run.test[1].lower(), "send_size": int(run.test[3])}
        values["streams"] = int(run.test[2])
    if match := run.facts.get("mss"):
        values["mss"] = int(match[1])
    if match := run.facts.get("congestion"):
        values["congestion_control"] = clean(match[1])
    if (match := run.facts.get("target")) and float(match[1]):
        values["target_mbps"] = float(match[1]) / 1e6
    return values


def _started(run: _Run) -> float | None:
    if not (match := run.facts.get("time")):
        return None
    try:
        return datetime.strptime(match[1], "%d %b %Y %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _total(results: Sequence[_Result]) -> _Result | None:
    sums = [result for result in results if result.stream == "SUM"]
    if len(sums) == 1:
        return sums[0]
    return results[0] if len(results) == 1 else None


def _figures(run: _Run) -> dict[str, Scalar]:
    udp, ways = _udp(run), _ways(run)
    flows, complete = [], True
    for sender, receiver, role in ways:
        of_way = [result for result in run.summary if result.role == role]
        data = _flow(run, of_way, sender, receiver, udp)
        if run.server and sender == "remote" and len(ways) > 1:
            complete = False
            continue
        data.refuse_nonsense()
        flows.append(data)
    if run.test and run.test[5]:
        refuse_short(flows[0].elapsed or 0.0, float(run.test[5]))
    figures = figures_of(flows, "iperf3", complete=complete)
    if cpu := run.facts.get("cpu"):
        figures |= process_cpu(float(cpu[2]), float(cpu[3]), server=run.server)
    windows = [
        result.tcp[1]
        for result in run.intervals
        if result.tcp and result.tcp[1] and result.stream != "SUM"
    ]
    if windows and not udp and (ways[0][0] == "local") != run.server and len(ways) == 1:
        figures[f"{ways[0][0]}_cwnd_bytes"] = fmean(windows)
    return figures


def _flow(
    run: _Run, results: Sequence[_Result], sender: str, receiver: str, udp: bool
) -> FlowCounts:
    sent, got, unlabelled = (
        _total([result for result in results if result.party == party])
        for party in ("sender", "receiver", "")
    )
    own = "remote" if run.server else "local"
    if run.server:  # a server prints 0 for the client's counts
        sent, got = (sent, None) if sender == own else (None, got)
    if sent is None and got is None and unlabelled is None:
        raise ToolFailure("iperf3 printed no summary of all streams")
    if unlabelled is not None and sent is None and got is None:
        return _unlabelled(run, unlabelled, sender, receiver)
    return flow(sender, receiver, sent, got, udp=udp)


def _unlabelled(run: _Run, line: _Result, sender: str, receiver: str) -> FlowCounts:
    """Return the counts of a UDP flow before 3.7.

    A server's summary has no bytes, so its interim results are added up.
    """
    if not line.datagrams:
        raise ToolFailure("iperf3 printed a summary without sender and receiver")
    jitter, lost, packets = line.datagrams
    loss = lost_pct(lost, packets)
    arrived = line.count * (1 - loss / 100) if loss is not None else None
    seconds = line.seconds
    if not line.count:
        every = [r for r in run.intervals if r.stream == "SUM"] or run.intervals
        seconds = sum(result.seconds for result in every)
        arrived = sum(result.count for result in every) if every else 0.0
    return FlowCounts(
        sender,
        receiver,
        sent=line.count if line.count and not run.server else None,
        sent_s=line.seconds,
        arrived=arrived,
        arrived_s=seconds or line.seconds,
        loss_pct=loss,
        jitter_us=jitter,
        datagrams=True,
    )


def _interim(run: _Run, origin: float) -> Iterator[Mapping[str, float]]:
    ways = _ways(run)
    own = "remote" if run.server else "local"
    timelines = []
    for sender, _, role in ways:
        results = [result for result in run.intervals if result.role == role]
        timelines.append(timeline(results, own, sends=own == sender, udp=_udp(run)))
    yield from rows(timelines, origin, one_way=len(ways) == 1)
