"""The registry of measuring tools, in the order in which help and errors list them."""

from __future__ import annotations

from typing import cast

from netlimits.tools._base import Features, Tool, Transfer
from netlimits.tools._programs import PROGRAMS, Installed, at_path
from netlimits.tools._workloads import MEASURING, WORKLOADS
from netlimits.tools.iperf3 import Iperf3
from netlimits.tools.irtt import Irtt
from netlimits.tools.neper import Neper
from netlimits.tools.netperf import Netperf
from netlimits.tools.nttcp import Nttcp
from netlimits.tools.nuttcp import Nuttcp

__all__ = [
    "MEASURING",
    "OWN",
    "PROGRAMS",
    "TOOLS",
    "WORKLOADS",
    "Features",
    "Tool",
    "Transfer",
    "at_path",
    "tool",
]

TOOLS: tuple[Tool, ...] = (
    Netperf(),
    Iperf3(),
    Nuttcp(),
    Neper(),
    Nttcp(),
    Irtt(),
)

OWN = tuple(f"{each.name}_" for each in TOOLS)
"""Prefixes of columns that hold a tool's own figures."""


def tool(name: str) -> Tool:
    return cast(Tool, Installed({each.name: each for each in TOOLS}[name]))
