"""Analyses: most take a frame with a row for each run attempt, and return a frame.

    import netlimits as nl
    nl.analysis.goodput.bound(mtu=1500, timestamps=True, link="100G")

The modules are imported when first used. No function draws a chart or keeps state. Only `sources`
and `packets` read files.
"""

from __future__ import annotations

import importlib
from types import ModuleType

MODULES = (
    "frames",
    "summary",
    "percentiles",
    "cost",
    "packet_rate",
    "pacing",
    "goodput",
    "acks",
    "bursts",
    "spread",
    "aggregate",
    "comparison",
    "history",
    "mesh",
    "profile",
)

__all__ = ["MODULES", *MODULES]


def __getattr__(name: str) -> ModuleType:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
