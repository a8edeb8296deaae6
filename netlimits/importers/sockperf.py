"""sockperf's output: ping-pong, under-load and throughput.

Without --full-rtt "Latency" is half of a round trip. In MBps and Mbps, M is 2²⁰.
"""

from __future__ import annotations

import re

from netlimits.errors import ToolFailure
from netlimits.importers.base import Given, ImportedRun, SourceText, failed
from netlimits.model import Scalar

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_OWN = re.compile(r"sockperf(?:\[CLIENT\])?: .*|sockperf\[CLIENT\] .*")
_BEGIN = re.compile(r"sockperf: == version #.*")
_PEER = re.compile(r"\[ *\d+\] IP = \S+ +PORT = +\d+ # (TCP|UDP).*")
_VALID = re.compile(
    rf"sockperf: \[Valid Duration\] RunTime={_N} sec; SentMessages=(\d{{1,18}}); "
    r"ReceivedMessages=(\d{1,18})"
)
_AVERAGE = re.compile(rf"sockperf: =+> avg-(latency|lat|rtt)= *{_N} \(std-dev= *{_N}.*")
_SUMMARY = re.compile(rf"sockperf: Summary: (Latency|Round trip) is {_N} usec.*")
_PERCENTILE = re.compile(rf"sockperf: ---> (?:percentile {_N}|<(MAX|MIN)> observation) *= *{_N}")
_DROPPED = re.compile(r"sockperf: # dropped messages = (\d{1,18});.*")
_RATE = re.compile(r"sockperf: Summary: Message Rate is (\d{1,15}) \[msg/sec\].*")
_BANDWIDTH = re.compile(rf"sockperf: Summary: BandWidth is {_N} MBps \({_N} Mbps\).*")
_TOTAL = re.compile(rf"sockperf: Total of (\d{{1,18}}) messages sent in {_N} sec.*")
_ERROR = re.compile(r"sockperf: (ERROR: .*|No messages were received.*)")
_NAMES = {"50": "p50", "90": "p90", "99": "p99"}


class _Run:
    def __init__(self, line: int) -> None:
        self.line = line
        self.protocol = ""
        self.figures: dict[str, float] = {}
        self.halved = True
        self.sent = self.received = self.seconds = self.dropped = 0.0
        self.message_rate = self.mbps = 0.0
        self.error = ""

    @property
    def ended(self) -> bool:
        return "mean" in self.figures or bool(self.mbps)


def claims(source: SourceText) -> bool:
    return any(_OWN.fullmatch(line) for _, line in source.stripped())


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return [_finished(run) for run in _runs(source)]


def _runs(source: SourceText) -> list[_Run]:
    runs: list[_Run] = []
    for number, line in source.stripped():
        run = runs[-1] if runs else None
        own, valid, total = (each.fullmatch(line) for each in (_OWN, _VALID, _TOTAL))
        summary = _SUMMARY.fullmatch(line)
        repeated = (valid or total) and run is not None and run.seconds
        second_summary = summary and run is not None and "summary" in run.figures
        if _BEGIN.fullmatch(line) or repeated or second_summary or (run is None and own):
            run = _Run(number)
            runs.append(run)
        if run is None:
            continue
        if own:
            run.line = number
        if peer := _PEER.fullmatch(line):
            run.protocol = peer[1].lower()
        elif valid:
            run.seconds, run.sent, run.received = map(float, valid.groups())
        elif total:
            run.sent, run.seconds = float(total[1]), float(total[2])
        elif average := _AVERAGE.fullmatch(line):
            run.halved = average[1] != "rtt"
            run.figures |= {"mean": float(average[2]), "stddev": float(average[3])}
        elif summary:
            run.halved = summary[1] == "Latency"
            run.figures["summary"] = float(summary[2])
            run.figures.setdefault("mean", float(summary[2]))
        elif percentile := _PERCENTILE.fullmatch(line):
            name = (percentile[2] or "").lower() or _NAMES.get(f"{float(percentile[1] or 0):g}", "")
            if name:
                run.figures[name] = float(percentile[3])
        elif dropped := _DROPPED.fullmatch(line):
            run.dropped = float(dropped[1])
        elif rate := _RATE.fullmatch(line):
            run.message_rate = float(rate[1])
        elif bandwidth := _BANDWIDTH.fullmatch(line):
            run.mbps = float(bandwidth[1]) * 8 * 2**20 / 1e6
        elif error := _ERROR.fullmatch(line):
            run.error = run.error or error[1]
    return runs


def _finished(run: _Run) -> ImportedRun:
    values: dict[str, Scalar] = {"tool": "sockperf"}
    if run.protocol:
        values["protocol"] = run.protocol
    try:
        if not run.ended:
            raise ToolFailure(run.error or "sockperf printed no summary: the run was interrupted")
        figures = _of_stream(run) if run.mbps else _of_round_trips(run)
    except ToolFailure as error:
        return failed(run.line, error, values)
    values["direction"] = "send" if run.mbps else "rr"
    return ImportedRun(run.line, "ok", "", values, figures)


def _of_stream(run: _Run) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = {"local_send_throughput_mbps": run.mbps}
    if run.seconds:
        figures["elapsed_s"] = run.seconds
        figures["local_send_calls"] = int(run.sent)
    if run.message_rate:
        figures["sockperf_message_rate_pps"] = run.message_rate
    return figures


def _of_round_trips(run: _Run) -> dict[str, Scalar]:
    factor = 2.0 if run.halved else 1.0
    figures: dict[str, Scalar] = {
        f"latency_{name}_us": factor * value
        for name, value in run.figures.items()
        if name != "summary"
    }
    figures["sockperf_latency_us"] = run.figures["mean"]
    if run.seconds:
        figures["elapsed_s"] = run.seconds
        figures["transaction_rate_tps"] = run.received / run.seconds
    if run.sent:
        figures["loss_pct"] = 100 * run.dropped / run.sent
    return figures
