"""iperf3's `-J` documents of a client or a server, 3.0 to 3.21, and `--json-stream` (3.17).

"Local" is the client's end in both. CPU is that of one process, 100 being one core. What a version
or system does not print is missing and no failure. A server's document prints zeros for what the
client sent, and the previous client's CPU, so only its own side is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.importers.base import SHORT, ImportedRun, SourceText, clean, is_count, is_number
from netlimits.importers.documents import JsonDocument
from netlimits.importers.streams import InterimResult, Parts, figures_of, rows
from netlimits.model import Scalar, Status

SERVER_ENDED = "interrupt - the server has terminated"
"""Start of the error in a server's document when the server is stopped. It belongs to no run."""

LEAST_MSS = 88
TIMESTAMPS = 12
"""Bytes of TCP timestamps in a segment."""

EVENTS = ("start", "interval", "end", "error", "server_output_json", "server_output_text")

Way = tuple[str, str, str]
"""Sender, receiver, and the suffix of the keys of a direction."""
BACK = "_bidir_reverse"
"""Suffix of the keys of what a server sends in a test of both directions."""


def recognizes(document: Mapping[str, Any]) -> bool:
    """Return True for a document of a run, and for an event of a stream."""
    if "event" in document and "data" in document:
        return True
    ended = "end" in document or "intervals" in document
    return ended and isinstance(document.get("start"), dict)


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
    """Return a run for each document."""
    runs = [
        _run(line, document)
        for line, document in _joined(source, documents)
        if not str(document.get("error", "")).startswith(SERVER_ENDED)
    ]
    if not runs:
        source.refuse(1, "contains no run: the server was stopped before one")
    return runs


# -- streams of events ------------------------------------------------------------------------


def _joined(source: SourceText, documents: Sequence[JsonDocument]) -> Iterator[JsonDocument]:
    """Yield each run's line and document, with the events of a stream joined into one document."""
    run: dict[str, Any] | None = None
    began, streamed = 0, ""
    for line, document in documents:
        if "event" not in document:
            if run is not None:
                yield JsonDocument(began, run)
            if not streamed or _cookie(document) != streamed:
                yield JsonDocument(line, document)
            run, streamed = None, ""
            continue
        event, data = document["event"], document.get("data")
        _check(source, line, event, data)
        if event == "start" and run is not None:
            yield JsonDocument(began, run)
            run = None
        if run is None:
            began, run = line, {"start": {}, "intervals": []}
        if event == "interval":
            run["intervals"].append(data)
        else:
            run[event] = data
        if event == "end":
            yield JsonDocument(began, run)
            streamed = _cookie(run)
            run = None
    if run is not None:
        yield JsonDocument(began, run)


def _check(source: SourceText, line: int, event: Any, data: Any) -> None:
    if not isinstance(event, str) or event not in EVENTS:
        source.refuse(line, "is JSON, but not an event of iperf3 --json-stream")
    kind: type = str if event in ("error", "server_output_text") else dict
    if not isinstance(data, kind):
        source.refuse(line, f"the event {event} has no data")


def _cookie(document: Mapping[str, Any]) -> str:
    """Return the cookie that identifies a run, "" if the document has none."""
    cookie = _part(document, "start").get("cookie")
    return cookie if isinstance(cookie, str) else ""


# -- a run ------------------------------------------------------------------------------------


def _run(line: int, document: Mapping[str, Any]) -> ImportedRun:
    start = _part(document, "start")
    test = _part(start, "test_start")
    began = _part(start, "timestamp").get("timesecs")
    started = float(began) if is_number(began) and began > 0 else None
    server = "accepted_connection" in start
    values = _factors(start, test, document, server)
    try:
        if "error" in document:
            raise ToolFailure(clean(str(document["error"])) or "iperf3 failed without a message")
        if "end" not in document:
            raise ToolFailure("the stream has no `end` event: the run was interrupted")
        if not _part(document, "end"):
            raise ToolFailure("`end` is empty: the run was interrupted")
        figures = _figures(document, test, server)
        interim = tuple(_interim(document, test, server, started or 0.0))
    except ToolFailure as error:
        status: Status = "invalid" if error.status == "invalid" else "failed"
        return ImportedRun(line, status, clean(str(error)), values, started=started)
    return ImportedRun(line, "ok", "", values, figures, interim, started)


def _factors(
    start: Mapping[str, Any], test: Mapping[str, Any], document: Mapping[str, Any], server: bool
) -> dict[str, Scalar]:
    """Return the factors that the document states."""
    values: dict[str, Scalar] = {"tool": "iperf3", "reported_by": "server" if server else "client"}
    end = _part(document, "end")
    if isinstance(test.get("protocol"), str):
        values["protocol"] = clean(test["protocol"]).lower()
    if test:
        values["direction"] = "recv" if test.get("reverse") == 1 else "send"
        if _both_ways(test, end):
            values["direction"] = "bidir"
    names = {"send_size": "blksize", "streams": "num_streams"}
    values |= {name: test[key] for name, key in names.items() if is_count(test.get(key))}
    target = test.get("target_bitrate")
    if is_number(target) and target > 0:
        values["target_mbps"] = target / 1e6
    mss = start.get("tcp_mss") or start.get("tcp_mss_default")
    if is_count(mss) and mss > 0:
        values["mss"] = mss
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):  # the sender's counts
        if isinstance(end.get(key), str) and end[key]:
            values.setdefault("congestion_control", clean(end[key]))
    return values


def _both_ways(test: Mapping[str, Any], end: Mapping[str, Any]) -> bool:
    return test.get("bidir") == 1 or f"sum_received{BACK}" in end or f"sum{BACK}" in end


def _ways(test: Mapping[str, Any], end: Mapping[str, Any]) -> list[Way]:
    """Return the directions of a run's data."""
    if _both_ways(test, end):
        return [("local", "remote", ""), ("remote", "local", BACK)]
    return [("remote", "local", "")] if test.get("reverse") == 1 else [("local", "remote", "")]


def _figures(
    document: Mapping[str, Any], test: Mapping[str, Any], server: bool
) -> dict[str, Scalar]:
    """Return the figures of a client, or those that a server measured itself."""
    end, udp = _part(document, "end"), str(test.get("protocol", "")).lower() == "udp"
    ways = _ways(test, end)
    flows = [_flow(end, test, way, udp) for way in ways]
    if server:
        flows = [_of_server(flows[0])]
    _refuse(document, test, flows, server)
    figures = figures_of(
        [flow.parts for flow in flows], "iperf3", whole=not server or len(ways) == 1
    )
    if udp and (loss := _own_loss(flows)) is not None:
        figures["iperf3_loss_pct"] = loss
    figures |= _of_connections(document, test, ways, server)
    if not udp and not server and (mss := _mss(document, test)):
        figures["transport_mss_bytes"] = mss
    cpu = _part(end, "cpu_utilization_percent")
    ends = {"remote": "host_total"} if server else {"local": "host_total", "remote": "remote_total"}
    for end_name, key in ends.items():
        if is_number(used := cpu.get(key)):
            if used < 0:
                raise ToolFailure(f"{key} is {used:g} % CPU, less than 0", status="invalid")
            figures[f"iperf3_{end_name}_process_cpu_pct"] = float(used)
    return figures


@dataclass(frozen=True, slots=True)
class _Flow:
    """The bytes of one direction, and the datagrams that the receiver counted as lost."""

    parts: Parts
    lost: float | None = None
    packets: float | None = None


def _flow(end: Mapping[str, Any], test: Mapping[str, Any], way: Way, udp: bool) -> _Flow:
    sender, receiver, suffix = way
    sent, got = (_part(end, f"sum_{which}{suffix}") for which in ("sent", "received"))
    total = _part(end, f"sum{suffix}")
    if udp and not sent and not got:
        return _before_312(total, way)
    if not sent and not got:
        raise ToolFailure(f"iperf3 printed no end.sum_received{suffix}")
    size = test.get("blksize")
    count = _number(sent, "bytes")
    datagrams = _number(sent, "packets")
    streams = test["num_streams"] if is_count(test.get("num_streams")) else 1
    if udp and count is not None and is_count(size) and datagrams:
        # 3.18 leaves a datagram of each stream out of the bytes; where the count is larger by
        # more, it is the server's and includes omitted seconds
        count = datagrams * size if datagrams * size <= count + streams * size else count
    parts = Parts(
        sender,
        receiver,
        sent=count or None,
        sent_s=_number(sent, "seconds"),
        arrived=_number(got, "bytes"),
        arrived_s=_number(got, "seconds"),
        retransmits=None if udp else _number(sent, "retransmits"),
        jitter_us=_times(_number(got, "jitter_ms") if udp else None, 1000),
        datagrams=udp,
    )
    lost, packets = (_number(got, key, least=None) for key in ("lost_packets", "packets"))
    if lost is None and udp:
        lost, packets = (_number(total, key, least=None) for key in ("lost_packets", "packets"))
    flow = _Flow(parts, lost, packets)
    if udp and not datagrams:  # the sender's bytes include what was under way at the end
        flow = replace(flow, parts=replace(parts, loss_pct=_own_loss([flow])))
    return flow


def _before_312(total: Mapping[str, Any], way: Way) -> _Flow:
    """Return the flow of UDP of a version that prints `end.sum` only, whose bytes were sent."""
    sent, seconds = _number(total, "bytes"), _number(total, "seconds")
    lost, packets = (_number(total, key, least=None) for key in ("lost_packets", "packets"))
    if sent is None or seconds is None:
        raise ToolFailure("iperf3 printed neither end.sum_received nor end.sum")
    arrived = None
    if packets and lost is not None:
        arrived = sent * (1 - min(1.0, max(0.0, lost / packets)))
    rate = _number(total, "bits_per_second")  # over the sender's seconds, as the bytes are
    parts = Parts(
        way[0],
        way[1],
        sent=sent or None,
        sent_s=sent * 8 / rate if sent and rate else seconds,
        arrived=arrived,
        arrived_s=seconds,
        jitter_us=_times(_number(total, "jitter_ms"), 1000),
        datagrams=True,
    )
    return _Flow(parts, lost, packets)


def _of_server(flow: _Flow) -> _Flow:
    """Return what a server knows: what arrived there, or what it sent."""
    of = flow.parts
    if of.sender == "remote":
        parts = replace(of, arrived=None, arrived_s=None, jitter_us=None)
    else:
        loss = _own_loss([flow]) if of.datagrams else None
        parts = replace(of, sent=None, sent_s=None, retransmits=None, loss_pct=loss)
    return replace(flow, parts=parts)


def _own_loss(flows: Sequence[_Flow]) -> float | None:
    """Return the lost datagrams in percent, as the receivers count them."""
    if any(flow.lost is None or not flow.packets for flow in flows):
        return None
    lost = sum(max(0.0, flow.lost or 0.0) for flow in flows)
    packets = sum(flow.packets or 0.0 for flow in flows)
    return 100 * lost / packets if 0 <= lost <= packets else None


def _refuse(
    document: Mapping[str, Any], test: Mapping[str, Any], flows: Sequence[_Flow], server: bool
) -> None:
    """Raise ToolFailure for a run without data, or that ended early, or of which streams lack."""
    for flow in flows:
        flow.parts.refuse_nonsense()
    duration = test.get("duration")
    seconds = flows[0].parts.elapsed
    limited = any(test.get(key) for key in ("bytes", "blocks"))
    early = is_number(duration) and seconds is not None and seconds < SHORT * duration
    if early and not limited:
        raise ToolFailure(f"the run ended after {seconds:g} s of {duration:g} s", status="invalid")
    streams, measured = test.get("num_streams"), _part(document, "end").get("streams")
    if not server and is_count(streams) and streams and isinstance(measured, list):
        expected = streams * len(flows)
        if len(measured) not in (expected, streams):
            raise ToolFailure(
                f"{len(measured)} of {expected} streams were measured", status="invalid"
            )


def _mss(document: Mapping[str, Any], test: Mapping[str, Any]) -> int | None:
    """Return the MSS in use, of which windows are multiples; `tcp_mss` echoes the request."""
    start = _part(document, "start")
    default, requested = start.get("tcp_mss_default"), start.get("tcp_mss")
    if is_count(default) and default > 0:
        return default
    if not is_count(requested) or requested < LEAST_MSS or test.get("reverse") == 1:
        return None
    windows = [
        stream["snd_cwnd"]
        for interval in _list(document, "intervals")
        for stream in _list(interval, "streams")
        if is_count(stream.get("snd_cwnd")) and stream["snd_cwnd"]
    ]
    for used in (requested - TIMESTAMPS, requested) if windows else ():
        if all(window % used == 0 for window in windows):
            return used
    return None


# -- what connections did over time -----------------------------------------------------------


def _of_connections(
    document: Mapping[str, Any], test: Mapping[str, Any], ways: Sequence[Way], server: bool
) -> dict[str, Scalar]:
    """Return RTT and congestion window of the sending connections: means over time and streams."""
    figures: dict[str, Scalar] = {}
    for sender, *_ in ways:
        of_end = _of_end(document, sender, server)
        streams = [
            stream
            for interval in _list(of_end, "intervals")
            for stream in _list(interval, "streams")
            if stream.get("omitted") is not True and stream.get("sender") is not False
        ]
        for key, column in (("rtt", "rtt_us"), ("snd_cwnd", "cwnd_bytes")):
            known = [
                stream[key] for stream in streams if is_number(stream.get(key)) and stream[key] > 0
            ]
            if known:
                figures[f"{sender}_{column}"] = sum(known) / len(known)
        mss = _part(of_end, "start").get("tcp_mss_default")
        windows = [stream.get("snd_cwnd") for stream in streams]
        window = figures.get(f"{sender}_cwnd_bytes")
        if not window or not is_count(mss) or not mss:
            continue
        if all(is_count(each) and each % mss == 0 for each in windows):
            figures[f"{sender}_cwnd_segs"] = float(window) / mss
    return figures


def _of_end(document: Mapping[str, Any], end: str, server: bool) -> Mapping[str, Any]:
    """Return an end's own document, {} where it is unknown."""
    own = "remote" if server else "local"
    return document if end == own else _part(document, "server_output_json")


def _interim(
    document: Mapping[str, Any], test: Mapping[str, Any], server: bool, started: float
) -> Iterator[Mapping[str, float]]:
    """Yield the interim results of all streams together, then of each if there are several."""
    ways = _ways(test, _part(document, "end"))
    omit = test.get("omit")
    origin = started + (omit if is_number(omit) else 0.0)
    timelines = [
        [
            result
            for place, interval in enumerate(_list(_of_end(document, end, server), "intervals"))
            for result in _intervals(interval, way, end, len(ways), place)
        ]
        for way in ways
        for end in way[:2]
    ]
    yield from rows(timelines, origin, whole=len(ways) == 1)


def _intervals(
    interval: Mapping[str, Any], way: Way, end: str, ways: int, place: int
) -> Iterator[InterimResult]:
    """Yield an end's interim result of a direction, and those of its streams."""
    sends = end == way[0]
    total = _part(interval, f"sum{way[2]}")
    streams = [
        stream
        for stream in _list(interval, "streams")
        if ways == 1 or (stream.get("sender") is not False) == sends
    ]
    if total.get("omitted") is True or not streams:
        return
    if not total and len(streams) == 1:
        total = streams[0]
    for number, part in enumerate([total, *(streams if len(streams) > 1 else ())]):
        count, seconds, ending = (part.get(key) for key in ("bytes", "seconds", "end"))
        if not (is_number(count) and is_number(seconds) and is_number(ending)):
            continue
        # the first interval after omitted ones claims to begin in them, but counts none of them
        seconds = min(seconds, ending)
        if seconds <= 0 or count < 0:
            continue
        of = streams if not number else [part]
        yield InterimResult(
            place,
            end,
            "send" if sends else "recv",
            float(ending),
            float(seconds),
            float(count),
            stream=number,
            retransmits=_sum(of, "retransmits") if sends else None,
            rtt_us=_mean(of, "rtt") if sends else None,
            cwnd_bytes=_mean(of, "snd_cwnd") if sends else None,
        )


def _sum(streams: Sequence[Mapping[str, Any]], key: str) -> float | None:
    values = [stream[key] for stream in streams if is_number(stream.get(key))]
    return float(sum(values)) if len(values) == len(streams) else None


def _mean(streams: Sequence[Mapping[str, Any]], key: str) -> float | None:
    values = [stream[key] for stream in streams if is_number(stream.get(key)) and stream[key] > 0]
    return sum(values) / len(values) if values else None


# -- JSON -------------------------------------------------------------------------------------


def _part(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = document.get(key)
    return part if isinstance(part, dict) else {}


def _list(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = document.get(key)
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _number(part: Mapping[str, Any], key: str, least: float | None = 0.0) -> float | None:
    """Return a figure, None where it is missing. Raises ToolFailure for one that cannot be."""
    entry = part.get(key)
    if entry is None:
        return None
    if not is_number(entry) or (least is not None and entry < least):
        raise ToolFailure(f"iperf3 says {key} is {clean(str(entry))[:60]!r}, which cannot be")
    return float(entry)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
