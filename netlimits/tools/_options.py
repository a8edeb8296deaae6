"""Options that tools without a vocabulary of their own share, as JSON Schema.

A tool's schema is made of these and of what it alone has; flags and bounds differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from netlimits.tools import _affinity
from netlimits.tools._base import Transfer
from netlimits.units.sizes import SIZE, binary_bytes

Option = Mapping[str, Any]

ONE_OFF = "One test between the first role (client) and the last (one-off server)."

PROTOCOL: Option = {"enum": ["tcp", "udp"], "default": "tcp", "description": "UDP is -u."}

SEND_SIZE: Option = {
    **SIZE,
    "description": "Bytes per send (-l), K M G are 1024^n; for UDP the datagram, which "
    "is fragmented where it does not fit the MTU (MTU - 28).",
}

WINDOW: Option = {
    **SIZE,
    "description": "Socket buffers of both ends in bytes (-w); K M G are 1024^n.",
}

SECONDS = 10
"""How long a run takes where nothing is said, whatever the tool."""

LARGEST_DATAGRAM = 65507
"""Bytes of user data that a UDP datagram holds over IPv4."""


def schema(name: str, description: str, *required: str, **properties: Option) -> dict[str, Any]:
    """The schema of `measure: NAME:` with these options, and the CPUs to run on."""
    return {
        "type": "object",
        "title": name,
        "description": description,
        "additionalProperties": False,
        **({"required": [*required]} if required else {}),
        "properties": {**properties, **_affinity.PROPERTIES},
    }


def run_seconds(options: Mapping[str, Any]) -> float:
    """The length of a run as every tool's `seconds` gives it."""
    return float(options.get("seconds", SECONDS))


def length(description: str) -> Option:
    """Seconds of a run, fractions too."""
    return {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 86400,
        "default": SECONDS,
        "description": description,
    }


def mss(most: int) -> Option:
    """A TCP maximum segment size."""
    return {
        "type": "integer",
        "minimum": 88,
        "maximum": most,
        "description": "TCP maximum segment size to set (-M), timestamps included.",
    }


def parallel(description: str) -> Option:
    """Streams of one client."""
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": 128,
        "default": 1,
        "description": description,
    }


def switch(description: str) -> Option:
    """Something that is off unless it is asked for."""
    return {"type": "boolean", "default": False, "description": description}


def interim(most: int, description: str) -> Option:
    """Seconds between interim results."""
    return {"type": "number", "minimum": 0.1, "maximum": most, "description": description}


def transfer(options: Mapping[str, Any]) -> Transfer:
    """What a test sends by the options that these tools share."""
    receiver: Literal["local", "remote"] = "local" if options.get("reverse") else "remote"
    both = bool(options.get("bidirectional"))
    if options.get("protocol") != "udp":
        return Transfer(receiver=None if both else receiver)
    size = options.get("send_size")
    return Transfer("udp", None if both else receiver, binary_bytes(size) if size else 0)
