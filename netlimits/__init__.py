"""What limits the data rate between these machines, and what does each Mbit/s cost?

    import netlimits as nl
    campaign = nl.open("results/stateless-offloads-20260101-120000")
    frame = campaign.frame()
    nl.summary(frame, of=["throughput"], rows="send_size", columns="transport")
    nl.charts.percentiles(frame, of="throughput", series=["transport", "send_size"])

Names are imported when first used, so that `import netlimits` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_API = {
    "open": "netlimits.campaign",
    "summary": "netlimits.analysis.summary",
    "charts": "netlimits.charts",
    "analysis": "netlimits.analysis",
}
"""Public name -> the module that holds it (or is it)."""

__all__ = ["__version__", *_API]


def __getattr__(name: str) -> Any:
    if name not in _API:
        raise AttributeError(f"module 'netlimits' has no attribute {name!r}")
    module = importlib.import_module(_API[name])
    value = (
        module
        if _API[name] == f"{__name__}.{name}" and name != "summary"
        else getattr(module, name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
