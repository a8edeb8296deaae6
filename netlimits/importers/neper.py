"""neper's `key=value` output of a client or a server of tcp_rr, tcp_stream and similar programs.

Throughput is the receiver's rate: the ends exchange their rates, except in old versions.
"""

from __future__ import annotations

import re

from netlimits.errors import ToolFailure
from netlimits.importers.base import Given, ImportedRun, SourceText, clean, failed, measured_rate
from netlimits.model import Scalar

_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9_]{1,60})=(.{0,300})")
_COUNT = re.compile(
    r"t=(\d{1,9}\.\d{1,9}) +TX: +\d+ ops, +(\d{1,18}) bytes,.*RX: +\d+ ops, +\d{1,18} bytes,.*"
)
_OWN = {"total_run_time", "maxevents", "num_flows"}
"""Keys that all of neper's programs print, and no other tool."""
_LATENCIES = ("min", "mean", "max", "stddev", "p50", "p90", "p99")


class _Run:
    def __init__(self, line: int) -> None:
        self.line = line
        self.values: dict[str, str] = {}
        self.counts: list[tuple[float, int]] = []

    def number(self, *keys: str) -> float | None:
        for key in keys:
            if re.fullmatch(r"\d{1,18}(\.\d{1,9})?", self.values.get(key, "")):
                return float(self.values[key])
        return None

    def count(self, key: str) -> int | None:
        number = self.number(key)
        return None if number is None else int(number)


def claims(source: SourceText) -> bool:
    return {pair[1] for _, line in source.stripped() if (pair := _PAIR.fullmatch(line))} >= _OWN


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return [_finished(run) for run in _runs(source)]


def _runs(source: SourceText) -> list[_Run]:
    runs: list[_Run] = []
    first = ""
    for number, line in source.stripped():
        if count := _COUNT.fullmatch(line):
            if runs:
                runs[-1].counts.append((float(count[1]), int(count[2])))
        elif pair := _PAIR.fullmatch(line):
            first = first or pair[1]
            if not runs or (pair[1] == first and first in runs[-1].values):
                runs.append(_Run(number))
            runs[-1].values.setdefault(pair[1], pair[2].strip())
            runs[-1].line = number
    return runs


def _finished(run: _Run) -> ImportedRun:
    values = _factors(run)
    try:
        figures = _transactions(run) if _is_rr(run) else _stream(run, values)
    except ToolFailure as error:
        return failed(run.line, error, values)
    return ImportedRun(run.line, "ok", "", values, figures)


def _is_rr(run: _Run) -> bool:
    return "request_size" in run.values or "num_transactions" in run.values


def _factors(run: _Run) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {"tool": "neper"}
    if (client := run.count("client")) is not None:
        values["reported_by"] = "client" if client else "server"
    if _is_rr(run):
        values["direction"] = "rr"
    else:
        back = run.count("enable_tcp_maerts") or run.values.get("enable_read") == "1"
        values["direction"] = "recv" if back else "send"
    names = {"streams": "num_flows", "threads": "num_threads"}
    names |= (
        {"request_size": "request_size", "response_size": "response_size"}
        if _is_rr(run)
        else {"send_size": "buffer_size"}
    )
    values |= {name: count for name, key in names.items() if (count := run.count(key)) is not None}
    if congestion := run.values.get("congestion_control"):
        values["congestion_control"] = clean(congestion)
    return values


def _elapsed(run: _Run) -> float | None:
    start, end = run.number("time_start"), run.number("time_end")
    if start is not None and end is not None and end > start:
        return end - start
    return run.counts[-1][0] if run.counts else run.number("test_length", "total_run_time")


def _transactions(run: _Run) -> dict[str, Scalar]:
    rate = run.number("throughput", "local_throughput")
    rate = measured_rate(rate, "neper", "no transaction was done")
    figures: dict[str, Scalar] = {"transaction_rate_tps": rate}
    if elapsed := _elapsed(run):
        figures["elapsed_s"] = elapsed
    for name in _LATENCIES:
        if (seconds := run.number(f"latency_{name}")) is not None:
            figures[f"latency_{name}_us"] = 1e6 * seconds
    return figures


def _stream(run: _Run, values: dict[str, Scalar]) -> dict[str, Scalar]:
    server = values.get("reported_by") == "server"
    back = values["direction"] == "recv"
    receiver = "local" if back else "remote"
    here = server == (receiver == "remote")
    rate = run.number("local_throughput" if here else "remote_throughput")
    if rate is None and (old := run.number("throughput_Mbps")) is not None:
        rate = 1e6 * old  # an old version prints only one rate
    mbps = measured_rate(rate, "neper") / 1e6
    figures: dict[str, Scalar] = {
        "throughput_mbps": mbps,
        f"{receiver}_recv_throughput_mbps": mbps,
    }
    if elapsed := run.counts[-1][0] if run.counts else _elapsed(run):
        figures["elapsed_s"] = elapsed
    if run.counts and not server and not back:
        sent = sum(count[1] for count in run.counts)
        figures["local_send_throughput_mbps"] = sent * 8 / 1e6 / run.counts[-1][0]
    return figures
