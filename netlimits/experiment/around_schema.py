"""JSON Schema of the top-level keys that work with any tool, such as streams and a pace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def _block(
    title: str, description: str, required: Sequence[str] = (), **properties: Mapping[str, Any]
) -> Mapping[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "object",
        "additionalProperties": False,
        **({"required": [*required]} if required else {}),
        "properties": properties,
    }


def _integer(description: str, least: int, most: int, default: int | None = None) -> dict[str, Any]:
    bounds = {"description": description, "type": "integer", "minimum": least, "maximum": most}
    return bounds if default is None else {**bounds, "default": default}


def _rate(description: str) -> dict[str, Any]:
    return {"description": description, "type": "number", "exclusiveMinimum": 0, "maximum": 1e13}


def _load(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "type": ["integer", "string"],
        "minimum": 1,
        "pattern": r"^[0-9]+(\.[0-9]+)?[KMGkmg]?$(?!\n)",
    }


def _time(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "type": ["number", "string"],
        "exclusiveMinimum": 0,
        "pattern": r"^[0-9]+(\.[0-9]+)? ?(us|ms|s)$(?!\n)",
    }


def _roles(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "type": "array",
        "minItems": 1,
        "items": {"type": "string"},
    }


AROUND: Mapping[str, Mapping[str, Any]] = {
    "streams": {
        "title": "Parallel streams",
        **_integer(
            "Number of clients that run at the same time to each server. Only the time in which "
            "all of them run counts, so interim_seconds defaults to a tenth of a run (at most 1 "
            "s).",
            *(1, 256, 1),
        ),
    },
    "family": {
        "title": "IP version of the data",
        "description": "Default: that of the hosts' data addresses. For the other version, the "
        "first such address of the data interface is used.",
        "enum": ["ipv4", "ipv6"],
    },
    "pace": _block(
        "A constant bit rate",
        "Paced by the first of these that the sender supports: netperf's -q under fq, fq maxrate, "
        "tbf. A run that misses the rate is invalid.",
        ("rate", "frame_rate"),
        rate=_rate("Rate of user data, bit/s."),
        frame_rate=_rate(
            "Rate of whole frames, as a qdisc counts them, bit/s: over UDP and IPv4 rate * "
            "(send_size + 42) / send_size, over IPv6 + 62."
        ),
        tolerance_pct={
            "description": "Maximum difference of a run from `rate`, percent.",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 100,
            "default": 1,
        },
    ),
    "bulk": _block(
        "Bulk streams beside transactions",
        "Latency under load: TCP streams of netperf run while irtt, or a test of transactions "
        "(TCP_RR), measures between the same hosts. All figures cover the same seconds.",
        ("streams",),
        streams=_integer("Number of streams each way; 0 measures an idle path.", 0, 128),
        direction={
            "description": "Direction of their data, seen from the client.",
            "enum": ["send", "recv", "both"],
            "default": "send",
        },
        dscp={
            "description": "DSCP values (0 to 63), which the streams of each direction take in "
            "turn; read back from the sockets.",
            "type": "array",
            "minItems": 1,
            "maxItems": 64,
            "items": {"type": "integer", "minimum": 0, "maximum": 63},
        },
        lead=_integer(
            "Seconds that the streams run before the transactions begin, to fill queues. If the "
            "streams carried nothing by then, the run is invalid.",
            *(1, 600, 2),
        ),
        tail=_integer(
            "Seconds that the streams run after the transactions should end, because full queues "
            "delay transactions. If the streams ended first, the run is invalid.",
            *(1, 600, 5),
        ),
    ),
    "search": _block(
        "Highest load that holds",
        "Searches for the highest load, such as a rate, that arrives in full with loss and "
        "latency within bounds. Without loss, RFC 2544 calls such a rate throughput. Each trial is "
        "a run. FD.io's MLRsearch chooses the loads.",
        ("of", "from", "to"),
        **{
            "of": {
                "description": "Name of the load: `${name}` is its value in options and derived "
                "values, such as rate (bit/s) or packets (packets/s).",
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]*$(?!\\n)",
            },
            "from": _load("Lowest load; K M G are 1000^n."),
            "to": _load("Highest load, with which the search begins."),
            "loss": {
                "description": "Highest loss of a trial, percent.",
                "type": "number",
                "minimum": 0,
                "exclusiveMaximum": 100,
                "default": 0,
            },
            **{
                name: _time(f"Highest {what} of a trial: a number of µs, or 5ms.")
                for name, what in LATENCIES.items()
            },
            "width": {
                "description": "The search ends when the highest load that holds and the lowest "
                "that does not differ by no more than this, in percent.",
                "type": "number",
                "minimum": 0.05,
                "maximum": 50,
                "default": 1,
            },
            "trials": _integer(
                "Number of trials of each load, whose majority decides. With 1, a single lost "
                "packet decides.",
                *(1, 99, 3),
            ),
        },
    ),
    "trace": _block(
        "A packet trace",
        "tcpdump on the data interface during each run, limited in packets and time.",
        ("roles", "packets"),
        roles=_roles("Roles that record packets."),
        packets=_integer("Maximum number of packets to keep.", 1, 100_000),
        snap_bytes=_integer("Bytes to keep of each packet.", 64, 65535, 96),
    ),
    PROFILE: _block(
        "CPU profiles",
        "perf on these roles, in extra runs of each configuration. These runs are in the same "
        "blocks and are marked `profiled`; no figure of throughput or CPU counts them.",
        roles=_roles("Roles to profile; default: both ends."),
        frequency=_integer(
            "Samples per second of each CPU; kernel.perf_event_max_sample_rate limits it.",
            *(1, 100_000, 999),
        ),
        runs=_integer(
            "Number of profiled runs of each configuration, in addition to its other runs.",
            1,
            1000,
            PROFILED_RUNS,
        ),
    ),
}
"""Key -> schema of its value."""
