"""iperf3's `-J` documents of a client or a server, 3.0 to 3.21, and `--json-stream` (3.17).

"Local" is the client's end in both. CPU is that of one process, 100 being one core. What a version
or system does not print is missing and no failure. A server's document prints zeros for what the
client sent, and the previous client's CPU, so only its own side is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.importers import iperf3_events
from netlimits.importers.base import (
    ImportedRun,
    SourceText,
    clean,
    entries,
    failed,
    is_count,
    is_number,
    part,
)
from netlimits.importers.documents import JsonDocument
from netlimits.importers.streams import (
    InterimResult,
    Parts,
    figures_of,
    process_cpu,
    refuse_short,
    rows,
)
from netlimits.model import Scalar

SERVER_ENDED = "interrupt - the server has terminated"
"""Start of the error in a server's document when the server is stopped. It belongs to no run."""

LEAST_MSS, TIMESTAMPS = 88, 12

Way = tuple[str, str, str]
"""Sender, receiver, and the suffix of the keys of a direction."""
BACK = "_bidir_reverse"


def recognizes(document: Mapping[str, Any]) -> bool:
    if "event" in document and "data" in document:
        return True
    ended = "end" in document or "intervals" in document
    return ended and isinstance(document.get("start"), dict)


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
    runs = [
        _run(line, _Document(document))
        for line, document in iperf3_events.joined(source, documents)
        if not str(document.get("error", "")).startswith(SERVER_ENDED)
    ]
    if not runs:
        source.refuse(1, "contains no run: the server was stopped before one")
    return runs


class _Document:
    """A run's document, and the parts of it that everything is read from."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self.whole = whole
        self.start, self.end = part(whole, "start"), part(whole, "end")
        self.test = test = part(self.start, "test_start")
        self.server = "accepted_connection" in self.start
        self.udp = str(test.get("protocol", "")).lower() == "udp"
        self.reverse = test.get("reverse") == 1
        self.ways: list[Way] = [("local", "remote", "")]
        if test.get("bidir") == 1 or f"sum_received{BACK}" in self.end or f"sum{BACK}" in self.end:
            self.ways.append(("remote", "local", BACK))
        elif self.reverse:
            self.ways = [("remote", "local", "")]

    def of(self, end: str) -> Mapping[str, Any]:
        own = "remote" if self.server else "local"
        return self.whole if end == own else part(self.whole, "server_output_json")


def _run(line: int, of: _Document) -> ImportedRun:
    began = part(of.start, "timestamp").get("timesecs")
    started = float(began) if is_number(began) and began > 0 else None
    values = _factors(of)
    try:
        if "error" in of.whole:
            raise ToolFailure(clean(str(of.whole["error"])) or "iperf3 failed without a message")
        if "end" not in of.whole:
            raise ToolFailure("the stream has no `end` event: the run was interrupted")
        if not of.end:
            raise ToolFailure("`end` is empty: the run was interrupted")
        figures = _figures(of)
        interim = tuple(_interim(of, started or 0.0))
    except ToolFailure as error:
        return failed(line, error, values, started)
    return ImportedRun(line, "ok", "", values, figures, interim, started)


def _factors(of: _Document) -> dict[str, Scalar]:
    test = of.test
    values: dict[str, Scalar] = {
        "tool": "iperf3",
        "reported_by": "server" if of.server else "client",
    }
    if isinstance(test.get("protocol"), str):
        values["protocol"] = clean(test["protocol"]).lower()
    if test:
        one_way = "recv" if of.reverse else "send"
        values["direction"] = "bidir" if len(of.ways) > 1 else one_way
    names = {"send_size": "blksize", "streams": "num_streams"}
    values |= {name: test[key] for name, key in names.items() if is_count(test.get(key))}
    target = test.get("target_bitrate")
    if is_number(target) and target > 0:
        values["target_mbps"] = target / 1e6
    mss = of.start.get("tcp_mss") or of.start.get("tcp_mss_default")
    if is_count(mss) and mss > 0:
        values["mss"] = mss
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):  # the sender's counts
        if isinstance(of.end.get(key), str) and of.end[key]:
            values.setdefault("congestion_control", clean(of.end[key]))
    return values


def _figures(of: _Document) -> dict[str, Scalar]:
    flows = [_flow(of, way) for way in of.ways]
    if of.server:
        flows = [_of_server(flows[0])]
    _refuse(of, flows)
    figures = figures_of(flows, "iperf3", whole=not of.server or len(of.ways) == 1)
    if of.udp and (loss := _own_loss(flows)) is not None:
        figures["iperf3_loss_pct"] = loss
    figures |= _of_connections(of)
    if not of.udp and not of.server and (mss := _mss(of)):
        figures["transport_mss_bytes"] = mss
    cpu = part(of.end, "cpu_utilization_percent")
    used, other = (
        float(each) if is_number(each := cpu.get(key)) else None
        for key in ("host_total", "remote_total")
    )
    return figures | dict(process_cpu(used, other, server=of.server))


def _flow(of: _Document, way: Way) -> Parts:
    sender, receiver, suffix = way
    sent, got = (part(of.end, f"sum_{which}{suffix}") for which in ("sent", "received"))
    total = part(of.end, f"sum{suffix}")
    if not sent and not got:
        if not of.udp:
            raise ToolFailure(f"iperf3 printed no end.sum_received{suffix}")
        return _before_312(total, way)
    size = of.test.get("blksize")
    count, datagrams = _number(sent, "bytes"), _number(sent, "packets")
    streams = of.test["num_streams"] if is_count(of.test.get("num_streams")) else 1
    if of.udp and count is not None and is_count(size) and datagrams:
        # 3.18 leaves a datagram of each stream out of the bytes; where the count is larger by
        # more, it is the server's and includes omitted seconds
        count = datagrams * size if datagrams * size <= count + streams * size else count
    lost, packets = _losses(got)
    if lost is None and of.udp:
        lost, packets = _losses(total)
    parts = Parts(
        sender,
        receiver,
        sent=count or None,
        sent_s=_number(sent, "seconds"),
        arrived=_number(got, "bytes"),
        arrived_s=_number(got, "seconds"),
        retransmits=None if of.udp else _number(sent, "retransmits"),
        jitter_us=_number(got, "jitter_ms", factor=1e3) if of.udp else None,
        datagrams=of.udp,
        lost=lost,
        packets=packets,
    )
    if of.udp and not datagrams:  # the sender's bytes include what was under way at the end
        parts = replace(parts, loss_pct=_own_loss([parts]))
    return parts


def _before_312(total: Mapping[str, Any], way: Way) -> Parts:
    """Return the data of UDP of a version that prints `end.sum` only, whose bytes were sent."""
    sent, seconds = _number(total, "bytes"), _number(total, "seconds")
    lost, packets = _losses(total)
    if sent is None or seconds is None:
        raise ToolFailure("iperf3 printed neither end.sum_received nor end.sum")
    arrived = None
    if packets and lost is not None:
        arrived = sent * (1 - min(1.0, max(0.0, lost / packets)))
    rate = _number(total, "bits_per_second")  # over the sender's seconds, as the bytes are
    return Parts(
        way[0],
        way[1],
        sent=sent or None,
        sent_s=sent * 8 / rate if sent and rate else seconds,
        arrived=arrived,
        arrived_s=seconds,
        jitter_us=_number(total, "jitter_ms", factor=1e3),
        datagrams=True,
        lost=lost,
        packets=packets,
    )


def _of_server(of: Parts) -> Parts:
    if of.sender == "remote":
        return replace(of, arrived=None, arrived_s=None, jitter_us=None)
    loss = _own_loss([of]) if of.datagrams else None
    return replace(of, sent=None, sent_s=None, retransmits=None, loss_pct=loss)


def _own_loss(flows: Sequence[Parts]) -> float | None:
    """Return the lost datagrams in percent, as the receivers count them."""
    if any(flow.lost is None or not flow.packets for flow in flows):
        return None
    lost = sum(max(0.0, flow.lost or 0.0) for flow in flows)
    packets = sum(flow.packets or 0.0 for flow in flows)
    return 100 * lost / packets if 0 <= lost <= packets else None


def _refuse(of: _Document, flows: Sequence[Parts]) -> None:
    """Raise ToolFailure for a run without data, or that ended early, or of which streams lack."""
    for flow in flows:
        flow.refuse_nonsense()
    duration = of.test.get("duration")
    if is_number(duration) and not any(of.test.get(key) for key in ("bytes", "blocks")):
        refuse_short(flows[0].elapsed, duration)
    streams, measured = of.test.get("num_streams"), of.end.get("streams")
    if not of.server and is_count(streams) and streams and isinstance(measured, list):
        expected = streams * len(flows)
        if len(measured) not in (expected, streams):
            problem = f"{len(measured)} of {expected} streams were measured"
            raise ToolFailure(problem, status="invalid")


def _mss(of: _Document) -> int | None:
    """Return the MSS in use, of which windows are multiples; `tcp_mss` echoes the request."""
    default, requested = of.start.get("tcp_mss_default"), of.start.get("tcp_mss")
    if is_count(default) and default > 0:
        return default
    if not is_count(requested) or requested < LEAST_MSS or of.reverse:
        return None
    streams = (s for each in entries(of.whole, "intervals") for s in entries(each, "streams"))
    windows = [s["snd_cwnd"] for s in streams if is_count(s.get("snd_cwnd")) and s["snd_cwnd"]]
    for used in (requested - TIMESTAMPS, requested) if windows else ():
        if all(window % used == 0 for window in windows):
            return used
    return None


def _of_connections(of: _Document) -> Iterator[tuple[str, Scalar]]:
    """Yield RTT and congestion window of the sending connections: means over time and streams."""
    for sender, *_ in of.ways:
        streams = [
            stream
            for interval in entries(of.of(sender), "intervals")
            for stream in entries(interval, "streams")
            if stream.get("omitted") is not True and stream.get("sender") is not False
        ]
        if rtt := _mean(streams, "rtt"):
            yield f"{sender}_rtt_us", rtt
        if not (window := _mean(streams, "snd_cwnd")):
            continue
        yield f"{sender}_cwnd_bytes", window
        mss = part(of.of(sender), "start").get("tcp_mss_default")
        windows = [stream.get("snd_cwnd") for stream in streams]
        if is_count(mss) and mss and all(is_count(each) and each % mss == 0 for each in windows):
            yield f"{sender}_cwnd_segs", window / mss


def _interim(of: _Document, started: float) -> Iterator[Mapping[str, float]]:
    """Yield the interim results of all streams together, then of each if there are several."""
    omit = of.test.get("omit")
    timelines = [list(_timeline(of, way, end)) for way in of.ways for end in way[:2]]
    origin = started + (omit if is_number(omit) else 0.0)
    yield from rows(timelines, origin, whole=len(of.ways) == 1)


def _timeline(of: _Document, way: Way, end: str) -> Iterator[InterimResult]:
    """Yield an end's interim results of a direction, each with those of its streams."""
    sends = end == way[0]
    for place, interval in enumerate(entries(of.of(end), "intervals")):
        streams = [
            stream
            for stream in entries(interval, "streams")
            if len(of.ways) == 1 or (stream.get("sender") is not False) == sends
        ]
        total = part(interval, f"sum{way[2]}")
        if total.get("omitted") is True or not streams:
            continue
        every = [total, *streams] if total or len(streams) > 1 else streams
        for number, each in enumerate(every if len(streams) > 1 else every[:1]):
            count, seconds, ending = (each.get(key) for key in ("bytes", "seconds", "end"))
            if not (is_number(count) and is_number(seconds) and is_number(ending)):
                continue
            # the first interval after omitted ones claims to begin in them, but counts none of them
            seconds = min(seconds, ending)
            if seconds <= 0 or count < 0:
                continue
            mine = [each] if number else streams
            yield InterimResult(
                place,
                end,
                "send" if sends else "recv",
                float(ending),
                float(seconds),
                float(count),
                stream=number,
                retransmits=_sum(mine, "retransmits") if sends else None,
                rtt_us=_mean(mine, "rtt") if sends else None,
                cwnd_bytes=_mean(mine, "snd_cwnd") if sends else None,
            )


def _sum(streams: Sequence[Mapping[str, Any]], key: str) -> float | None:
    values = [stream[key] for stream in streams if is_number(stream.get(key))]
    return float(sum(values)) if len(values) == len(streams) else None


def _mean(streams: Sequence[Mapping[str, Any]], key: str) -> float | None:
    values = [stream[key] for stream in streams if is_number(stream.get(key)) and stream[key] > 0]
    return sum(values) / len(values) if values else None


def _number(
    of: Mapping[str, Any], key: str, least: float | None = 0.0, factor: float = 1.0
) -> float | None:
    """Return a figure, None where it is missing. Raises ToolFailure for one that cannot be."""
    entry = of.get(key)
    if entry is None:
        return None
    if not is_number(entry) or (least is not None and entry < least):
        raise ToolFailure(f"iperf3 says {key} is {clean(str(entry))[:60]!r}, which cannot be")
    return float(entry) * factor


def _losses(of: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the lost datagrams, which may be less than 0, and all datagrams."""
    return _number(of, "lost_packets", least=None), _number(of, "packets", least=None)
