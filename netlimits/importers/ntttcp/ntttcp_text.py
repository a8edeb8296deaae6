"""The text of Linux' ntttcp, of senders and receivers, with or without -V."""

from __future__ import annotations

import re

from netlimits.importers.base import Given, ImportedRun, SourceText, clean
from netlimits.importers.ntttcp.results import Values, key, run_of

_BANNER = re.compile(r"NTTTCP for Linux [\d.]{1,20}")
_LINE = re.compile(r"(?:\d\d:\d\d:\d\d )?(?P<kind>INFO|ERR|DBG) ?: *(?P<text>.*)")
_TOTAL = re.compile(r"([a-z][a-z /()]{2,30}?)\s*:\s*(\d{1,20}(?:\.\d{1,9})?) ?([A-Za-z%]*)")
_ROLE = re.compile(r"\*\*\* (sender|receiver) role")
_PROTOCOL = re.compile(r"protocol:\s+(TCP|UDP)")
_CONNECTIONS = re.compile(r"(\d{1,9}) connections (?:tested|created in .*)")
_BITS = {"bps": 1e-6, "Kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3, "Tbps": 1e6}
_NAMES = {
    "retrans segs": ("packets_retransmitted", ""),
    "cpu busy (all)": ("cpu", "%"),
    "idle": ("idle", "%"),
    "iowait": ("iowait", "%"),
    "tx_packets": ("packets_sent", ""),
    "tcpi rtt": ("tcp_average_rtt", ""),
}


class _Run:
    def __init__(self, line: int) -> None:
        self.line = line
        self.sender: bool | None = None
        self.error = ""
        self.streams = 0
        self.totals: dict[str, tuple[float, str]] = {}
        self.udp: bool | None = None

    @property
    def values(self) -> Values:
        """The run's figures under their names in ntttcp's XML."""
        values = {key("version", ""): "linux"}
        udp = "retrans segs" not in self.totals if self.udp is None else self.udp
        values[key("parameters/udp", "")] = str(udp)
        for name, (element, unit) in _NAMES.items():
            if name in self.totals:
                values[key(element, unit)] = f"{self.totals[name][0]:.12g}"
        if self.streams:
            values[key("conns_tested", "")] = str(self.streams)
        if "test duration" in self.totals:
            values[key("realtime", "s")] = f"{self.totals['test duration'][0]:.12g}"
        if (rate := self._rate()) is not None:
            values[key("throughput", "mbps")] = f"{rate:.9f}"
        return values

    def _rate(self) -> float | None:
        """Return the rate in Mbit/s: as printed, or bytes / seconds if these have more digits."""
        printed = self.totals.get("throughput")
        count, seconds = self.totals.get("total bytes"), self.totals.get("test duration")
        if count and seconds and seconds[0] and (not printed or printed[0] < seconds[0]):
            return count[0] * 8 / 1e6 / seconds[0]
        return printed[0] * _BITS[printed[1]] if printed and printed[1] in _BITS else None


def claims(source: SourceText) -> bool:
    return any(_BANNER.search(line) for _, line in source.stripped())


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return [_finished(run) for run in _runs(source)]


def _runs(source: SourceText) -> list[_Run]:
    runs: list[_Run] = []
    for number, line in source.stripped():
        if _BANNER.search(line):
            runs.append(_Run(number))
        elif runs:
            _add(runs[-1], line, number)
    return runs


def _add(run: _Run, line: str, number: int) -> None:
    if role := _ROLE.fullmatch(line):
        run.sender = role[1] == "sender"
    elif protocol := _PROTOCOL.fullmatch(line):
        run.udp = protocol[1] == "UDP"
    elif stated := _LINE.fullmatch(line):
        text = stated["text"].strip()
        if stated["kind"] == "ERR" and not run.error:
            run.error = clean(text)
            run.sender = run.sender or text.startswith("failed to connect")
        if connections := _CONNECTIONS.fullmatch(text):
            run.streams, run.sender = int(connections[1]), True
        if total := _TOTAL.fullmatch(text):
            run.totals[total[1]] = (float(total[2]), total[3])
            run.line = number


def _finished(run: _Run) -> ImportedRun:
    finished = run_of(run.values, sender=bool(run.sender), line=run.line)
    if run.error and finished.status == "failed":
        known = {k: v for k, v in finished.values.items() if run.totals or k != "protocol"}
        return ImportedRun(run.line, "failed", run.error, known)
    return finished
