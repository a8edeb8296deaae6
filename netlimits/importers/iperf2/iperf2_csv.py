"""iperf 2's `-y C`: one line for each interim result and each stream, with or without a header.

iperf 2.0 prints its own address and port first. If that port is 5001 or not ephemeral, it is a
server. Versions from 2.1 print the client's address first, on both ends. Unless a header or UDP
loss shows which end printed the file, the user must state it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from netlimits.importers.base import Given, ImportedRun, SourceText
from netlimits.importers.iperf2.runs import Iperf2Run, Result, finished

_ROW = re.compile(
    r"(?P<time>[\d.:+-]{10,40}),(?P<first>[\w.:%]{1,80}),(?P<port>\d{1,5}),"
    r"(?P<second>[\w.:%]{1,80}),(?P<peer>\d{1,5}),(?P<id>-?\d{1,9}),"
    r"(?P<start>\d{1,9}\.\d{1,6})[-,](?P<end>\d{1,9}\.\d{1,6}),"
    r"(?P<bytes>-?\d{1,18}),(?P<speed>-?\d{1,18})(?P<rest>(?:,[^,]{0,40}){0,40})"
)
_HEADER = re.compile(
    r"time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed(,\w+)*"
)
_PORT, _EPHEMERAL = 5001, 32768
_SOCKET = 3
"""Smallest stream id in 2.0, whose ids are numbers of sockets. Later versions begin at 1."""
_YEAR = 2000
"""An earlier year is not the time of a test: some builds of 2.1 print 1970."""


def claims(source: SourceText) -> bool:
    """Return True if the text has rows of `-y C`, and no other line with as many fields."""
    lines = [line.strip() for line in source.lines if line.count(",") >= 8]
    return any(map(_ROW.fullmatch, lines)) and all(
        _ROW.fullmatch(line) or _HEADER.fullmatch(line) for line in lines
    )


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    runs: list[Iperf2Run] = []
    names: list[str] = []
    seen: dict[str, float] = {}
    ends: dict[str, set[str]] = {}
    summed = False
    for number, line in enumerate(map(str.strip, source.lines), 1):
        if _HEADER.fullmatch(line):
            names = line.split(",")[10:]
        match = _ROW.fullmatch(line)
        if match is None:
            continue
        time, result = _seconds(match["time"]), _result(match, names)
        key = _connection(match)
        own = result.stream != "SUM"
        if not runs or (own and _begins(key, seen, time, result, summed)):
            runs.append(Iperf2Run(number, server=False))
            seen, summed, ends = {}, False, {"first": set(), "second": set()}
        run = runs[-1]
        if result.datagrams:
            run.protocol = "udp"
            result = replace(result, reported=True)
        elif _received(source, number, match, names, given, run.protocol):
            run.server = True
        if _is_service(match) and not result.datagrams:
            run.back.add(result.stream)
        if time and run.started is None:
            run.started = time - result.end
        summed |= not own
        if own and not result.datagrams:
            for end, addresses in ends.items():
                addresses.add(match[end])
            run.full |= bool(ends["first"] & ends["second"]) and match["first"] != match["second"]
        if own and result.start == 0:
            seen[key] = max(time, seen.get(key, 0.0))
        run.streams.append(result.stream)
        run.results.append(result)
        run.line = number
    served = given.factors.get("reported_by") == "server"
    return [finished(_complete(run, served)) for run in runs]


def _begins(key: str, seen: Mapping[str, float], time: float, result: Result, summed: bool) -> bool:
    """Return True if a row begins another test: a new connection after a sum, or a late one.

    Streams of one test begin within half the test's length, or within 1 s if that is longer.
    """
    if key in seen or not seen:
        return False
    delay = time - max(seen.values())
    return summed or delay > max(1.0, 0.5 * result.seconds)


def _received(
    source: SourceText,
    number: int,
    match: re.Match[str],
    names: list[str],
    given: Given,
    protocol: str,
) -> bool:
    """Return True if a row counts data that arrived, False if it counts data that was sent."""
    if "readcnt" in names or "writecnt" in names:
        return "readcnt" in names
    values = match["rest"].split(",")[1:]
    if (len(values) >= 5 and values[2] == "-1") or protocol == "udp":
        return False  # a client does not know the loss
    if given.factors.get("reported_by") in ("client", "server"):
        return given.factors["reported_by"] == "server"
    if match["id"] == "-1":
        return False
    if _is_service(match):
        return True
    if int(match["id"]) < _SOCKET:
        source.refuse(
            number,
            "iperf 2.1 and later print the same lines on both ends; state whose they are with "
            "--given reported_by=client or reported_by=server",
        )
    return False


def _is_service(match: re.Match[str]) -> bool:
    """Return True if the first port is a server's. In 2.0 that row counts received data."""
    local, peer = int(match["port"]), int(match["peer"])
    return match["id"] != "-1" and (local == _PORT or 0 < local < _EPHEMERAL <= peer)


def _complete(run: Iperf2Run, served: bool) -> Iperf2Run:
    """Set the fields that depend on all rows: which end printed them, directions, protocol."""
    own = [result for result in run.results if not result.reported]
    if not own:
        run.server = True
        run.results = [replace(result, reported=False) for result in run.results]
    elif {result.stream for result in run.results} - {result.stream for result in own}:
        run.full = True  # --full-duplex: reports for datagrams of both directions
    if run.both:
        run.server = served
        run.back = set() if run.full else run.back
        if served:
            run.back = set(run.streams) - run.back - {"SUM"}
    else:
        run.back = set()
    run.protocol = run.protocol or ("tcp" if any(result.tcp for result in run.results) else "")
    return run


def _result(match: re.Match[str], names: list[str]) -> Result:
    values = match["rest"].split(",")[1:]
    more = dict(zip(names, values, strict=False))
    jitter = more.get("jitter"), more.get("errors"), more.get("datagrams")
    if not names and len(values) >= 5:
        jitter = values[0], values[1], values[2]
    numbers = [_number(text) for text in jitter]
    datagrams = tcp = None
    if numbers[0] is not None and numbers[1] is not None and (numbers[2] or 0) > 0:
        datagrams = (1000 * max(0.0, numbers[0]), numbers[1], numbers[2] or 0.0)
    retries, window, rtt = (_number(more.get(key)) for key in ("tcpretry", "tcpcwnd", "tcprtt"))
    if retries is not None:
        tcp = (retries, window * 1024 if window and window > 0 else None, rtt or None)
    stream = "SUM" if match["id"] == "-1" else _connection(match)
    start, end = float(match["start"]), float(match["end"])
    # bytes / seconds would be a less exact rate: times have only one decimal
    count = max(0.0, float(match["speed"])) / 8 * (end - start)
    return Result(stream, start, end, count, datagrams, tcp)


def _connection(match: re.Match[str]) -> str:
    """Return the ports of a connection as one text, the same for both ends."""
    return "/".join(sorted(match.group("port", "peer"), key=int))


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"-?\d{1,15}(\.\d{1,9})?", text) else None


def _seconds(text: str) -> float:
    """Convert a local time, taken as UTC since its zone is unknown, to seconds; 0 if invalid."""
    digits = re.search(r"\d{14}", text)
    if digits is None or int(digits[0][:4]) < _YEAR:
        return 0.0
    try:
        return datetime.strptime(digits[0], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
