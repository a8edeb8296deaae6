"""Parse iperf3's `-J` documents of a client or server (3.0 to 3.21) and `--json-stream` (3.17).

"Local" is the client's end in both kinds of documents. CPU figures are those of one process, where
100 is one core. If a version or system does not print a figure, the figure is missing, and the run
has not failed. From a server's document only the server's own figures are read. The document has 0
for the client's counts, and the CPU figures of an earlier client.
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
    FlowCounts,
    InterimResult,
    figures_of,
    process_cpu,
    refuse_short,
    rows,
)
from netlimits.model import Scalar

SERVER_ENDED = "interrupt - the server has terminated"
"""Start of the error in a server's document when the server is stopped. It belongs to no run."""

LEAST_MSS, TIMESTAMPS = 88, 12
"""Bytes: the smallest MSS that Linux accepts, and the TCP option that takes part of an MSS."""

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
    """A run's JSON document, with the parts that the parser needs."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.start, self.end = part(content, "start"), part(content, "end")
        self.test = test = part(self.start, "test_start")
        self.server = "accepted_connection" in self.start
        self.udp = str(test.get("protocol", "")).lower() == "udp"
        self.reverse = test.get("reverse") == 1
        self.ways: list[Way] = [("local", "remote", "")]
        if test.get("bidir") == 1 or f"sum_received{BACK}" in self.end or f"sum{BACK}" in self.end:
            self.ways.append(("remote", "local", BACK))
        elif self.reverse:
            self.ways = [("remote", "local", "")]

    def printed_by(self, end: str) -> Mapping[str, Any]:
        """Return the document of an end, {} if this one does not include it."""
        own = "remote" if self.server else "local"
        return self.content if end == own else part(self.content, "server_output_json")


def _run(line: int, document: _Document) -> ImportedRun:
    began = part(document.start, "timestamp").get("timesecs")
    started = float(began) if is_number(began) and began > 0 else None
    values = _factors(document)
    try:
        if "error" in document.content:
            raise ToolFailure(
                clean(str(document.content["error"])) or "iperf3 failed without a message"
            )
        if "end" not in document.content:
            raise ToolFailure("the stream has no `end` event: the run was interrupted")
        if not document.end:
            raise ToolFailure("`end` is empty: the run was interrupted")
        figures = _figures(document)
        interim = tuple(_interim(document, started or 0.0))
    except ToolFailure as error:
        return failed(line, error, values, started)
    return ImportedRun(line, "ok", "", values, figures, interim, started)


def _factors(document: _Document) -> dict[str, Scalar]:
    test = document.test
    values: dict[str, Scalar] = {
        "tool": "iperf3",
        "reported_by": "server" if document.server else "client",
    }
    if isinstance(test.get("protocol"), str):
        values["protocol"] = clean(test["protocol"]).lower()
    if test:
        one_way = "recv" if document.reverse else "send"
        values["direction"] = "bidir" if len(document.ways) > 1 else one_way
    names = {"send_size": "blksize", "streams": "num_streams"}
    values |= {name: test[key] for name, key in names.items() if is_count(test.get(key))}
    target = test.get("target_bitrate")
    if is_number(target) and target > 0:
        values["target_mbps"] = target / 1e6
    mss = document.start.get("tcp_mss") or document.start.get("tcp_mss_default")
    if is_count(mss) and mss > 0:
        values["mss"] = mss
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):  # prefer the sender's
        if isinstance(document.end.get(key), str) and document.end[key]:
            values.setdefault("congestion_control", clean(document.end[key]))
    return values


def _figures(document: _Document) -> dict[str, Scalar]:
    flows = [_flow(document, way) for way in document.ways]
    if document.server:
        flows = [_of_server(flows[0])]
    _refuse(document, flows)
    figures = figures_of(flows, "iperf3", complete=not document.server or len(document.ways) == 1)
    if document.udp and (loss := _own_loss(flows)) is not None:
        figures["iperf3_loss_pct"] = loss
    figures |= _of_connections(document)
    if not document.udp and not document.server and (mss := _mss(document)):
        figures["transport_mss_bytes"] = mss
    cpu = part(document.end, "cpu_utilization_percent")
    used, other = (
        float(each) if is_number(each := cpu.get(key)) else None
        for key in ("host_total", "remote_total")
    )
    return figures | dict(process_cpu(used, other, server=document.server))


def _flow(document: _Document, way: Way) -> FlowCounts:
    sender, receiver, suffix = way
    sent, got = (part(document.end, f"sum_{which}{suffix}") for which in ("sent", "received"))
    total = part(document.end, f"sum{suffix}")
    if not sent and not got:
        if not document.udp:
            raise ToolFailure(f"iperf3 printed no end.sum_received{suffix}")
        return _before_312(total, way)
    size = document.test.get("blksize")
    count, datagrams = _number(sent, "bytes"), _number(sent, "packets")
    streams = document.test["num_streams"] if is_count(document.test.get("num_streams")) else 1
    if document.udp and count is not None and is_count(size) and datagrams:
        # 3.18 leaves one datagram per stream out of `bytes`, so use `packets`. If they differ by
        # more, the server counted the packets, with those of omitted seconds: use `bytes`.
        count = datagrams * size if datagrams * size <= count + streams * size else count
    lost, packets = _losses(got)
    if lost is None and document.udp:
        lost, packets = _losses(total)
    parts = FlowCounts(
        sender,
        receiver,
        sent=count or None,
        sent_s=_number(sent, "seconds"),
        arrived=_number(got, "bytes"),
        arrived_s=_number(got, "seconds"),
        retransmits=None if document.udp else _number(sent, "retransmits"),
        jitter_us=_number(got, "jitter_ms", factor=1e3) if document.udp else None,
        datagrams=document.udp,
        lost=lost,
        packets=packets,
    )
    if document.udp and not datagrams:  # sent - arrived bytes are no loss: some are in flight
        parts = replace(parts, loss_pct=_own_loss([parts]))
    return parts


def _before_312(total: Mapping[str, Any], way: Way) -> FlowCounts:
    """Return the counts of a UDP flow before 3.12, which prints only `end.sum` with sent bytes."""
    sent, seconds = _number(total, "bytes"), _number(total, "seconds")
    lost, packets = _losses(total)
    if sent is None or seconds is None:
        raise ToolFailure("iperf3 printed neither end.sum_received nor end.sum")
    arrived = None
    if packets and lost is not None:
        arrived = sent * (1 - min(1.0, max(0.0, lost / packets)))
    rate = _number(total, "bits_per_second")  # the rate is over the sender's seconds
    return FlowCounts(
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


def _of_server(flow: FlowCounts) -> FlowCounts:
    """Return the counts without the client's counts, which a server prints as 0."""
    if flow.sender == "remote":
        return replace(flow, arrived=None, arrived_s=None, jitter_us=None)
    loss = _own_loss([flow]) if flow.datagrams else None
    return replace(flow, sent=None, sent_s=None, retransmits=None, loss_pct=loss)


def _own_loss(flows: Sequence[FlowCounts]) -> float | None:
    """Return the lost datagrams in percent, as the receivers count them."""
    if any(flow.lost is None or not flow.packets for flow in flows):
        return None
    lost = sum(max(0.0, flow.lost or 0.0) for flow in flows)
    packets = sum(flow.packets or 0.0 for flow in flows)
    return 100 * lost / packets if 0 <= lost <= packets else None


def _refuse(document: _Document, flows: Sequence[FlowCounts]) -> None:
    """Raise ToolFailure if a run has no data, ended early, or lacks streams."""
    for flow in flows:
        flow.refuse_nonsense()
    duration = document.test.get("duration")
    if is_number(duration) and not any(document.test.get(key) for key in ("bytes", "blocks")):
        refuse_short(flows[0].elapsed, duration)
    streams, measured = document.test.get("num_streams"), document.end.get("streams")
    if not document.server and is_count(streams) and streams and isinstance(measured, list):
        expected = streams * len(flows)
        if len(measured) not in (expected, streams):
            problem = f"{len(measured)} of {expected} streams were measured"
            raise ToolFailure(problem, status="invalid")


def _mss(document: _Document) -> int | None:
    """Return the MSS in use, None if unknown.

    `tcp_mss` only echoes the request; it is used if all congestion windows are multiples of it.
    """
    default, requested = document.start.get("tcp_mss_default"), document.start.get("tcp_mss")
    if is_count(default) and default > 0:
        return default
    if not is_count(requested) or requested < LEAST_MSS or document.reverse:
        return None
    streams = (
        s for each in entries(document.content, "intervals") for s in entries(each, "streams")
    )
    windows = [s["snd_cwnd"] for s in streams if is_count(s.get("snd_cwnd")) and s["snd_cwnd"]]
    for used in (requested - TIMESTAMPS, requested) if windows else ():
        if all(window % used == 0 for window in windows):
            return used
    return None


def _of_connections(document: _Document) -> Iterator[tuple[str, Scalar]]:
    """Yield RTT and congestion window of the sending connections: means over time and streams."""
    for sender, *_ in document.ways:
        streams = [
            stream
            for interval in entries(document.printed_by(sender), "intervals")
            for stream in entries(interval, "streams")
            if stream.get("omitted") is not True and stream.get("sender") is not False
        ]
        if rtt := _mean(streams, "rtt"):
            yield f"{sender}_rtt_us", rtt
        if not (window := _mean(streams, "snd_cwnd")):
            continue
        yield f"{sender}_cwnd_bytes", window
        mss = part(document.printed_by(sender), "start").get("tcp_mss_default")
        windows = [stream.get("snd_cwnd") for stream in streams]
        if is_count(mss) and mss and all(is_count(each) and each % mss == 0 for each in windows):
            yield f"{sender}_cwnd_segs", window / mss


def _interim(document: _Document, started: float) -> Iterator[Mapping[str, float]]:
    """Yield the interim results of all streams together and, if there are several, of each."""
    omit = document.test.get("omit")
    timelines = [list(_timeline(document, way, end)) for way in document.ways for end in way[:2]]
    origin = started + (omit if is_number(omit) else 0.0)
    yield from rows(timelines, origin, one_way=len(document.ways) == 1)


def _timeline(document: _Document, way: Way, end: str) -> Iterator[InterimResult]:
    """Yield an end's interim results of a direction, each followed by its streams' results."""
    sends = end == way[0]
    for place, interval in enumerate(entries(document.printed_by(end), "intervals")):
        streams = [
            stream
            for stream in entries(interval, "streams")
            if len(document.ways) == 1 or (stream.get("sender") is not False) == sends
        ]
        total = part(interval, f"sum{way[2]}")
        if total.get("omitted") is True or not streams:
            continue
        every = [total, *streams] if total or len(streams) > 1 else streams
        for number, each in enumerate(every if len(streams) > 1 else every[:1]):
            count, seconds, ending = (each.get(key) for key in ("bytes", "seconds", "end"))
            if not (is_number(count) and is_number(seconds) and is_number(ending)):
                continue
            # the first counted interval begins too early, but has no omitted bytes
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
    node: Mapping[str, Any], key: str, least: float | None = 0.0, factor: float = 1.0
) -> float | None:
    """Return a figure, None if it is missing. Raises ToolFailure for an impossible one."""
    entry = node.get(key)
    if entry is None:
        return None
    if not is_number(entry) or (least is not None and entry < least):
        raise ToolFailure(f"iperf3 says {key} is {clean(str(entry))[:60]!r}, which cannot be")
    return float(entry) * factor


def _losses(node: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the lost datagrams, which may be less than 0, and all datagrams."""
    return _number(node, "lost_packets", least=None), _number(node, "packets", least=None)
