"""The kinds of traffic that `netlimits diagnose` measures, and the tools' options for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TrafficKind:
    """A kind of traffic; `values` maps a tool's name to the values of its `Measuring.factors`."""

    name: str
    title: str
    values: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a tool measures all kinds of traffic.

    `factors` names the factors that differ between the kinds of traffic. `options` goes under
    `measure:`, and `around` has other keys of the experiment.
    """

    factors: tuple[str, ...]
    options: Mapping[str, Any]
    around: Mapping[str, Any]


WORKLOADS: tuple[TrafficKind, ...] = (
    TrafficKind("tcp", "TCP, 1 stream",
                {"netperf": ("TCP_STREAM", 1, None), "iperf3": ("tcp", 1, None, None)}),
    TrafficKind("tcp-4", "TCP, 4 streams",
                {"netperf": ("TCP_STREAM", 4, None), "iperf3": ("tcp", 4, None, None)}),
    TrafficKind("udp", "UDP, 1472 B",
                {"netperf": ("UDP_STREAM", 1, 1472), "iperf3": ("udp", 1, 1472, 0)}),
    TrafficKind("rr", "TCP_RR, 1 B", {"netperf": ("TCP_RR", 1, None)}),
)  # fmt: skip
"""All kinds of traffic, in the order in which `diagnose` prints them."""

MEASURING: Mapping[str, Measuring] = {
    "netperf": Measuring(
        ("test", "streams", "send_size"),
        {"test": "${test}", "send_size": "${send_size}", "interim_seconds": 0.25},
        {"streams": "${streams}"},
    ),
    "iperf3": Measuring(
        ("protocol", "parallel", "send_size", "rate"),
        {name: f"${{{name}}}" for name in ("protocol", "parallel", "send_size", "rate")},
        {},
    ),
}
"""Tool -> how it measures; the tool that supports most kinds of traffic comes first."""
