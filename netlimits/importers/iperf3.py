"""iperf3's `-J` documents, one or several after another, of a client or of a server.

What `--json-stream` prints is put together to such documents first (iperf3_stream).

A client's document is read as that of a run of ours (tools.iperf3.results): throughput is what
arrived, and CPU is one process's, 100 being one core, in columns that say so. "Local" is the
client's end whoever wrote the document. Of a server's only its own side is read: for what it cannot
know (what a client sent) it prints zeros, and for its client's CPU that of the client before
(observed in 3.12).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeGuard

from netlimits.errors import ToolFailure
from netlimits.importers import iperf3_stream
from netlimits.importers.base import LARGEST, Given, Imported, SourceText, clean
from netlimits.model import Command, Completed, Scalar, Status
from netlimits.tools.iperf3.results import measurement

SERVER_ENDED = "interrupt - the server has terminated"
"""The document that a server writes when it is stopped: no run. Later ones add the signal."""

SHORT = 0.9
"""The share of its duration that a run must have lasted, as for runs of ours."""

LEAST_MSS = 88

_NO_CLOCK = "000000000.0\n"
"""Where a run of ours has its host's clock: unknown, so that the document's whole second counts."""


def claims(source: SourceText) -> bool:
    """Whether the file begins as JSON does."""
    return source.text.lstrip()[:1] == "{"


def read(source: SourceText, given: Given) -> list[Imported]:
    """One run a document. Raises DataError for what is no JSON, or none of iperf3's."""
    runs = []
    try:
        for line, document in iperf3_stream.documents(_documents(source)):
            ended = "end" in document or "intervals" in document
            if not isinstance(document.get("start"), dict) or not ended:
                source.refuse(line, "is JSON, but not of iperf3 -J (no `start` and `end`)")
            if not str(document.get("error", "")).startswith(SERVER_ENDED):
                runs.append(_run(line, document))
    except iperf3_stream.Strange as error:
        source.refuse(error.line, str(error))
    if not runs:
        source.refuse(1, "holds no run: the server ended before one")
    return runs


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
            source.refuse(source.line_at(error.pos), f"is no whole JSON document: {error.msg}")
        except (ValueError, RecursionError) as error:
            source.refuse(line, f"is no JSON that can be read: {clean(str(error))}")
        if not isinstance(document, dict):
            source.refuse(line, "is JSON, but not of iperf3 -J")
        yield line, document
        line += text.count("\n", began, at)


def _run(line: int, document: Mapping[str, Any]) -> Imported:
    start = document["start"]
    test = _part(start, "test_start")
    began = _part(start, "timestamp").get("timesecs")
    started = float(began) if _is_number(began) else None
    server = "accepted_connection" in start
    values = _factors(start, test, document, server)
    try:
        if "end" not in document and "error" not in document:
            raise ToolFailure("the stream has no `end`: the run did not come to its end")
        if "error" in document:
            raise ToolFailure(clean(str(document["error"])) or "it failed and does not say why")
        figures, interim = (_of_server if server else _of_client)(document, test)
    except ToolFailure as error:
        status: Status = "invalid" if error.status == "invalid" else "failed"
        return Imported(line, status, clean(str(error)), values, started=started)
    return Imported(line, "ok", "", values, figures, interim, started)


def _factors(
    start: Mapping[str, Any], test: Mapping[str, Any], document: Mapping[str, Any], server: bool
) -> dict[str, Scalar]:
    """The factors: how the test was configured, as far as the document says."""
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
    """Figures and interim results, read as a run of ours is, with options as the document says."""
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
        raise ToolFailure("its figures contradict one another") from None
    figures = dict(measured.figures)
    if not figures.get("transport_mss_bytes"):
        figures.pop("transport_mss_bytes", None)
    if any(_is_number(figure) and not abs(figure) < LARGEST for figure in figures.values()):
        raise ToolFailure("a figure in it cannot be")
    return figures, measured.interim


def _of_server(
    document: Mapping[str, Any], test: Mapping[str, Any]
) -> tuple[dict[str, Scalar], tuple[Mapping[str, float], ...]]:
    """Figures of what the server itself sent or received, and its CPU; it knows no others.

    Throughput is known where it received, and nothing went the other way as well.
    """
    end = _part(document, "end")
    if not end:
        raise ToolFailure("`end` is empty: the run did not come to its end")
    both_ways = "sum_received_bidir_reverse" in end
    sends = test.get("reverse") == 1
    key = "sum_sent" if sends else "sum_received"
    rate, seconds = (_part(end, key).get(name) for name in ("bits_per_second", "seconds"))
    if not _is_number(rate) or not _is_number(seconds):
        raise ToolFailure(f"iperf3 printed no end.{key}")
    if rate <= 0:
        raise ToolFailure("throughput is 0: no data went through; is the data path open?")
    duration = test.get("duration")
    if _is_number(duration) and seconds < SHORT * duration:
        raise ToolFailure(f"it ended after {seconds:g} s of {duration:g} s", status="invalid")
    figures: dict[str, Scalar] = {"elapsed_s": float(seconds)}
    column = "remote_send_throughput_mbps" if sends else "remote_recv_throughput_mbps"
    figures[column] = rate / 1e6
    if not sends and not both_ways:
        figures["throughput_mbps"] = rate / 1e6
    cpu = _part(end, "cpu_utilization_percent").get("host_total")
    if _is_number(cpu):
        figures["iperf3_remote_process_cpu_pct"] = float(cpu)
    return figures, ()


def _part(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = of.get(key)
    return part if isinstance(part, dict) else {}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
