"""The options under `measure: netperf:` and their flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.tools import _commands, _options

_SIZE: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 0,
    "pattern": r"^[0-9]+[KMGkmg]?$(?!\n)",
    "description": "Bytes; netperf's suffixes K M G are 1024^n, k m g 1000^n.",
}
_PAIR: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 0,
    "pattern": r"^[0-9]+[KMGkmg]?(,[0-9]+[KMGkmg]?)?$(?!\n)",
    "description": "Bytes; one size, or two separated by a comma. K M G are 1024^n, k m g are "
    "1000^n.",
}
_TESTS = (
    "omni",
    "TCP_STREAM",
    "TCP_MAERTS",
    "TCP_RR",
    "TCP_CRR",
    "UDP_STREAM",
    "UDP_RR",
)

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "title": "netperf",
    "description": "One test between the first role (netperf) and the last (netserver).",
    "additionalProperties": False,
    "properties": {
        "test": {"enum": list(_TESTS), "default": "omni", "description": "The test (netperf -t)."},
        "seconds": _options.whole_seconds("Length of a run in whole seconds (netperf -l)."),
        "protocol": {
            "enum": ["tcp", "udp", "sctp", "dccp", "udplite"],
            "default": "tcp",
            "description": "Transport protocol (test-specific -T).",
        },
        "direction": {
            "enum": ["send", "recv", "rr"],
            "default": "send",
            "description": "Direction of the data, seen from netperf (test-specific -d).",
        },
        "send_size": {**_PAIR, "title": "Bytes per send (-m)"},
        "recv_size": {**_PAIR, "title": "Bytes per receive (-M)"},
        "request_size": {**_SIZE, "title": "Bytes per request (-r)"},
        "response_size": {**_SIZE, "title": "Bytes per response (-r)"},
        "local_buffer": {**_PAIR, "title": "netperf's socket buffers (-s)"},
        "remote_buffer": {**_PAIR, "title": "netserver's socket buffers (-S)"},
        "mss": _options.integer(
            1, 65535, "TCP maximum segment size to set (-G), timestamps included."
        ),
        "data_port": _options.integer(
            1024,
            65535,
            "The server's data port, for a firewall (test-specific -P); default: another port in "
            "each run.",
        ),
        "nodelay": _options.switch("Set TCP_NODELAY (-D)."),
        "dscp": _options.dscp("DSCP of both ends' packets (-Y); read back from the sockets."),
        "route": {
            "type": "boolean",
            "default": True,
            "description": "Allow UDP to leave the local link (-R 1).",
        },
        "congestion_control": _options.congestion_control(
            "Congestion control of both ends (-K); read back."
        ),
        "cpu_bind": {
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": "^[0-9]*(,[0-9]*)?$(?!\\n)",
            "description": "CPUs for netperf and netserver, `0` or `0,1` (global -T).",
        },
        **_commands.NUMA,
        "burst": {
            "type": "integer",
            "minimum": 0,
            "description": "Additional transactions in flight (-b); needs a build with this "
            "feature.",
        },
        "pacing": _options.integer(
            1, 2147483647, "SO_MAX_PACING_RATE in bytes/s (-q); needs a build after 2.7.0."
        ),
        "result_brand": {
            "type": "string",
            "pattern": r"^[A-Za-z0-9_][A-Za-z0-9_.,:+-]{0,62}$(?!\n)",
            "description": "A label for the runs, stored in the column result_brand (-B).",
        },
        "cpu": {
            "type": "boolean",
            "default": True,
            "description": "Measure CPU and service demand on both ends (-c -C).",
        },
        "interim_seconds": {
            "type": "number",
            "not": {"const": 0},
            "description": "Keep interim results at this interval (-D). A negative number keeps "
            "the interval more exactly, for more CPU time.",
        },
        "confidence": {
            "type": "string",
            "pattern": "^(95|99),[0-9]+(\\.[0-9]+)?$(?!\\n)",
            "description": "Confidence level and width of the interval in percent, such as 99,5 "
            "(-I). A run that misses it is invalid.",
        },
        "iterations": {
            "type": "string",
            "pattern": "^[0-9]{1,2},[0-9]{1,2}$(?!\\n)",
            "description": "Maximum and minimum number of iterations for `confidence` (-i), such "
            "as 10,3.",
        },
        "select": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$(?!\\n)"},
            "minItems": 1,
            "uniqueItems": True,
            "description": "Output selectors, as `netperf -t omni -- -k '?'` lists them.",
        },
    },
}

EVERY_FEATURE = (
    *("-b", "1", "-w", "1", "-D", "1", "-t", "omni"),
    *("--", "-b", "1", "-q", "1", "-f"),
)
"""Arguments that use every optional feature; netperf prints an error for each missing feature."""

GLOBAL = {
    "interim_seconds": "-D",
    "cpu_bind": "-T",
    "confidence": "-I",
    "iterations": "-i",
    "result_brand": "-B",
}
SPECIFIC = {
    "send_size": "-m",
    "recv_size": "-M",
    "local_buffer": "-s",
    "remote_buffer": "-S",
    "mss": "-G",
    "congestion_control": "-K",
    "burst": "-b",
    "pacing": "-q",
}


def sends(options: Mapping[str, Any]) -> bool:
    return options.get("direction", "send") == "send" and options.get("test") != "TCP_MAERTS"


def is_rr(options: Mapping[str, Any]) -> bool:
    """Return True if the test measures transactions, that is, requests and responses."""
    test = options.get("test", "omni")
    return str(test).endswith("RR") or (test == "omni" and options.get("direction") == "rr")
