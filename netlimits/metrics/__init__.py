"""The metrics: where a title, a unit, a column and "which way is better" are written, once.

A metric has a short name (what an experiment's `report:` and the command line say) and a column
(what frames and CSV files call it, with its unit). Throughput is in 10⁶ bit/s of user data that
arrived. Service demand is µs of CPU per KiB (1024 bytes) or per transaction, of the whole
machine, all over one window (evidence.cpu); `ticks` in a name is netperf's formula. "Local" is the
client's end, "remote" the server's; titles are those of data that the client sends, and
`Metric.towards` has them for the other directions. A tool's own CPU figures keep the tool's name in
front: `netperf_local_sd_…`.

One vocabulary: what `select:` calls a figure (metrics.selectors) is accepted wherever a metric is
named, and a name that is none is answered with those that mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from netlimits.errors import InputError
from netlimits.metrics import selectors
from netlimits.metrics.catalogue import METRICS, Better, Direction, Metric, names
from netlimits.metrics.hints import alternatives

__all__ = [
    "IDENTITY",
    "METRICS",
    "SUFFIX_UNITS",
    "TOOL_PREFIXES",
    "Better",
    "Direction",
    "Metric",
    "metric",
    "names",
]

IDENTITY: Mapping[str, str] = {
    "run": "Its number in the plan, from 1.",
    "block": "The block that it belongs to, from 1; contrasts are paired by it.",
    "config": "The configuration: a hash of its factors and derived values.",
    "attempt": "From 1; of several attempts at a run the last one counts.",
    "status": "ok, failed, timeout, invalid or interrupted; only ok counts.",
    "reason": "Why it is not ok.",
    "started": "ISO 8601, UTC.",
    "duration_s": "Seconds from its start to its end, settings and evidence included.",
    "shared_kernel": "Whether two roles were one machine, whose CPUs then count for both.",
}
"""The columns of a frame of runs that say how a run went, not what was varied or measured.

`started` is an ISO 8601 UTC time; `shared_kernel` says that two roles were one machine.

Imported files tell neither where they do not; what is not known is missing.
"""

TOOL_PREFIXES = ("netperf_", "iperf3_", "nuttcp_", "nttcp_")
"""A column so prefixed is that tool's own idea of the metric that follows the prefix."""


SUFFIX_UNITS = {
    "gbps": "Gbit/s",
    "mbps": "Mbit/s",
    "bps": "bit/s",
    "pps": "packets/s",
    "mhz": "MHz",
    "s": "s",
    "ms": "ms",
    "us": "µs",
    "ns": "ns",
    "pct": "%",
    "bytes": "bytes",
}
"""The last word of a column's name, where it is a unit, as people write it."""


def metric(name: str) -> Metric:
    """The metric of a short name, a column or a selector, a tool's own included.

    Raises InputError naming the metrics that mean the same, or the nearest in letters.
    """
    prefix = next((p for p in TOOL_PREFIXES if name.lower().startswith(p)), "")
    bare = name[len(prefix) :]
    for known in METRICS:
        if bare in (known.name, known.column):
            return _by_tool(prefix, known)
    selector = bare.upper()
    if selector in selectors.SELECTORS and bare in (selector, selector.lower()):
        if selectors.is_text(selector):
            raise InputError(f"{name!r} is a word, not a figure: no table or chart can be of it")
        if bare == selector and bare.lower() in names():
            return metric(prefix + bare.lower())
        column = selectors.column(selector)
        return _of_column(column) or _selected(selector, column)
    near = " or ".join(alternatives(bare))
    hint = f"did you mean {near}?" if near else f"known: {', '.join(names())}"
    raise InputError(f"no metric is called {name!r}; {hint}")


def _of_column(column: str) -> Metric | None:
    """The metric that has this column, by a tool or by us."""
    prefix = next((p for p in TOOL_PREFIXES if column.startswith(p)), "")
    bare = column.removeprefix(prefix)
    return next((_by_tool(prefix, known) for known in METRICS if bare == known.column), None)


def _by_tool(prefix: str, known: Metric) -> Metric:
    """A metric of ours, or a tool's own idea of it."""
    if not prefix:
        return known
    return replace(
        known,
        name=prefix + known.name,
        column=prefix + known.column,
        title=f"{known.title} by {prefix.rstrip('_')}",
    )


def _selected(selector: str, column: str) -> Metric:
    """A figure of netperf's that METRICS does not have: its name is its title."""
    unit = SUFFIX_UNITS.get(column.rpartition("_")[2], "")
    words = selector.replace("_", " ").lower()
    return Metric(selector.lower(), column, f"netperf's {words}", unit)
