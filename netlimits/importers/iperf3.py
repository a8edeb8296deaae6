"""iperf3's `-J` documents of a client or a server, one or several in a file, and `--json-stream`.

A client's document is parsed as that of our own runs (tools.iperf3.results): throughput is what
arrived, and CPU is that of one process, 100 being one core, in columns that say so. "Local" is the
client's end in both. From a server's document only its own side is read: for what the client sent
it prints zeros, and for the client's CPU that of the previous client (observed in 3.12).

`--json-stream` (3.17 and later) prints one event a line, which are joined into such a document:

    {"event":"start","data":{…}}     {"event":"interval","data":{…}}     {"event":"end","data":{…}}

Between them stand `error`, with a text as data, and `server_output_json` or `_text`, which come
from the other end. With `--json-stream-full-output` the events are followed by the whole document
of the same run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeGuard

from netlimits.errors import ToolFailure
from netlimits.importers.base import LARGEST, Given, ImportedRun, SourceText, clean
from netlimits.model import Command, Completed, Scalar, Status
from netlimits.tools.iperf3.results import measurement

SERVER_ENDED = "interrupt - the server has terminated"
"""Start of the error in a server's document when the server is stopped. It belongs to no run."""

SHORT = 0.9
"""Share of its duration that a run must have lasted, as for our own runs."""

LEAST_MSS = 88

EVENTS = ("start", "interval", "end", "error", "server_output_json", "server_output_text")

_NO_CLOCK = "000000000.0\n"
"""Stands for the host's clock, which an imported document lacks; its whole second counts then."""


def claims(source: SourceText) -> bool:
    return source.text.lstrip()[:1] == "{"


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    """Return a run for each document.

    Raises:
        DataError: The file is not JSON, or not iperf3's.
    """
    runs = []
    for line, document in _runs(source):
        ended = "end" in document or "intervals" in document
        if not isinstance(document.get("start"), dict) or not ended:
            source.refuse(line, "is JSON, but not of iperf3 -J (no `start` and `end`)")
        if not str(document.get("error", "")).startswith(SERVER_ENDED):
            runs.append(_run(line, document))
    if not runs:
        source.refuse(1, "contains no run: the server was stopped before one")
    return runs


def _runs(source: SourceText) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each run's line and document, with the events of a stream joined into one document."""
    run: dict[str, Any] | None = None
    began, streamed = 0, ""
    for line, document in _documents(source):
        if "event" not in document:
            if run is not None:
                yield began, run
            if not streamed or _cookie(document) != streamed:
                yield line, document
            run, streamed = None, ""
            continue
        event, data = document["event"], document.get("data")
        _check(source, line, event, data)
        if event == "start" and run is not None:
            yield began, run
            run = None
        if run is None:
            began, run = line, {"start": {}, "intervals": []}
        if event == "interval":
            run["intervals"].append(data)
        else:
            run[event] = data
        if event == "end":
            yield began, run
            streamed = _cookie(run)
            run = None
    if run is not None:
        yield began, run


def _check(source: SourceText, line: int, event: Any, data: Any) -> None:
    if not isinstance(event, str) or event not in EVENTS:
        source.refuse(line, "is JSON, but not an event of iperf3 --json-stream")
    kind: type = str if event in ("error", "server_output_text") else dict
    if not isinstance(data, kind):
        source.refuse(line, f"the event {event} has no data")


def _cookie(document: Mapping[str, Any]) -> str:
    """Return the cookie that identifies a run, "" if the document has none."""
    start = document.get("start")
    cookie = start.get("cookie") if isinstance(start, dict) else None
    return cookie if isinstance(cookie, str) else ""


def _documents(source: SourceText) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    at, line, text = 0, 1, source.text
    while at < len(text):
        if text[at].isspace():
            line += text[at] == "\n"
            at += 1
            continue
        began = at
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            source.refuse(
                source.line_at(error.pos), f"is not a complete JSON document: {error.msg}"
            )
        except (ValueError, RecursionError) as error:
            source.refuse(line, f"is not valid JSON: {clean(str(error))}")
        if not isinstance(document, dict):
            source.refuse(line, "is JSON, but not of iperf3 -J")
        yield line, document
        line += text.count("\n", began, at)


def _run(line: int, document: Mapping[str, Any]) -> ImportedRun:
    start = document["start"]
    test = _part(start, "test_start")
    began = _part(start, "timestamp").get("timesecs")
    started = float(began) if _is_number(began) else None
    server = "accepted_connection" in start
    values = _factors(start, test, document, server)
    try:
        if "end" not in document and "error" not in document:
            raise ToolFailure("the stream has no `end` event: the run was interrupted")
        if "error" in document:
            raise ToolFailure(clean(str(document["error"])) or "iperf3 failed without a message")
        figures, interim = (_of_server if server else _of_client)(document, test)
    except ToolFailure as error:
        status: Status = "invalid" if error.status == "invalid" else "failed"
        return ImportedRun(line, status, clean(str(error)), values, started=started)
    return ImportedRun(line, "ok", "", values, figures, interim, started)


def _factors(
    start: Mapping[str, Any], test: Mapping[str, Any], document: Mapping[str, Any], server: bool
) -> dict[str, Scalar]:
    """Return the factors that the document states."""
    values: dict[str, Scalar] = {"tool": "iperf3", "reported_by": "server" if server else "client"}
    end = document.get("end")
    end = end if isinstance(end, dict) else {}
    if isinstance(test.get("protocol"), str):
        values["protocol"] = clean(test["protocol"]).lower()
    if test:
        values["direction"] = "recv" if test.get("reverse") == 1 else "send"
        if "sum_received_bidir_reverse" in end:
            values["direction"] = "bidir"
    names = {"send_size": "blksize", "streams": "num_streams"}
    values |= {name: test[key] for name, key in names.items() if _is_count(test.get(key))}
    target = test.get("target_bitrate")
    if _is_number(target) and target > 0:
        values["target_mbps"] = target / 1e6
    mss = start.get("tcp_mss") or start.get("tcp_mss_default")
    if _is_count(mss) and mss > 0:
        values["mss"] = mss
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):  # the sender's counts
        if isinstance(end.get(key), str) and end[key]:
            values.setdefault("congestion_control", clean(end[key]))
    return values


def _of_client(
    document: Mapping[str, Any], test: Mapping[str, Any]
) -> tuple[dict[str, Scalar], tuple[Mapping[str, float], ...]]:
    """Return figures and interim results, parsed as for our runs with the document's options."""
    start = dict(document["start"])
    options: dict[str, Any] = {
        "protocol": str(test.get("protocol", "")).lower(),
        "reverse": test.get("reverse") == 1,
        "bidirectional": "sum_received_bidir_reverse" in _part(document, "end"),
        "seconds": test["duration"] if _is_count(test.get("duration")) else 0,
        "parallel": test["num_streams"] if _is_count(test.get("num_streams")) else 1,
        "interim_seconds": 1,
    }
    if "tcp_mss_default" not in start:  # -M was given, and start.tcp_mss only echoes it
        mss = start.get("tcp_mss")
        if _is_count(mss) and mss >= LEAST_MSS and not options["reverse"]:
            options["mss"] = mss
        start["tcp_mss_default"] = 0
    text = _NO_CLOCK + json.dumps({**document, "start": start})
    completed = Completed("import", Command(("iperf3", "-J")), 0, text, "", 0.0)
    try:
        measured = measurement(completed, options, 0.0)
    except ArithmeticError:
        raise ToolFailure("its figures contradict each other") from None
    figures = dict(measured.figures)
    if not figures.get("transport_mss_bytes"):
        figures.pop("transport_mss_bytes", None)
    if any(_is_number(figure) and not abs(figure) < LARGEST for figure in figures.values()):
        raise ToolFailure("a figure in it is out of range")
    return figures, measured.interim


def _of_server(
    document: Mapping[str, Any], test: Mapping[str, Any]
) -> tuple[dict[str, Scalar], tuple[Mapping[str, float], ...]]:
    """Return the figures that the server measured: what it sent or received, and its CPU.

    `throughput_mbps` is among them only if the server received and nothing went the other way.
    """
    end = _part(document, "end")
    if not end:
        raise ToolFailure("`end` is empty: the run was interrupted")
    both_ways = "sum_received_bidir_reverse" in end
    sends = test.get("reverse") == 1
    key = "sum_sent" if sends else "sum_received"
    rate, seconds = (_part(end, key).get(name) for name in ("bits_per_second", "seconds"))
    if not _is_number(rate) or not _is_number(seconds):
        raise ToolFailure(f"iperf3 printed no end.{key}")
    if rate <= 0:
        raise ToolFailure("throughput is 0: no data arrived; is the data path open?")
    duration = test.get("duration")
    if _is_number(duration) and seconds < SHORT * duration:
        raise ToolFailure(f"the run ended after {seconds:g} s of {duration:g} s", status="invalid")
    figures: dict[str, Scalar] = {"elapsed_s": float(seconds)}
    column = "remote_send_throughput_mbps" if sends else "remote_recv_throughput_mbps"
    figures[column] = rate / 1e6
    if not sends and not both_ways:
        figures["throughput_mbps"] = rate / 1e6
    cpu = _part(end, "cpu_utilization_percent").get("host_total")
    if _is_number(cpu):
        figures["iperf3_remote_process_cpu_pct"] = float(cpu)
    return figures, ()


def _part(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = document.get(key)
    return part if isinstance(part, dict) else {}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
