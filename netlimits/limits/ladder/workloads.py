"""The workloads of `netlimits diagnose`, and the experiment that measures them without a dose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import yaml

from netlimits.tools import MEASURING, WORKLOADS

SECONDS = 1
"""Minimum duration of a run in seconds: many short runs show a change better than few long runs."""
ROUND_TRIPS, LONGEST = 100, 5
"""Minimum number of round trips in a run, and its maximum duration in seconds. With so many round
trips, slow start is only a small part of the run."""

WORKLOAD = "workload"
"""Name of a diagnosis's factor for the workload. The workload determines the other factors."""


def seconds(round_trip_us: float | None) -> int:
    """Return the duration in seconds for runs over a path with this round trip."""
    trips = ROUND_TRIPS * (round_trip_us or 0.0) / 1e6
    return max(SECONDS, min(LONGEST, math.ceil(trips)))


def supported(tool: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the workloads among `names` that a tool can run."""
    return tuple(name for name in WORKLOADS if name in names and name in MEASURING[tool].values)


def observation(
    names: Sequence[str],
    title: str,
    question: str,
    *,
    tool: str,
    replicates: int = 2,
    settings: Sequence[Any] = (),
    profiled: bool = False,
) -> str:
    """Return the text of an experiment that measures workloads, without testing any resource.

    `settings` are changes that are kept from an earlier step.
    """
    how = MEASURING[tool]
    rows = [(name, *how.values[name]) for name in WORKLOADS if name in names]
    lists = zip((WORKLOAD, *how.factors), zip(*rows, strict=True), strict=True)
    document = {
        "experiment": title,
        "question": question,
        "zip": {name: list(values) for name, values in lists},
        **({"settings": list(settings)} if settings else {}),
        "measure": {tool: {"seconds": SECONDS, **how.options}},
        **how.around,
        **({"profile": {"runs": 1}} if profiled else {}),
        "repeat": {"replicates": replicates, "order": "blocked"},
        "report": [{"table": "summary", "of": ["throughput"], "rows": WORKLOAD}],
    }
    return str(
        yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None)
    )
