"""Parse iperf3's JSON into the figures of a run, or the reason why the run is invalid.

`tcp_mss` only echoes the requested value, so the MSS is read back from the congestion windows,
which are multiples of the MSS. Rates and interim results are those of the receiver
(`--get-server-output`).
Loss is the share of sent bytes that did not arrive; `iperf3_loss_pct` depends on the version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import OutputError, ToolFailure, one_line
from netlimits.model import Completed, Flow, Measurement, Scalar, Work
from netlimits.tools import _output
from netlimits.tools._base import run_seconds
from netlimits.units.sizes import TIMESTAMPS, binary_bytes

_MOST = 1e18
"""An upper bound of every figure: an exabyte, or the age of the universe in seconds."""


def measurement(completed: Completed, options: Mapping[str, Any], length: float) -> Measurement:
    """Parse the output of a run of `length` seconds, which include omitted seconds."""
    start, document = _document(completed, options, length)
    _refuse_ignored(options, document)
    udp = options.get("protocol", "tcp") == "udp"
    flows = [_Flow(document, udp, *direction) for direction in _directions(options)]
    elapsed = _number(document, "end", f"sum_received{flows[0].suffix}", "seconds")
    seconds = run_seconds(options)
    _output.check_length(elapsed, seconds)
    for flow in flows:
        flow.refuse_nonsense()
    figures: dict[str, Scalar] = {
        "throughput_mbps": _mbps(sum(flow.received for flow in flows), elapsed),
        "elapsed_s": elapsed,
    }
    for flow in flows:
        figures[f"{flow.sender}_send_throughput_mbps"] = _mbps(flow.sent, flow.sent_s)
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
    def __init__(self, document: Any, udp: bool, sender: str, receiver: str, suffix: str) -> None:
        self.sender, self.receiver, self.suffix = sender, receiver, suffix
        self._sent = _at(document, "end", f"sum_sent{suffix}")
        self._got = _at(document, "end", f"sum_received{suffix}")
        self.received = _number(self._got, "bytes")
        self.size = _number(document, "start", "test_start", "blksize", least=1)
        self.sent = _number(self._sent, "bytes")
        self.sent_s = _number(self._sent, "seconds", least=1e-9)
        if udp:  # 3.18 omits one datagram of each stream from the bytes
            datagrams = _number(self._sent, "packets") * self.size
            streams = _number(document, "start", "test_start", "num_streams", least=1)
            # If the server sends, 3.14 prints 0 datagrams, and other versions may print too many,
            # since the server also counts omitted seconds.
            if 0 < datagrams <= self.sent + streams * self.size:
                self.sent = datagrams
        self._more = self.received > 1.1 * self.sent + 2**20
        # the ends stop counting at different times, so the receiver's count can be larger
        self.sent = max(self.sent, self.received)

    def refuse_nonsense(self) -> None:
        """Raise ToolFailure if nothing arrived, or if more data arrived than was sent."""
        if self._more:
            raise _output.invalid(
                f"iperf3 says that {self.received:g} bytes arrived, more than were sent"
            )
        if self.received == 0:
            raise _output.no_data(
                f"nothing of {self.sent:g} bytes sent arrived" if self.sent else "nothing was sent"
            )

    def retransmits(self) -> int:
        return int(_number(self._sent, "retransmits"))

    def lost(self) -> tuple[float, float, float]:
        """Return (lost datagrams, arrived datagrams, jitter in µs)."""
        lost = max(0.0, _number(self._got, "lost_packets", least=-_MOST))
        return lost, self.received / self.size, 1000 * _number(self._got, "jitter_ms")


def _work(options: Mapping[str, Any], document: Any, flows: list[_Flow]) -> Work | None:
    """Return the data of the whole run, including omitted seconds.

    Return None if it is unknown how much arrived in the omitted seconds.
    """
    moved = []
    for flow in flows:
        arrived = flow.received
        if options.get("omit"):
            omitted = _omitted(document, flow.suffix, flow.sender)
            if omitted is None:
                return None
            arrived += omitted * float(options["omit"])
        moved.append(Flow(flow.sender, arrived * flow.sent / flow.received, arrived))
    return _output.stream_work(moved, datagrams=options.get("protocol", "tcp") == "udp")


def _omitted(document: Any, suffix: str, sender: str) -> float | None:
    """Return the mean bytes/s of the omitted intervals, or None if no such interval is printed."""
    intervals = [
        (_number(sums, "bytes"), _number(sums, "seconds"))
        for sums in _receiving(document, suffix, sender) or ()
        if _at(sums, "omitted") is True
    ]
    seconds = sum(length for _, length in intervals)
    return sum(count for count, _ in intervals) / seconds if seconds else None


def _receiving(document: Any, suffix: str, sender: str) -> list[dict[str, Any]] | None:
    """Return the receiver's interim sums of a direction; None if the server's output is missing."""
    if sender == "local":
        document = document.get("server_output_json")
        if not isinstance(document, dict):
            return None
    return [_at(interval, f"sum{suffix}") for interval in _list(document, "intervals")]


def _directions(options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    if options.get("bidirectional"):
        return [("local", "remote", ""), ("remote", "local", "_bidir_reverse")]
    return [("remote", "local", "")] if options.get("reverse") else [("local", "remote", "")]


def _udp_figures(flows: list[_Flow]) -> dict[str, Scalar]:
    sent, received = (sum(getattr(f, which) for f in flows) for which in ("sent", "received"))
    lost, arrived, jitter = zip(*(flow.lost() for flow in flows), strict=True)
    return {
        "loss_pct": 100 * (sent - received) / sent,
        "iperf3_loss_pct": 100 * sum(lost) / (sum(lost) + sum(arrived)),
        "jitter_us": max(jitter),
    }


def _mss(options: Mapping[str, Any], document: Any) -> int:
    """Return the MSS in use.

    Raises ToolFailure unless the MSS is the requested value, or 12 bytes less (TCP timestamps).
    """
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
    raise _output.invalid(
        f"an MSS of {mss} was asked for and another was used (congestion windows are multiples "
        f"of {math.gcd(*windows)}): is the MTU large enough?"
    )


def _interim(options: Mapping[str, Any], document: Any, start: float) -> Iterator[dict[str, float]]:
    """Yield the receiver's interim results, or the sender's if the server's output is missing."""
    column = "throughput_mbps"
    ways = [_receiving(document, suffix, sender) for sender, _, suffix in _directions(options)]
    if None in ways:
        column = "local_send_throughput_mbps"
        ways = [[_at(interval, "sum") for interval in _list(document, "intervals")]]
    origin = max(start, _number(document, "start", "timestamp", "timesecs"))
    origin += float(options.get("omit", 0))
    # not strict, since a server may print an additional short interval at the end
    for both in zip(*(way or () for way in ways), strict=False):
        end = _number(both[0], "end")
        # The first interval after the omitted intervals prints too early a start, but its bytes do
        # not include omitted data.
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
    _output.check_ended(completed, "iperf3", seconds)
    start, stdout = _output.started(completed, options)
    document = None
    try:
        document = json.loads(stdout)
    except (ValueError, RecursionError) as error:
        if completed.status == 0:
            raise OutputError(_no_json(stdout, error)) from None
    complaints = completed.stderr.strip().splitlines()
    if isinstance(document, dict) and "error" in document:
        raise ToolFailure(f"iperf3: {str(document['error'])[:300]}")
    _output.check_status(completed, "iperf3", one_line(complaints[0])[:300] if complaints else "")
    if not isinstance(document, dict) or not document.get("end"):
        raise ToolFailure("iperf3 printed no results: its server ended before the test did")
    return start, document


def _no_json(stdout: str, error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError) and (near := one_line(stdout[error.pos :])[:80]):
        return f"iperf3 printed no whole JSON; the first error is at: {near}"
    return f"iperf3 printed no whole JSON; it ends with: {one_line(stdout)[-80:] or 'nothing'}"


def _refuse_ignored(options: Mapping[str, Any], document: Any) -> None:
    ways = 2 if options.get("bidirectional") else 1
    streams = int(options.get("parallel", 1)) * ways
    measured = len(_list(document, "end", "streams"))
    if measured != streams:
        raise _output.invalid(f"{measured} of {streams} streams were measured")
    if "send_size" in options:
        size = _number(document, "start", "test_start", "blksize")
        if size != binary_bytes(options["send_size"]):
            raise _output.invalid(
                f"sends of {options['send_size']} were asked for, of {size:g} used"
            )
    if "dscp" in options:
        tos = _number(document, "start", "test_start", "tos")
        if tos != options["dscp"] << 2:
            raise _output.invalid(
                f"DSCP {options['dscp']} was asked for, and a ToS of {tos:g} used"
            )
    if "congestion_control" in options:
        name = _at(document, "end", "sender_tcp_congestion")
        if name != options["congestion_control"]:
            raise _output.invalid(
                f"congestion control {options['congestion_control']} did not take: the sender "
                f"used {name}"
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
    """Return a figure. Raises OutputError if it is not a number from `least` to `_MOST`."""
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
