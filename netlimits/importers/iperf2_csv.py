"""iperf 2's `-y C`: one line for each interim result and each stream, with or without a header.

The basic lines have 9 fields, with jitter and loss 14; 2.2 prints a header with more (`-e`). The
addresses are those of the end that printed it and of its peer, so the ports tell which of them is
the server: 5001, or one below the ephemeral ports. A line of the server is of what arrived, one of
a TCP client of what was sent, as is one of a UDP client that has no loss.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from netlimits.importers.base import Given, ImportedRun, SourceText
from netlimits.importers.iperf2 import Iperf2Run, Result, finished

_ROW = re.compile(
    r"(?P<time>[\d.:+-]{10,40}),(?P<local>[\w.:%]{1,80}),(?P<lport>\d{1,5}),(?P<peer>[\w.:%]{1,80}),"
    r"(?P<pport>\d{1,5}),(?P<id>-?\d{1,9}),(?P<start>\d{1,9}\.\d{1,6})(?P<by>[-,])(?P<end>\d{1,9}\.\d{1,6}),"
    r"(?P<bytes>-?\d{1,18}),(?P<speed>-?\d{1,18})(?P<rest>(?:,[^,]{0,40}){0,40})"
)
_HEADER = re.compile(
    r"time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed(,\w+)*"
)
_PORT, _EPHEMERAL = 5001, 32768


def claims(source: SourceText) -> bool:
    """Return True if every line is such a row or header."""
    lines = [line.strip() for line in source.lines if line.strip()]
    return any(map(_ROW.fullmatch, lines[:2])) and all(
        _ROW.fullmatch(line) or _HEADER.fullmatch(line) for line in lines
    )


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    """Return a run for each test.

    Raises:
        DataError: The ports do not tell the client from the server.
    """
    runs: list[Iperf2Run] = []
    names: list[str] = []
    seen: dict[str, float] = {}
    summed = False
    for number, line in enumerate(map(str.strip, source.lines), 1):
        if _HEADER.fullmatch(line):
            names = line.split(",")[10:]
            continue
        match = _ROW.fullmatch(line)
        if match is None:
            continue
        server = _is_server(source, number, match)
        key = f"{match['lport']}/{match['pport']}"
        time, result = _seconds(match["time"]), _result(match, names)
        if result.stream != "SUM" and (not runs or _begins(key, seen, time, result, summed)):
            runs.append(Iperf2Run(number, server=server, protocol="", started=None))
            seen, summed = {}, False
        elif not runs:
            runs.append(Iperf2Run(number, server=server))
        run = runs[-1]
        if result.datagrams:
            run.protocol = "udp"
            result = _reported(result) if not server else result
        if time and run.started is None:
            run.started = time - result.end
        if result.stream == "SUM":
            summed = True
        else:
            seen[key] = max(time, seen.get(key, 0.0)) if result.start == 0 else seen.get(key, 0.0)
        run.streams.append(key)
        run.results.append(result)
        run.line = number
    return [finished(_with_protocol(run)) for run in runs]


def _begins(key: str, seen: Mapping[str, float], time: float, result: Result, summed: bool) -> bool:
    """Return True if a row is the first of another test: its connection is new and so is its time.

    Streams of one test begin within half its length.
    """
    if key in seen:
        return False
    apart = time - max(seen.values(), default=time)
    return summed or apart > max(1.0, 0.5 * result.seconds)


def _is_server(source: SourceText, number: int, match: re.Match[str]) -> bool:
    local, peer = int(match["lport"]), int(match["pport"])
    if (local == _PORT) != (peer == _PORT):
        return local == _PORT
    if (0 < local < _EPHEMERAL) != (0 < peer < _EPHEMERAL):
        return 0 < local < _EPHEMERAL
    if local or peer:  # the sum of all streams has no ports
        source.refuse(number, "the ports do not tell client and server; use iperf without -y")
    return False


def _result(match: re.Match[str], names: list[str]) -> Result:
    values = match["rest"].split(",")[1:]
    more = dict(zip(names, values, strict=False))
    jitter = more.get("jitter"), more.get("errors"), more.get("datagrams")
    if not names and len(values) >= 5:
        jitter = values[0], values[1], values[2]
    datagrams = tcp = None
    numbers = [_number(text) for text in jitter]
    if numbers[0] is not None and numbers[1] is not None and numbers[2]:
        datagrams = (1000 * max(0.0, numbers[0]), numbers[1], numbers[2])
    retries, window, rtt = (_number(more.get(key)) for key in ("tcpretry", "tcpcwnd", "tcprtt"))
    if retries is not None:
        tcp = (retries, window * 1024 if window and window > 0 else None, rtt or None)
    stream = "SUM" if match["id"] == "-1" else f"{match['lport']}/{match['pport']}"
    start, end = float(match["start"]), float(match["end"])
    return Result(stream, start, end, max(0.0, float(match["bytes"])), False, datagrams, tcp)


def _reported(result: Result) -> Result:
    """Return a client's line with loss as what its server reported."""
    return Result(
        result.stream, result.start, result.end, result.count, True, result.datagrams, result.tcp
    )


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"-?\d{1,15}(\.\d{1,9})?", text) else None


def _seconds(text: str) -> float:
    """Return the seconds of a local time, taken as UTC: only differences and the order matter."""
    digits = re.search(r"\d{14}", text)
    try:
        return (
            datetime.strptime(digits[0], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
            if digits
            else 0.0
        )
    except ValueError:
        return 0.0


def _with_protocol(run: Iperf2Run) -> Iperf2Run:
    """Name the protocol, unless a line without loss may be of a UDP client."""
    run.protocol = run.protocol or ("tcp" if any(result.tcp for result in run.results) else "")
    return run
