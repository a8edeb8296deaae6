"""What iperf3's JSON says: the figures of a run, or why it is none.

iperf3 3.12 exits 0 on nearly every error and says so in an `error` key; a server that died leaves
an empty `end`. Its `tcp_mss` only echoes what was asked for, so the MSS is read back from the
congestion windows, which are whole segments. All rates are taken over one window, the receiver's,
so that throughput times elapsed time is the bytes that arrived and none arrives before it was sent.
Interim results are the receiver's as well: where the client sends, those that its server hands over
at the end (`--get-server-output`), which hold the omitted seconds too, as CPU time does.

UDP loss is what was sent and did not arrive. The tool's own count stands beside it as
`iperf3_loss_pct`: 3.12 counts the losses of omitted seconds too, 3.13 and later count none when
the server is older, and neither sees the datagrams that were lost after the last one to arrive.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import OutputError, ToolFailure, one_line
from netlimits.model import Completed, Flow, Measurement, Scalar, Work
from netlimits.tools import _options, _refusals
from netlimits.tools._clock import started
from netlimits.units.sizes import TIMESTAMPS, binary_bytes

_MOST = 1e18
"""No figure of a network is above; an exabyte, or the age of the universe in seconds."""


def measurement(completed: Completed, options: Mapping[str, Any], length: float) -> Measurement:
    """The figures of a run meant to take `length` seconds, omitted ones included.

    Raises ToolFailure for a run that must not count.
    """
    start, document = _document(completed, options, length)
    _refuse_ignored(options, document)
    udp = options.get("protocol", "tcp") == "udp"
    flows = [_Flow(document, udp, *direction) for direction in _directions(options)]
    elapsed = _number(document, "end", f"sum_received{flows[0].suffix}", "seconds")
    seconds = _options.run_seconds(options)
    _refusals.short_run(elapsed, seconds)
    for flow in flows:
        flow.refuse_nonsense()
    figures: dict[str, Scalar] = {
        "throughput_mbps": _mbps(sum(flow.received for flow in flows), elapsed),
        "elapsed_s": elapsed,
    }
    for flow in flows:
        figures[f"{flow.sender}_send_throughput_mbps"] = _mbps(flow.sent, elapsed)
        figures[f"{flow.receiver}_recv_throughput_mbps"] = _mbps(flow.received, elapsed)
    if udp:
        figures |= _udp_figures(flows)
    else:
        figures["transport_mss_bytes"] = _mss(options, document)
        figures |= {f"{flow.sender}_transport_retrans": flow.retransmits() for flow in flows}
    for end, key in (("local", "host_total"), ("remote", "remote_total")):
        cpu = _number(document, "end", "cpu_utilization_percent", key)
        figures[f"iperf3_{end}_process_cpu_pct"] = cpu
    rows = _interim(options, document, start) if "interim_seconds" in options else ()
    return Measurement(figures, tuple(rows), _work(options, document, flows))


class _Flow:
    """The bytes of one direction: what its sender sent and what its receiver got of them."""

    def __init__(self, document: Any, udp: bool, sender: str, receiver: str, suffix: str) -> None:
        self.sender, self.receiver, self.suffix = sender, receiver, suffix
        self._sent = _at(document, "end", f"sum_sent{suffix}")
        self._got = _at(document, "end", f"sum_received{suffix}")
        self.received = _number(self._got, "bytes")
        self.size = _number(document, "start", "test_start", "blksize", least=1)
        self.sent = _number(self._sent, "bytes")
        if udp:  # 3.18 leaves a datagram of each stream out of the bytes
            datagrams = _number(self._sent, "packets") * self.size
            streams = _number(document, "start", "test_start", "num_streams", least=1)
            if datagrams <= self.sent + streams * self.size:
                self.sent = datagrams  # else the server's count of them holds the omitted ones
        self._more = self.received > 1.1 * self.sent + 2**20
        # each end counts up to its own last moment, so the receiver's can be a little ahead
        self.sent = max(self.sent, self.received)

    def refuse_nonsense(self) -> None:
        """Raise for a flow in which nothing arrived, or more than was sent."""
        if self._more:
            raise ToolFailure(
                f"iperf3 says that {self.received:g} bytes arrived, more than were sent",
                status="invalid",
            )
        if self.received == 0:
            what = (
                f"nothing of {self.sent:g} bytes sent arrived" if self.sent else "nothing was sent"
            )
            raise ToolFailure(f"throughput is 0: {what}; is the data path open?")

    def retransmits(self) -> int:
        """TCP segments sent again, by the sender's kernel."""
        return int(_number(self._sent, "retransmits"))

    def lost(self) -> tuple[float, float, float]:
        """Datagrams by the receiver's own count, those that arrived, and jitter in µs."""
        lost = max(0.0, _number(self._got, "lost_packets", least=-_MOST))
        return lost, self.received / self.size, 1000 * _number(self._got, "jitter_ms")


def _work(options: Mapping[str, Any], document: Any, flows: list[_Flow]) -> Work | None:
    """All that was moved, with the omitted seconds; None if no receiver counts those."""
    done = []
    for flow in flows:
        arrived = flow.received
        if options.get("omit"):
            omitted = _omitted(document, flow.suffix, flow.sender)
            if omitted is None:
                return None
            arrived += omitted * float(options["omit"])
        done.append(Flow(flow.sender, arrived * flow.sent / flow.received, arrived))
    udp = options.get("protocol", "tcp") == "udp"
    return Work(sum(f.sent if udp else f.arrived for f in done) / 1024, tuple(done))


def _omitted(document: Any, suffix: str, sender: str) -> float | None:
    """Bytes a second that arrived in the omitted time; None if that is not known.

    Of an interval that the end of that time cut short 3.12 often forgets what came before it.
    """
    intervals = [
        (_number(sums, "bytes"), _number(sums, "seconds"))
        for sums in _receiving(document, suffix, sender) or ()
        if _at(sums, "omitted") is True
    ]
    seconds = sum(length for _, length in intervals)
    return sum(count for count, _ in intervals) / seconds if seconds else None


def _receiving(document: Any, suffix: str, sender: str) -> list[dict[str, Any]] | None:
    """The receiver's interim sums of a direction; None where the server's output is not there."""
    if sender == "local":
        document = document.get("server_output_json")
        if not isinstance(document, dict):
            return None
    return [_at(interval, f"sum{suffix}") for interval in _list(document, "intervals")]


def _directions(options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(sender, receiver, suffix of the keys) of each way that data takes."""
    if options.get("bidirectional"):
        return [("local", "remote", ""), ("remote", "local", "_bidir_reverse")]
    return [("remote", "local", "")] if options.get("reverse") else [("local", "remote", "")]


def _udp_figures(flows: list[_Flow]) -> dict[str, Scalar]:
    """Loss over all flows, and the worse of their jitters."""
    sent, received = (sum(getattr(f, which) for f in flows) for which in ("sent", "received"))
    lost, arrived, jitter = zip(*(flow.lost() for flow in flows), strict=True)
    return {
        "loss_pct": 100 * (sent - received) / sent,
        "iperf3_loss_pct": 100 * sum(lost) / (sum(lost) + sum(arrived)),
        "jitter_us": max(jitter),
    }


def _mss(options: Mapping[str, Any], document: Any) -> int:
    """The MSS in use, less timestamps. Raises ToolFailure when it is not the one asked for."""
    if "mss" not in options:
        return int(_number(document, "start", "tcp_mss_default"))
    mss = int(options["mss"])
    sender = _at(document, "server_output_json") if options.get("reverse") else document
    streams = [s for interval in _list(sender, "intervals") for s in _list(interval, "streams")]
    windows = [int(_number(s, "snd_cwnd")) for s in streams if s.get("sender") is True]
    if not any(windows):
        raise OutputError("iperf3 printed no congestion window, by which the MSS is read back")
    for used in (mss - TIMESTAMPS, mss):
        if all(window % used == 0 for window in windows):
            return used
    raise ToolFailure(
        f"an MSS of {mss} was asked for and another was used (congestion windows are multiples "
        f"of {math.gcd(*windows)}): is the MTU large enough?",
        status="invalid",
    )


def _interim(options: Mapping[str, Any], document: Any, start: float) -> Iterator[dict[str, float]]:
    """Interim results in order: each is a rate over [ending − interval, ending].

    They are of what arrived. Where the client sends and its server's output is not there (files
    of others), they are the sender's, and their column says it.
    """
    column = "throughput_mbps"
    ways = [_receiving(document, suffix, sender) for sender, _, suffix in _directions(options)]
    if None in ways:
        column = "local_send_throughput_mbps"
        ways = [[_at(interval, "sum") for interval in _list(document, "intervals")]]
    origin = max(start, _number(document, "start", "timestamp", "timesecs"))
    origin += float(options.get("omit", 0))
    for both in zip(*(way or () for way in ways), strict=False):  # a server may have a last bit
        end = _number(both[0], "end")
        # the first after omitted ones says that it began in them, and counts nothing of that
        times = [min(_number(s, "seconds"), _number(s, "end")) for s in both]
        if _at(both[0], "omitted") is not False or not all(times):
            continue
        yield {
            "ending_s": origin + end,
            "interval_s": times[0],
            column: sum(_mbps(_number(s, "bytes"), t) for s, t in zip(both, times, strict=True)),
        }


def _document(
    completed: Completed, options: Mapping[str, Any], seconds: float
) -> tuple[float, dict[str, Any]]:
    """When the client started (0 if not asked for) and what it printed. Raises ToolFailure."""
    if completed.timed_out:
        raise ToolFailure(
            f"iperf3 of {seconds:g} s had not ended after {completed.command.deadline:g} s and "
            "was killed: is the data link down?",
            status="timeout",
        )
    if completed.truncated:
        raise OutputError("iperf3 printed too much output to keep")
    start, stdout = 0.0, completed.stdout
    if "interim_seconds" in options:
        start, stdout = started(stdout)
    document = None
    try:
        document = json.loads(stdout)
    except (ValueError, RecursionError) as error:
        if completed.status == 0:
            raise OutputError(_no_json(stdout, error)) from None
    complaints = completed.stderr.strip().splitlines()
    if isinstance(document, dict) and "error" in document:
        raise ToolFailure(f"iperf3: {str(document['error'])[:300]}")
    if completed.status != 0:
        complaint = one_line(complaints[0])[:300] if complaints else "it printed no reason"
        raise ToolFailure(f"iperf3 exited {completed.status}: {complaint}")
    if not isinstance(document, dict) or not document.get("end"):
        raise ToolFailure("iperf3 printed no results: its server ended before the test did")
    return start, document


def _no_json(stdout: str, error: ValueError | RecursionError) -> str:
    """Say what iperf3 printed where its JSON breaks off or is none."""
    if isinstance(error, json.JSONDecodeError) and (near := one_line(stdout[error.pos :])[:80]):
        return f"iperf3 printed no whole JSON; the first error is at: {near}"
    return f"iperf3 printed no whole JSON; it ends with: {one_line(stdout)[-80:] or 'nothing'}"


def _refuse_ignored(options: Mapping[str, Any], document: Any) -> None:
    """Raise for options that iperf3 took and did not act on."""
    ways = 2 if options.get("bidirectional") else 1
    streams = int(options.get("parallel", 1)) * ways
    measured = len(_list(document, "end", "streams"))
    if measured != streams:
        raise ToolFailure(f"{measured} of {streams} streams were measured", status="invalid")
    if "send_size" in options:
        size = _number(document, "start", "test_start", "blksize")
        if size != binary_bytes(options["send_size"]):
            raise ToolFailure(
                f"sends of {options['send_size']} were asked for, of {size:g} used",
                status="invalid",
            )
    if "congestion_control" in options:
        name = _at(document, "end", "sender_tcp_congestion")
        if name != options["congestion_control"]:
            raise ToolFailure(
                f"congestion control {options['congestion_control']} did not take: the sender "
                f"used {name}",
                status="invalid",
            )


def _mbps(count: float, seconds: float) -> float:
    return count * 8 / 1e6 / seconds


def _at(node: Any, *path: str) -> Any:
    for number, key in enumerate(path, 1):
        if not isinstance(node, dict) or key not in node:
            raise OutputError(f"iperf3 printed no {'.'.join(path[:number])}")
        node = node[key]
    return node


def _list(node: Any, *path: str) -> list[dict[str, Any]]:
    entries = _at(node, *path)
    if not isinstance(entries, list) or not all(isinstance(item, dict) for item in entries):
        raise OutputError(f"iperf3 printed {'.'.join(path)}, which is not a list")
    return entries


def _number(node: Any, *path: str, least: float = 0.0) -> float:
    """A figure at least `least`. Raises ToolFailure for everything else."""
    entry = _at(node, *path)
    try:
        figure = float(entry) if not isinstance(entry, (bool, str)) else math.nan
    except (TypeError, OverflowError):
        figure = math.nan
    if not least <= figure <= _MOST:
        raise OutputError(
            f"iperf3 says {'.'.join(path)} is {str(entry)[:60]!r}, which is not a number"
        )
    return figure
