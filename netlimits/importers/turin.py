"""The Turin scripts' files: minimum, mean and maximum of several runs for each buffer length.

`iperf3.txt` has lines of `length min mean max cpu_min cpu_mean cpu_max` with rates in Gbit/s.
`nttcp.txt` also has the number of buffers, after the length; its rates are in Mbit/s. CPU figures
are those of the client process.
"""

from __future__ import annotations

import re

from netlimits.importers.base import Given, ImportedRun, SourceText
from netlimits.model import Scalar

_NUMBER = re.compile(r"\d{1,12}(\.\d{1,20})?(e-\d{1,2})?")
_SCRIPTS = {7: ("iperf3", 1e3, 10), 8: ("nttcp", 1.0, 20)}
"""Number of fields -> tool, Mbit/s in its unit, runs in an aggregate."""


def claims(source: SourceText) -> bool:
    """Return True if all lines are rows: lengths grow, and rate and CPU have min ≤ mean ≤ max."""
    rows = [line.split() for line in source.lines if line.strip()]
    if len(rows) < 2 or {len(row) for row in rows} not in ({7}, {8}):
        return False
    if not all(_NUMBER.fullmatch(word) for row in rows for word in row):
        return False
    if not all(word.isdigit() for row in rows for word in row[: len(row) - 6]):
        return False
    lengths = [int(row[0]) for row in rows]
    return lengths == sorted(set(lengths)) and all(_ordered(row) for row in rows)


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    rows = []
    for number, line in enumerate(source.lines, 1):
        if not line.strip():
            continue
        words = line.split()
        tool, unit, runs = _SCRIPTS[len(words)]
        least, mean, most, *cpu = map(float, words[-6:])
        values: dict[str, Scalar] = {
            "tool": tool,
            "protocol": "tcp",
            "send_size": int(words[0]),
        }
        if tool == "nttcp":
            values["count"] = int(words[1])
        if least <= 0:
            reason = "a run of this aggregate measured nothing"
            rows.append(ImportedRun(number, "failed", reason, values))
            continue
        figures: dict[str, Scalar] = {
            "throughput_mbps": mean * unit,
            "throughput_min_mbps": least * unit,
            "throughput_max_mbps": most * unit,
            "local_process_cpu_pct": cpu[1],
            "local_process_cpu_min_pct": cpu[0],
            "local_process_cpu_max_pct": cpu[2],
        }
        if "aggregated_runs" not in given.factors:
            figures["aggregated_runs"] = runs
        rows.append(ImportedRun(number, "ok", "", values, figures))
    return rows


def _ordered(row: list[str]) -> bool:
    """Return True if min ≤ mean ≤ max, with a tolerance for the rounding of equal values."""
    figures = [float(word) for word in row[-6:]]
    return all(
        low <= mean * (1 + 1e-9) and mean <= high * (1 + 1e-9)
        for low, mean, high in (figures[:3], figures[3:])
    )
