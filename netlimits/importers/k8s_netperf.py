"""k8s-netperf's documents: one for each profile, the mean of `aggregated_runs` samples.

In request/response tests with netperf as the driver, `latency` is the 99th percentile. Otherwise it
is imported as `k8s_netperf_latency_us`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.importers.base import (
    ImportedRun,
    SourceText,
    clean,
    failed,
    is_count,
    is_number,
    iso_seconds,
    measured_rate,
    part,
)
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
    needed = ("profile", "driver", "throughput", "tputMetric")
    return all(key in document for key in needed) and is_number(document["throughput"])


def read(source: SourceText, documents: Sequence[JsonDocument]) -> list[ImportedRun]:
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
    started = iso_seconds(document.get("timestamp"))
    unit = str(document["tputMetric"]).lower()
    try:
        problem = "no transaction was done" if rr else "no data arrived"
        rate = measured_rate(float(document["throughput"]), driver, problem)
    except ToolFailure as error:
        return failed(line, error, values, started)
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
    retransmits = document.get("tcpRetransmits")
    if is_number(retransmits) and retransmits >= 0 and profile.upper().startswith("TCP_STREAM"):
        figures["local_transport_retrans"] = float(retransmits)
    for end, key in (("local", "client"), ("remote", "server")):
        idle = part(document, f"{key}CPU").get("idleCPU")
        if document.get(f"{key}CPUCollected") is not False and is_number(idle) and 0 < idle <= 100:
            figures[f"k8s_netperf_{end}_cpu_pct"] = 100 - float(idle)
    return ImportedRun(line, "ok", "", values, figures, started=started)
