"""Pace a sender at a constant bit rate: by netperf's -q, fq's maxrate or tbf.

All of them count whole frames. If a qdisc dropped packets, the sender would count data that never
left. So the qdisc's queue holds more than a socket's send buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from netlimits.model import Pace, SettingUse
from netlimits.tools import Features, tool

FQ, TBF = WAYS = ("fq maxrate", "tbf")
"""Pacing by a qdisc, best first: each flow (fq), or all traffic (tbf). A tool that can pace its own
socket (`own`) needs neither."""

QUEUE_PACKETS = 20_000
QUEUE_BYTES = 32 << 20
BURST_S = 2e-3
"""Burst of tbf in seconds at its rate: much shorter than a run, but longer than a timer tick."""

LEAST_BURST = 16 << 10
"""Minimum burst in bytes. tbf drops a frame that is longer; jumbo frames have 9 KB. It is also
the `initial_quantum` of fq, which a new flow sends unpaced (fq's default is ten times the MTU).
"""


def own(name: str) -> str:
    """Return a tool's own way of pacing, such as `netperf -q`; "" if it has none."""
    by_socket = tool(name).socket_pace
    return f"{name} {by_socket.flag}" if by_socket else ""


def ways(name: str, features: Features) -> tuple[str, ...]:
    """Return the ways to pace a tool, best first; the kernel decides which of them it supports."""
    by_socket = tool(name).socket_pace
    return (own(name), *WAYS) if by_socket and by_socket.feature in features.names else WAYS


def paced(
    name: str, way: str, pace: Pace, roles: tuple[str, ...], options: Mapping[str, Any]
) -> tuple[SettingUse, dict[str, Any]]:
    """Return the qdisc that a way of pacing needs on the sender, and the tool's options for it."""
    by_socket = tool(name).socket_pace
    rate = math.ceil(pace.frame_rate)
    in_bytes = math.ceil(pace.frame_rate / 8)
    queue = {"limit": QUEUE_PACKETS, "flow_limit": QUEUE_PACKETS}
    qdisc: dict[str, Any] = {"kind": "fq", **queue, "initial_quantum": LEAST_BURST}
    added: dict[str, Any] = {}
    if by_socket and way == own(name) and in_bytes <= by_socket.most:
        added = {by_socket.option: in_bytes}
    elif way != TBF:
        qdisc["maxrate"] = rate
    else:
        burst = max(LEAST_BURST, math.ceil(pace.frame_rate / 8 * BURST_S))
        qdisc = {"kind": "tbf", "rate": rate, "burst": burst, "limit": QUEUE_BYTES}
    return SettingUse("qdisc", roles, qdisc, line=0, entry=-1), {**options, **added}
