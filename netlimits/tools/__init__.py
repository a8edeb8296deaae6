"""The tools that measure. The order is the one in which help and errors name them."""

from __future__ import annotations

from netlimits.tools.base import Tool
from netlimits.tools.netperf import Netperf

TOOLS: tuple[Tool, ...] = (Netperf(),)


def tool(name: str) -> Tool:
    """The tool of that name; KeyError when there is none (an experiment is checked before)."""
    return {t.name: t for t in TOOLS}[name]
