"""PerfKitBenchmarker's results: its JSON lines, one sample each.

Samples of one test with the same labels are one run; a repeated metric begins the next run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.importers.base import ImportedRun, SourceText, clean, is_number, part, slug
from netlimits.importers.documents import JsonDocument
from netlimits.model import Scalar

_FACTORS = {
    "ip_type": "ip_type",
    "protocol": "protocol",
    "cloud": "cloud",
    "sending_machine_type": "sending_machine_type",
    "receiving_machine_type": "receiving_machine_type",
    "sending_zone": "sending_zone",
    "receiving_zone": "receiving_zone",
    "sending_thread_count": "streams",
    "netperf_num_streams": "streams",
    "netperf_send_size_in_bytes": "send_size",
    "netperf_tcp_stream_send_size_in_bytes": "send_size",
    "netperf_mss": "mss",
    "tcp_mss": "mss",
    "congestion_control": "congestion_control",
    "buffer_size": "buffer_size",
    "udp_rate": "udp_rate",
}
"""Label -> factor."""
_MBPS = {
    "mbits/sec": 1.0,
    "mbps": 1.0,
    "mbit/s": 1.0,
    "gbits/sec": 1e3,
    "gbps": 1e3,
    "kbits/sec": 1e-3,
    "kbps": 1e-3,
}
_MICROSECONDS = {"us": 1.0, "microseconds": 1.0, "usec": 1.0, "ms": 1e3, "milliseconds": 1e3}
_RATE = re.compile(
    r"(?:(\w+?)_|UDP |Total )?Throughput(?:_\d+streams?)?|(\w+)_(\d+)streams?_Throughput",
    re.IGNORECASE,
)
_TRANSACTIONS = re.compile(r"(\w+?)_Transaction_Rate(?:_\d+streams?)?", re.IGNORECASE)
_LATENCY = re.compile(r"(\w+?)_Latency_(p50|p90|p99|min|max|mean|stddev)", re.IGNORECASE)
_PING = {
    "average latency": "mean",
    "min latency": "min",
    "max latency": "max",
    "latency std dev": "stddev",
    "minimum latency": "min",
    "maximum latency": "max",
}
_LABEL = re.compile(r"\|([^|:]{1,80}):([^|]{0,300})\|")


def recognizes(document: Mapping[str, Any]) -> bool:
    return (
        isinstance(document.get("metric"), str)
        and is_number(document.get("value"))
        and isinstance(document.get("unit"), str)
        and ("run_uri" in document or "sample_uri" in document or "metadata" in document)
    )


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
    groups: dict[tuple[Any, ...], list[dict[str, JsonDocument]]] = {}
    for document in documents:
        sample = document.value
        labels = _labels(sample)
        kind = _kind(sample["metric"])
        key = (
            str(sample.get("run_uri")),
            str(sample.get("test")),
            kind,
            *sorted(dict(_factors(labels)).items(), key=str),
        )
        runs = groups.setdefault(key, [{}])
        if sample["metric"] in runs[-1]:
            runs.append({})
        runs[-1][sample["metric"]] = document
    read_runs = [_run(samples) for runs in groups.values() for samples in runs]
    return [run for run in read_runs if run is not None]


def _run(samples: Mapping[str, JsonDocument]) -> ImportedRun | None:
    first = next(iter(samples.values()))
    values: dict[str, Scalar] = {"tool": "perfkit"}
    test = _kind(first.value["metric"]) or str(first.value.get("test") or "")
    if test:
        values["test"] = clean(test)
    if test.upper().endswith("RR"):
        values["direction"] = "rr"
    values |= dict(_factors(_labels(first.value)))
    figures: dict[str, Scalar] = {}
    for metric, document in samples.items():
        column, value = _figure(metric, float(document.value["value"]), document.value["unit"])
        if column:
            figures.setdefault(column, value)
    times = [d.value["timestamp"] for d in samples.values() if is_number(d.value.get("timestamp"))]
    line = max(document.line for document in samples.values())
    started = float(min(times)) if times else None
    if not set(figures) - {"perfkit_end_to_end_runtime_s"}:
        return None
    if figures.get("throughput_mbps", 1) == 0:
        reason = "throughput is 0: no data arrived; is the data path open?"
        return ImportedRun(line, "failed", reason, values, started=started)
    return ImportedRun(line, "ok", "", values, figures, started=started)


def _figure(metric: str, value: float, unit: str) -> tuple[str, float]:
    unit = unit.lower().strip()
    if _RATE.fullmatch(metric) and unit in _MBPS:
        return "throughput_mbps", value * _MBPS[unit]
    if _TRANSACTIONS.fullmatch(metric):
        return "transaction_rate_tps", value
    statistic = (
        match[2].lower() if (match := _LATENCY.fullmatch(metric)) else _PING.get(metric.lower())
    )
    if statistic and unit in _MICROSECONDS:
        return f"latency_{statistic}_us", value * _MICROSECONDS[unit]
    if unit in _MBPS:
        return f"perfkit_{slug(metric)}_mbps", value * _MBPS[unit]
    if unit in _MICROSECONDS:
        return f"perfkit_{slug(metric)}_us", value * _MICROSECONDS[unit]
    suffix = {"seconds": "_s", "sec": "_s", "%": "_pct"}.get(unit, "")
    return f"perfkit_{slug(metric)}{suffix}", value


def _kind(metric: str) -> str:
    """Return the test that a metric's name begins with, such as TCP_STREAM, or ""."""
    for pattern in (_RATE, _TRANSACTIONS, _LATENCY):
        if match := pattern.fullmatch(metric):
            return (match[1] or "").upper()
    match = re.match(r"((?:TCP|UDP)_(?:STREAM|C?RR|MAERTS))_", metric)
    return match[1] if match else ""


def _labels(sample: Mapping[str, Any]) -> dict[str, Any]:
    labels = dict(part(sample, "metadata"))
    text = sample.get("labels")
    if isinstance(text, dict):
        labels |= text
    elif isinstance(text, str):
        labels |= dict(_LABEL.findall(text[:100_000]))
    return labels


def _factors(labels: Mapping[str, Any]) -> Iterator[tuple[str, Scalar]]:
    for label, factor in _FACTORS.items():
        value = labels.get(label)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            text = clean(str(value))
            if text and text != "None":
                yield factor, int(text) if re.fullmatch(r"\d{1,15}", text) else text
