"""Errors for tools' own figures that cannot exist: of a tool not used, or of several clients.

A client's own CPU figure covers its whole host, so those of several clients cannot be added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from netlimits.errors import InputError
from netlimits.metrics import Metric, names
from netlimits.tools import OWN


def refuse(metric: Metric, name: str, data: Mapping[str, Any]) -> None:
    """Raise InputError for a figure that no run of the experiment can have."""
    prefix = next((own for own in OWN if metric.name.startswith(own)), "")
    if not prefix:
        return
    tool, bare = prefix.rstrip("_"), metric.name.removeprefix(prefix)
    measure = data.get("measure")
    if isinstance(measure, Mapping) and measure and tool not in measure:
        why = f"{tool} does not measure here"
    elif (several := _clients(data)) > 1:
        why = f"{tool}'s own figures of {several} clients cannot be added up"
    else:
        return
    instead = f"; take {bare}, which netlimits measures" if bare in names() else "; leave it out"
    raise InputError(f"{name}: {why}{instead}")


def _clients(data: Mapping[str, Any]) -> int:
    """Return how many clients measure at the same time in every configuration, at least."""
    streams, roles = data.get("streams", 1), data.get("roles")
    last = roles[-1] if isinstance(roles, list) and roles else {}
    servers = next(iter(last.values()), 1) if isinstance(last, dict) else 1
    numbers = [n for n in (streams, servers) if isinstance(n, int)]
    return math.prod(numbers)
