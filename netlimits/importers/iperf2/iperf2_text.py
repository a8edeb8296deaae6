"""iperf 2's text output, 2.0 to 2.2, of clients and servers, with enhanced reports (-e).

The line that begins at 0 and ends last describes the whole run. Two directions at the same time
(-d, --full-duplex) are one run; two directions in succession (-r) are two runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netlimits.importers.base import Given, ImportedRun, SourceText, clean
from netlimits.importers.iperf2.runs import Iperf2Run, Result, finished, whole_lines
from netlimits.importers.rates import AMOUNT, RATE, amount, bytes_in
from netlimits.model import Scalar

ID = r"\[ *(?P<id>\*?\d{1,9}|SUM(?:-\d{1,9}|-cnt)?|FD\d{1,9})\]"
_LINE = re.compile(
    ID + r" +(?P<start>\d{1,9}\.\d{1,6}) *- *(?P<end>\d{1,9}\.\d{1,6}) +sec +"
    rf"{AMOUNT} +{RATE}(?P<rest>.*)"
)
_CLIENT = re.compile(r"Client connecting to (\S+), (TCP|UDP) port \d+.*")
_SERVER = re.compile(r"Server listening on (TCP|UDP) port (\d+).*")
_CONNECTED = re.compile(
    ID + r" local \S+ port (?P<port>\d+) connected with (?P<peer>\S+) port \d+(?P<about>.*)"
)
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


def claims(source: SourceText) -> bool:
    return any(
        _CLIENT.fullmatch(line) or _SERVER.fullmatch(line) or _LINE.fullmatch(line)
        for _, line in source.stripped()
    )


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return [finished(run) for run in _runs(source) if run.streams or run.results or run.error]


def _runs(source: SourceText) -> Iterator[Iperf2Run]:
    run: Iperf2Run | None = None
    protocol, listens, serving, facts = "", "", False, dict[str, Scalar]()
    reported = ""
    for number, line in source.stripped():
        if banner := _SERVER.fullmatch(line):
            if run is not None:
                yield run
            run, facts = None, {}
            protocol, listens, serving = banner[1].lower(), banner[2], True
        elif banner := _CLIENT.fullmatch(line):
            protocol = banner[2].lower()
            if run is not None and run.streams and not run.results and not run.error:
                # the banner belongs to this run, whose `connected` lines were printed before it
                run.protocol, run.answers = protocol, serving
                continue
            if run is not None:
                yield run
            # -r: after the first test the server connects to the client and prints this banner
            answers = serving and run is not None and run.peer == banner[1]
            run, facts = Iperf2Run(number, answers, protocol, reverse=answers), {}
            run.listens, serving = listens if serving else "", answers
        connected = _CONNECTED.fullmatch(line)
        if connected and run is not None and whole_lines(run.results):
            # -r: after its test the client accepts the server's connection
            returns = bool(run.listens) and connected["port"] == run.listens
            if serving or returns:
                yield run
                run = Iperf2Run(number, serving, protocol, reverse=returns)
        elif run is None and not serving and (_LINE.fullmatch(line) or _ERROR.fullmatch(line)):
            run = Iperf2Run(number, server=False, protocol=protocol)
        elif run is None and connected:
            run = Iperf2Run(number, serving, protocol)
        facts |= _facts(line)
        if run is None:
            continue
        run.values |= facts
        if connected:
            _connect(run, connected, listens)
        elif report := _REPORT.fullmatch(line):
            reported = report["id"]
        elif error := _ERROR.fullmatch(line):
            run.error = run.error or error[1] or error[2]
        elif match := _LINE.fullmatch(line):
            result = _result(match, reported == match["id"].lstrip("*"))
            reported = ""
            run.full |= match["id"].startswith("FD")
            if run.full and result.stream.startswith("*"):
                run.back.add(result.stream)
            run.results.append(result)
            run.line = number
    if run is not None:
        yield run


def _connect(run: Iperf2Run, connected: re.Match[str], listens: str) -> None:
    stream, about = connected["id"], connected["about"]
    run.streams.append(stream)
    run.peer = connected["peer"]
    run.full |= "(full-duplex)" in about
    returns = bool(run.listens) and connected["port"] == run.listens and not run.reverse
    if returns or (run.answers and connected["port"] != listens):
        run.back.add(stream)
    elif "(reverse)" in about:
        run.reverse = True
    if mss := _MSS.search(about):
        run.values["mss"] = int(mss[1])


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
    name = "SUM" if match["id"].startswith(("SUM", "FD")) else match["id"]
    return Result(name, start, end, count, datagrams, tcp, reported)
