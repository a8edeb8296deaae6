"""Build a run from the values of an end, which the other modules read from ntttcp's formats.

Linux' `cpu` and `cpu busy (all)` are the CPU use of ntttcp itself, in percent of one CPU. Windows'
`cpu` is the use of the whole machine. `mbps` is 10⁶ bit/s everywhere.
"""

from __future__ import annotations

import re

from netlimits.errors import ToolFailure
from netlimits.importers.base import ImportedRun, failed, measured_rate
from netlimits.model import Scalar

_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,12})?")
_COUNTED = {
    "packetsretransmitted": "{end}_transport_retrans",
    "packetssent": "ntttcp_{end}_packets_sent",
    "packetsreceived": "ntttcp_{end}_packets_received",
    "errors": "ntttcp_{end}_errors",
    "tcpaveragertt": "{end}_rtt_us",
}
_ASKED = ("packetssent", "packetsreceived")
"""These are printed as 0 on Linux unless --show-nic-packets was given."""
_LINUX = "linux"

Values = dict[tuple[str, str], str]
"""(Path of names, unit) -> text, as `key` writes them."""


def key(path: str, metric: str) -> tuple[str, str]:
    """Return the key of a value, which is the same for XML's `real_time` and JSON's `realTime`."""
    return path.lower().replace("_", ""), metric.lower()


def run_of(values: Values, *, sender: bool, line: int) -> ImportedRun:
    end = "local" if sender else "remote"
    factors = _factors(values, end)
    try:
        figures = _figures(values, end)
    except ToolFailure as error:
        return failed(line, error, factors)
    return ImportedRun(line, "ok", "", factors, figures)


def _number(values: Values, name: str, unit: str = "") -> float | None:
    for (path, metric), text in values.items():
        if path == name and unit in ("", metric) and _NUMBER.fullmatch(text):
            return float(text)
    return None


def _factors(values: Values, end: str) -> dict[str, Scalar]:
    factors: dict[str, Scalar] = {
        "tool": "ntttcp",
        "reported_by": "client" if end == "local" else "server",
        "direction": "send",
    }
    udp = values.get(("parameters/udp", ""), values.get(("parameters/protocol", ""), "False"))
    factors["protocol"] = "udp" if udp.lower() in ("true", "udp") else "tcp"
    streams = _number(values, "connstested") or _number(values, "parameters/maxactivethreads")
    if streams:
        factors["streams"] = int(streams)
    size = _number(values, "bufferlen")
    if size:
        factors["send_size"] = int(size)
    return factors


def _figures(values: Values, end: str) -> dict[str, Scalar]:
    receiver = end == "remote"
    problem = f"no data {'arrived' if receiver else 'was sent'}"
    rate = measured_rate(_number(values, "throughput", "mbps"), "ntttcp", problem)
    seconds = _number(values, "realtime", "s")
    figures: dict[str, Scalar] = {f"{end}_{'recv' if receiver else 'send'}_throughput_mbps": rate}
    if receiver:
        figures["throughput_mbps"] = rate
    if seconds:
        figures["elapsed_s"] = seconds
    linux = _LINUX in values.get(("version", ""), "")
    for name, column in _COUNTED.items():
        if linux and name in _ASKED and values.get((name, "")) == "0":
            continue
        if (count := _number(values, name)) is not None and count >= 0:
            figures[column.format(end=end)] = int(count)
    return figures | _cpu(values, end)


def _cpu(values: Values, end: str) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = {}
    linux = _LINUX in values.get(("version", ""), "")
    busy = _number(values, "cpu", "%")
    if linux:
        own = _number(values, "cpubusyall", "%") if busy is None else busy
        if own is not None:
            if own < 0:
                raise ToolFailure(f"cpu is {own:g} %, out of range", status="invalid")
            figures[f"ntttcp_{end}_process_cpu_pct"] = own
        idle, waiting = _number(values, "idle", "%"), _number(values, "iowait", "%")
        busy = None if idle is None else round(100 - idle - (waiting or 0.0), 6)
    if busy is not None:
        if not -0.5 <= busy <= 100.5 or (not linux and busy < 0):
            raise ToolFailure(f"cpu is {busy:g} %, out of range", status="invalid")
        figures[f"ntttcp_{end}_cpu_pct"] = max(0.0, busy)
    return figures
