"""Which way data goes in a test, and in what: off a tool's options, which share their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.tools import tool


def transport(options: Mapping[str, Any]) -> str:
    """`udp`, or `tcp` for every other protocol."""
    name = str(options.get("test", "")).partition("_")[0] + str(options.get("protocol", ""))
    return "udp" if "udp" in name.lower() else "tcp"


def receiver(options: Mapping[str, Any]) -> str | None:
    """The end that data streams to: `local`, `remote`; None for both, and for transactions."""
    test = str(options.get("test", ""))
    if options.get("bidirectional") or options.get("direction") == "rr" or test.endswith("RR"):
        return None
    back = options.get("reverse") or options.get("direction") == "recv" or test == "TCP_MAERTS"
    return "local" if back else "remote"


def datagram(name: str, options: Mapping[str, Any]) -> float:
    """Bytes of each datagram; 0 where they are not all of one size that was asked for."""
    size = str(options.get("send_size", ""))
    if not size or "," in size:
        return 0.0
    return float(tool(name).bytes_of(size))
