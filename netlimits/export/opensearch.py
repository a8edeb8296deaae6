"""OpenSearch: the body of a bulk request, and the index template for its documents.

Fields that documents of k8s-netperf also have use the names of k8s-netperf: `throughput` in Mb/s,
`latency` in µs, `messageSize`, `udpLossPercent` and others. So the dashboards of k8s-netperf show
them. The fields `factors` and `figures` contain all factors and metrics under their names in
netlimits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netlimits.export.base import ExportedRun, Runs

INDEX = "netlimits-runs"

_LABELS: Mapping[str, tuple[str, ...]] = {
    "driver": ("tool",),
    "parallelism": ("streams", "parallel", "count"),
    "messageSize": ("send_size", "request_size"),
}
"""Field -> factors. The field has the value of the first of these factors that the run has."""

_FIGURES: Mapping[str, tuple[str, ...]] = {
    "tcpRetransmits": ("local_transport_retrans", "local_tcp_retrans_segs"),
    "udpLossPercent": ("loss_pct", "iperf3_loss_pct"),
    "latency": ("latency_p99_us",),
    "duration": ("elapsed_s",),
}
"""Field -> columns. The field has the value of the first of these columns that the run has."""

_KEYWORD = {"type": "keyword", "ignore_above": 1024}
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "long": ("parallelism", "samples", "messageSize", "run", "block", "attempt"),
    "double": ("throughput", "latency", "duration", "tcpRetransmits", "udpLossPercent"),
    "date": ("timestamp",),
    "text": ("reason",),
}
"""OpenSearch type -> fields of this type. Other fields that hold a text have the type keyword."""


def opensearch(runs: Runs) -> Iterator[str]:
    """Yield two lines for each run: the bulk action, and the document with the run's values.

    The id of a document consists of the campaign's id and the run's number. So a second import
    replaces the documents. Runs that belong to no known campaign have no fixed id.
    """
    for run in runs.runs():
        identity, before = runs.campaigns.get(run.labels.get("campaign", ""), ("", 0))
        number = run.identity["run"] - before
        action = {"_index": INDEX} | ({"_id": f"{identity}-{number}"} if identity else {})
        yield _json({"index": action})
        own = {"uuid": identity} if identity else {}
        yield _json({**own, **_document(runs, run), "run": number})


def opensearch_template(runs: Runs, file: str) -> Iterator[str]:
    """Yield the index template as JSON, for `PUT _index_template/netlimits-runs`."""
    dynamic = [
        {"factors": {"path_match": "factors.*", "mapping": _KEYWORD}},
        {"figures": {"path_match": "figures.*", "mapping": {"type": "double"}}},
        {"numbers": {"match_mapping_type": "double", "mapping": {"type": "double"}}},
        {"words": {"match_mapping_type": "string", "mapping": _KEYWORD}},
    ]
    types = {name: {"type": kind} for kind, names in _FIELDS.items() for name in names}
    template = {
        "index_patterns": [f"{INDEX}*"],
        "template": {
            "settings": {"index": {"mapping": {"total_fields": {"limit": 4000}}}},
            "mappings": {"dynamic_templates": dynamic, "properties": types},
        },
        "_meta": {
            "units": {metric.column: metric.unit for metric in runs.metrics},
        },
    }
    yield json.dumps(template, indent=1, ensure_ascii=False) + "\n"


def _document(runs: Runs, run: ExportedRun) -> dict[str, Any]:
    document: dict[str, Any] = {"experiment": runs.name, **run.identity}
    if run.started is not None:
        document["timestamp"] = datetime.fromtimestamp(run.started, UTC).isoformat()
    if "campaign" in run.labels:
        document["campaign"] = run.labels["campaign"]
    if runs.tool:
        document["driver"] = runs.tool
    for field, names in _LABELS.items():
        if value := next((run.labels[name] for name in names if name in run.labels), ""):
            if field == "driver":
                document[field] = value
            elif value.isdigit():
                document[field] = int(value)
    document["profile"] = _profile(run)
    for field, names in _FIGURES.items():
        figure = next((run.figures[name] for name in names if name in run.figures), None)
        if figure is not None:
            document[field] = figure
    if "latency" in document:
        document["ltcyMetric"] = "usec"
    if "transaction_rate_tps" in run.figures:
        document |= {"throughput": run.figures["transaction_rate_tps"], "tputMetric": "OP/s"}
    elif "throughput_mbps" in run.figures:
        document |= {"throughput": run.figures["throughput_mbps"], "tputMetric": "Mb/s"}
    document["samples"] = 1
    kept = {name: value for name, value in document.items() if value not in ("", None)}
    return {**kept, "factors": dict(run.labels), "figures": dict(run.figures)}


def _profile(run: ExportedRun) -> str:
    """Return the name of the netperf test for the run's workload, such as TCP_RR.

    Return "" if the run's protocol is neither TCP nor UDP.
    """
    protocol = run.labels.get("protocol", run.labels.get("transport", "")).upper()
    if protocol not in ("TCP", "UDP"):
        return ""
    return f"{protocol}_{'RR' if 'transaction_rate_tps' in run.figures else 'STREAM'}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
