"""JSON Schema of the top-level keys that work with any tool, such as streams and a pace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RATE: Mapping[str, Any] = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 1e13,
}
_LOAD: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 1,
    "pattern": r"^[0-9]+(\.[0-9]+)?[KMGkmg]?$",
}
_TIME: Mapping[str, Any] = {
    "type": ["number", "string"],
    "exclusiveMinimum": 0,
    "pattern": r"^[0-9]+(\.[0-9]+)? ?(us|ms|s)$",
}
LATENCIES: Mapping[str, str] = {
    "latency_mean": "mean latency",
    "latency_p50": "median latency",
    "latency_p90": "90th-percentile latency",
    "latency_p99": "99th-percentile latency",
    "latency_max": "latency",
}
"""Metrics that a search can bound."""
PROFILE, PROFILED_RUNS = "profile", 2
"""The key of profiles, and the default number of profiled runs of each configuration."""

AROUND: Mapping[str, Mapping[str, Any]] = {
    "streams": {
        "title": "Parallel streams",
        "description": "How many clients run at the same time to each server. Only the time that "
        "all share counts, so interim_seconds is a tenth of a run (at most 1 s) if left out.",
        "type": "integer",
        "minimum": 1,
        "maximum": 256,
        "default": 1,
    },
    "family": {
        "title": "The data's version of IP",
        "description": "If left out, that of the hosts' data addresses. Another version uses the "
        "data interface's first address of it.",
        "enum": ["ipv4", "ipv6"],
    },
    "pace": {
        "title": "A constant bit rate",
        "description": "Paced by what the sender can do, best first: netperf's -q under fq, "
        "fq maxrate, tbf. A run that misses the rate is invalid.",
        "type": "object",
        "additionalProperties": False,
        "required": ["rate", "frame_rate"],
        "properties": {
            "rate": {"description": "Rate of user data, bit/s.", **_RATE},
            "frame_rate": {
                "description": "Rate of whole frames, as a qdisc counts them, bit/s: over UDP and "
                "IPv4 rate * (send_size + 42) / send_size, over IPv6 + 62.",
                **_RATE,
            },
            "tolerance_pct": {
                "description": "Maximum difference of a run from `rate`, percent.",
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 100,
                "default": 1,
            },
        },
    },
    "bulk": {
        "title": "Bulk streams beside transactions",
        "description": "Latency under load: TCP streams of netperf that run while irtt, or a test "
        "of transactions (TCP_RR), measures between the same hosts. Both figures are of the same "
        "seconds.",
        "type": "object",
        "additionalProperties": False,
        "required": ["streams"],
        "properties": {
            "streams": {
                "description": "Number of streams each way; 0 measures an idle path.",
                "type": "integer",
                "minimum": 0,
                "maximum": 128,
            },
            "direction": {
                "description": "Which way their data goes, seen from the client.",
                "enum": ["send", "recv", "both"],
                "default": "send",
            },
            "dscp": {
                "description": "DSCP of the streams (0 to 63), which those of a direction take in "
                "turn; read back from the sockets.",
                "type": "array",
                "minItems": 1,
                "maxItems": 64,
                "items": {"type": "integer", "minimum": 0, "maximum": 63},
            },
            "lead": {
                "description": "Seconds that they run before the transactions begin, to fill "
                "queues. A run whose streams carried nothing by then is invalid.",
                "type": "integer",
                "minimum": 1,
                "maximum": 600,
                "default": 2,
            },
            "tail": {
                "description": "Seconds that they run after the transactions should end, because "
                "full queues delay their start. A run whose streams ended first is invalid.",
                "type": "integer",
                "minimum": 1,
                "maximum": 600,
                "default": 5,
            },
        },
    },
    "search": {
        "title": "The highest load that still holds",
        "description": "Search the highest value of a load, such as a rate, at which loss and "
        "latency stay within bounds, and what is asked for arrives: what RFC 2544 calls "
        "throughput. Each trial is a run. MLRsearch of FD.io chooses the loads.",
        "type": "object",
        "additionalProperties": False,
        "required": ["of", "from", "to"],
        "properties": {
            "of": {
                "description": "Name of the load: `${name}` is its value in options and derived "
                "values, such as rate (bit/s) or packets (packets/s).",
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
            },
            "from": {"description": "Lowest load; K M G are 1000^n.", **_LOAD},
            "to": {"description": "Highest load, with which the search begins.", **_LOAD},
            "loss": {
                "description": "Highest loss of a trial, percent.",
                "type": "number",
                "minimum": 0,
                "exclusiveMaximum": 100,
                "default": 0,
            },
            **{
                name: {
                    "description": f"Highest {what} of a trial: a number of µs, or 5ms.",
                    **_TIME,
                }
                for name, what in LATENCIES.items()
            },
            "width": {
                "description": "Distance of the highest load that holds from the lowest that does "
                "not, in percent of the latter.",
                "type": "number",
                "minimum": 0.05,
                "maximum": 50,
                "default": 1,
            },
            "trials": {
                "description": "Number of trials whose majority decides a load. With 1 a single "
                "lost packet decides.",
                "type": "integer",
                "minimum": 1,
                "maximum": 99,
                "default": 3,
            },
        },
    },
    "trace": {
        "title": "A packet trace",
        "description": "tcpdump on the data link during each run, bounded in packets and time.",
        "type": "object",
        "additionalProperties": False,
        "required": ["roles", "packets"],
        "properties": {
            "roles": {
                "description": "Roles that record packets.",
                "type": "array",
                "minItems": 1,
                "items": {"type": "string"},
            },
            "packets": {
                "description": "Maximum number of packets to keep.",
                "type": "integer",
                "minimum": 1,
                "maximum": 100_000,
            },
            "snap_bytes": {
                "description": "Bytes to keep of each packet.",
                "type": "integer",
                "minimum": 64,
                "maximum": 65535,
                "default": 96,
            },
        },
    },
    PROFILE: {
        "title": "CPU profiles",
        "description": "What the CPUs did: perf on these roles, in extra runs of each "
        "configuration. They lie in the same blocks, are marked `profiled`, and count for no "
        "figure of throughput or CPU.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "roles": {
                "description": "Roles that record, both ends if left out.",
                "type": "array",
                "minItems": 1,
                "items": {"type": "string"},
            },
            "frequency": {
                "description": "Samples per second of each CPU; kernel.perf_event_max_sample_rate "
                "limits it.",
                "type": "integer",
                "minimum": 1,
                "maximum": 100_000,
                "default": 999,
            },
            "runs": {
                "description": "Profiled runs of each configuration, beside its other runs.",
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "default": PROFILED_RUNS,
            },
        },
    },
}
"""Key to the schema of its value."""
