"""uperf's output: the run statistics, the total, and the raw statistics of `-R`.

The master's row counts the client's bytes; the other rows count those of the other end. If the
profile only writes, the latter are the bytes that arrived. K is 1024 bytes or 1000 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from netlimits.errors import ToolFailure
from netlimits.importers.base import Given, ImportedRun, SourceText, clean, failed, measured_rate
from netlimits.model import Scalar

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_START = re.compile(r"Starting (\d{1,6}) threads running profile: ?(.{1,200}?) \.\.\..*")
_TOTAL = re.compile(
    rf"(\S{{1,40}}) +{_N} ?([KMGT]?)B? */ *{_N} ?\(s\) *= +{_N} ?([KMGT]?)b/s *"
    rf"(?:{_N}(?:op|txn)/s.*)?.*"
)
_ROW = re.compile(
    rf"(\S{{1,80}}) +{_N}(ms|us|ns|s|m)? +{_N} ?([KMGT]?)B? +{_N} ?([KMGT]?)b(?:/s|ps|s) "
    rf"+(\d{{1,18}}) +{_N}"
)
_RAW = re.compile(
    r"timestamp_ms: ?(\d{1,16}(?:\.\d{1,6})?) name: ?(\S{1,40}) nr_bytes: ?(\d{1,20}) "
    r"nr_ops: ?(\d{1,20})"
)
_ERROR = re.compile(r"\*\* ?(Error.*|Aborting.*)|(Error .*|Assertion .*)", re.IGNORECASE)
_BYTES = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_BITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "m": 60.0, None: 1.0}


class _Run:
    def __init__(self, line: int) -> None:
        self.line = line
        self.profile = ""
        self.threads = 0
        self.total: tuple[float, float, float | None] | None = None
        self.rows: dict[str, tuple[float, float, int, float]] = {}
        self.raw: dict[str, list[tuple[float, int, int]]] = {}
        self.error = ""


def claims(source: SourceText) -> bool:
    return any(_START.fullmatch(line) or _RAW.fullmatch(line) for _, line in source.stripped())


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return [_finished(run) for run in _runs(source)]


def _runs(source: SourceText) -> list[_Run]:
    runs: list[_Run] = []
    for number, line in source.stripped():
        start, raw = _START.fullmatch(line), _RAW.fullmatch(line)
        if start or (raw and not runs):
            runs.append(_Run(number))
        if not runs:
            continue
        run = runs[-1]
        if start:
            run.threads, run.profile = int(start[1]), clean(start[2].strip())
        elif raw:
            run.line = number
            counts = (float(raw[1]) / 1e3, int(raw[3]), int(raw[4]))
            run.raw.setdefault(raw[2], []).append(counts)
        elif (total := _TOTAL.fullmatch(line)) and total[1] in ("Total", run.profile[:40]):
            run.line = number
            rate = float(total[5]) * _BITS[total[6]] / 1e6
            run.total = (rate, float(total[4]), float(total[7]) if total[7] else None)
        elif row := _ROW.fullmatch(line):
            run.line = number
            seconds = float(row[2]) * _SECONDS[row[3]]
            rate = float(row[6]) * _BITS[row[7]] / 1e6
            run.rows[row[1].lower()] = (seconds, rate, int(row[8]), float(row[9]))
        elif error := _ERROR.match(line):
            run.error = run.error or error[1] or error[2]
    return runs


def _finished(run: _Run) -> ImportedRun:
    values: dict[str, Scalar] = {"tool": "uperf"}
    if run.profile:
        values["test"] = run.profile
    if run.threads:
        values["threads"] = run.threads
    started = min((row[0] for rows in run.raw.values() for row in rows), default=None)
    try:
        figures = _figures(run)
    except ToolFailure as error:
        return failed(run.line, error, values, started)
    return ImportedRun(run.line, "ok", "", values, figures, tuple(_interim(run)), started)


def _figures(run: _Run) -> dict[str, float]:
    master = run.rows.get("master")
    others = [row for name, row in run.rows.items() if name != "master"]
    figures: dict[str, float] = {}
    operations: float | None = None
    if master and others:
        figures["throughput_mbps"] = sum(row[1] for row in others)
        figures["elapsed_s"] = master[0]
        figures["uperf_master_throughput_mbps"] = master[1]
        operations = master[2] / master[0] if master[0] else None
        figures["uperf_errors_pct"] = max(row[3] for row in (master, *others))
    elif run.total:
        figures["throughput_mbps"], figures["elapsed_s"] = run.total[:2]
        operations = run.total[2]
    elif series := _series(run):
        (begin, *_), (end, count, done) = series[0], series[-1]
        if end > begin and count:
            figures["throughput_mbps"] = count * 8 / 1e6 / (end - begin)
            figures["elapsed_s"] = end - begin
            operations = done / (end - begin)
    if not figures:
        raise ToolFailure(run.error or "uperf printed no statistics: the run was interrupted")
    measured_rate(figures["throughput_mbps"], "uperf")
    if operations:
        figures["uperf_operations_per_s"] = operations
    return figures


def _series(run: _Run) -> list[tuple[float, int, int]]:
    """Return the raw statistics of the transaction that moved the most bytes."""
    named = {name: rows for name, rows in run.raw.items() if name.startswith("Txn")}
    return max(named.values(), key=lambda rows: rows[-1][1], default=[])


def _interim(run: _Run) -> Iterator[Mapping[str, float]]:
    series = _series(run)
    for (begin, before, _), (end, count, _) in pairwise(series):
        if end > begin and count >= before:
            yield {
                "ending_s": end,
                "interval_s": end - begin,
                "throughput_mbps": (count - before) * 8 / 1e6 / (end - begin),
            }
