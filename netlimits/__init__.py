"""Find out what limits the data rate between machines, and what each Mbit/s costs.

    import netlimits as nl
    campaign = nl.open("results/stateless-offloads-20260101-120000")
    frame = campaign.frame()                        # one row per run
    nl.summary(frame, of=["throughput"], rows="send_size", columns="transport")
    nl.charts.percentiles(frame, of="throughput", series=["transport", "send_size"])
    nl.joined({"before": frame, "after": other})    # one frame of several campaigns

Each name is imported on first use, so `import netlimits` loads neither pandas nor matplotlib.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_API = {
    "open": ("netlimits.archive.reader", "open"),
    "read_csv": ("netlimits.analysis.sources.foreign", "read_csv"),
    "Metric": ("netlimits.metrics.catalogue", "Metric"),
    "relation": ("netlimits.archive.copies", "relation"),
    "summary": ("netlimits.analysis.summary", "summary"),
    "joined": ("netlimits.analysis.sources.joining", "joined"),
    "compare": ("netlimits.archive.reader", "compare"),
    "explain": ("netlimits.limits.explained", "explain"),
    "profile": ("netlimits.analysis.profile", "profile"),
    "analysis": ("netlimits.analysis", None),
    "limited_by": ("netlimits.limits.explained", "limited_by"),
    "sensitivities": ("netlimits.limits.ladder.sensitivity", "sensitivities"),
    "charts": ("netlimits.charts", None),
    "tables": ("netlimits.tables", None),
    "published": ("netlimits.reproduce.published", None),
    "reproduce": ("netlimits.reproduce", None),
}
"""Public name -> (module, attribute in this module); None stands for the module itself."""

__all__ = ["__version__", *_API]


def __getattr__(name: str) -> Any:
    if name not in _API:
        raise AttributeError(f"module 'netlimits' has no attribute {name!r}")
    path, attribute = _API[name]
    module = importlib.import_module(path)
    globals()[name] = module if attribute is None else getattr(module, attribute)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)
