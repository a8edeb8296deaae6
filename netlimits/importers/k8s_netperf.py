"""k8s-netperf's documents: one for each profile, the mean of `aggregated_runs` samples.

netperf's `latency` is the 99th percentile, that of other drivers is `k8s_netperf_latency_us`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from netlimits.importers.base import ImportedRun, SourceText, clean, is_count, is_number
from netlimits.importers.documents import JsonDocument
from netlimits.model import Scalar

_SWITCHES = {
    "hostNetwork": "host_network",
    "service": "service",
    "local": "same_node",
    "virt": "virt",
    "acrossAZ": "across_az",
}
_COUNTS = {"parallelism": "streams", "messageSize": "send_size", "burst": "burst"}
_MBPS = {"mb/s": 1.0, "mbps": 1.0, "mbits/s": 1.0, "gb/s": 1e3}


def recognizes(document: Mapping[str, Any]) -> bool:
    """Return True for a result of a profile."""
    needed = ("profile", "driver", "throughput", "tputMetric")
    return all(key in document for key in needed) and is_number(document["throughput"])


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
    """Return a run for each profile."""
    return [_run(*document) for document in documents]


def _run(line: int, document: Mapping[str, Any]) -> ImportedRun:
    driver, profile = (clean(str(document[key])) for key in ("driver", "profile"))
    values: dict[str, Scalar] = {"tool": "k8s-netperf", "driver": driver, "test": profile}
    rr = profile.upper().endswith("RR")
    values |= {"protocol": profile.split("_")[0].lower(), "direction": "rr" if rr else "send"}
    for key, name in _COUNTS.items():
        if is_count(document.get(key)) and (document[key] or key == "burst"):
            values["request_size" if rr and key == "messageSize" else name] = document[key]
    for key, name in _SWITCHES.items():
        if isinstance(document.get(key), bool):
            values[name] = "yes" if document[key] else "no"
    started = _seconds(document.get("timestamp"))
    rate, unit = float(document["throughput"]), str(document["tputMetric"]).lower()
    if rate <= 0:
        reason = "throughput is 0: no data arrived; is the data path open?"
        return ImportedRun(line, "failed", reason, values, started=started)
    figures: dict[str, Scalar] = {}
    if unit in _MBPS:
        figures["throughput_mbps"] = rate * _MBPS[unit]
    elif unit in ("op/s", "ops", "trans/s"):
        figures["transaction_rate_tps"] = rate
    else:
        figures["k8s_netperf_throughput"] = rate
    if is_number(latency := document.get("latency")) and latency > 0:
        own = "latency_p99_us" if driver == "netperf" and rr else "k8s_netperf_latency_us"
        figures[own] = float(latency)
    if is_number(seconds := document.get("duration")) and seconds > 0:
        figures["elapsed_s"] = float(seconds)
    if is_count(samples := document.get("samples")) and samples > 1:
        figures["aggregated_runs"] = samples
    if is_number(loss := document.get("udpLossPercent")) and profile.upper().startswith(
        "UDP_STREAM"
    ):
        figures["loss_pct"] = float(loss)
    again = document.get("tcpRetransmits")
    if is_number(again) and again >= 0 and profile.upper().startswith("TCP_STREAM"):
        figures["local_transport_retrans"] = float(again)
    for end, key in (("local", "client"), ("remote", "server")):
        cpu = document.get(f"{key}CPU")
        idle = cpu.get("idleCPU") if isinstance(cpu, dict) else None
        if document.get(f"{key}CPUCollected") is not False and is_number(idle) and 0 < idle <= 100:
            figures[f"k8s_netperf_{end}_cpu_pct"] = 100 - float(idle)
    return ImportedRun(line, "ok", "", values, figures, started=started)


def _seconds(text: Any) -> float | None:
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        text = re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
