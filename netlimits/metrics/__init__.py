"""The metrics: where a title, a unit, a column and "which way is better" are written, once.

A metric has a short name (what an experiment's `report:` and the command line say) and a column
(what frames and CSV files call it, with its unit). Throughput is in 10⁶ bit/s of user data that
arrived. Service demand is µs of CPU per KiB (1024 bytes) or per transaction, of the whole
machine, all over one window (evidence.cpu); `ticks` in a name is netperf's formula. "Local" is the
client's end, "remote" the server's; titles are those of data that the client sends, and
`Metric.towards` has them for the other directions. What a tool says of an end in its own way (CPU,
service demand) keeps the tool's name in front of that metric, `netperf_local_sd_…`: one word before
a metric of an end is a tool, whichever.

One vocabulary: what `select:` calls a figure (metrics.selectors) is accepted wherever a metric is
named, and a name that is none is answered with those that mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from netlimits.errors import InputError
from netlimits.metrics import selectors
from netlimits.metrics.catalogue import METRICS, Better, Direction, Metric, names
from netlimits.metrics.hints import alternatives

__all__ = [
    "COVERED_NOTED",
    "HEADLINES",
    "IDENTITY",
    "METRICS",
    "OTHER_CPU_NOTED",
    "SUFFIX_UNITS",
    "Better",
    "Direction",
    "Metric",
    "metric",
    "names",
    "tools_own",
]

OTHER_CPU_NOTED = 10.0
"""Percent of one CPU that other programs may take on a host before a reader is told.

In a lab the controller itself, which is none of a host's own, takes 0.2 % beside a run.
"""

COVERED_NOTED = 90.0
"""Percent of a run's time that its throughput is of, below which a reader is told."""

HEADLINES = ("throughput", "transaction_rate")
"""The metrics that a run is judged by first."""

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
    "limited_by": "What limited its configuration (`netlimits.limited_by`), where that was joined.",
}
"""The columns of a frame of runs that say how a run went, not what was varied or measured.

`started` is an ISO 8601 UTC time; `shared_kernel` says that two roles were one machine.

Imported files tell neither where they do not; what is not known is missing.
"""

_TOOL = re.compile(r"([a-z][a-z0-9]*_)(?=(?:local|remote)_)", re.IGNORECASE)
"""The tool's name before a metric of an end: its own idea of it."""

_COLUMNS = {quantity.column: quantity for quantity in METRICS}
_SELECTED = {selectors.column(s): s for s in selectors.SELECTORS if not selectors.is_text(s)}
"""Column -> the selector of netperf whose value stands in it."""

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
    prefix = _prefix(name)
    bare = name[len(prefix) :]
    prefix = prefix.lower()
    for quantity in METRICS:
        if bare in (quantity.name, quantity.column):
            return _by_tool(prefix, quantity)
    if name in _SELECTED and not _of_column(name):
        return _selected(_SELECTED[name], name)
    word = re.sub("^netperf_", "", bare, flags=re.IGNORECASE)  # whose vocabulary selectors are
    selector = word.upper()
    ours = word != bare and word.lower() in names()
    if selector in selectors.SELECTORS and word in (selector, selector.lower()) and not ours:
        if selectors.is_text(selector):
            raise InputError(f"{name!r} is a word, not a figure: no table or chart can be of it")
        if bare == selector and bare.lower() in names():
            return metric(prefix + bare.lower())
        column = selectors.column(selector)
        return _of_column(column) or _selected(selector, column)
    near = " or ".join(alternatives(bare))
    hint = f"did you mean {near}?" if near else f"known: {', '.join(names())}"
    raise InputError(f"no metric is called {name!r}; {hint}")


def tools_own(columns: Iterable[str]) -> dict[str, Metric]:
    """Each of these columns that holds a tool's own figure for a metric -> that metric of ours.

    Tool by tool in the columns' order, and of each in the order of METRICS.
    """
    by_tool: dict[str, list[str]] = {}
    for name in map(str, columns):
        if (prefix := _prefix(name)) and name.removeprefix(prefix) in _COLUMNS:
            by_tool.setdefault(prefix, []).append(name.removeprefix(prefix))
    order = list(_COLUMNS)
    return {
        prefix + bare: _COLUMNS[bare]
        for prefix, bares in by_tool.items()
        for bare in sorted(bares, key=order.index)
    }


def _prefix(name: str) -> str:
    """The tool's name in front of a metric's, with its underscore; "" for a metric of ours."""
    match = None if name in _COLUMNS else _TOOL.match(name)
    return match[1] if match else ""


def _of_column(column: str) -> Metric | None:
    """The metric that has this column, by a tool or by us."""
    prefix = _prefix(column)
    quantity = _COLUMNS.get(column.removeprefix(prefix))
    return quantity and _by_tool(prefix, quantity)


def _by_tool(prefix: str, quantity: Metric) -> Metric:
    """A metric of ours, or a tool's own figure for it."""
    if not prefix:
        return quantity
    return replace(
        quantity,
        name=prefix + quantity.name,
        column=prefix + quantity.column,
        title=f"{quantity.title} by {prefix.rstrip('_')}",
    )


def _selected(selector: str, column: str) -> Metric:
    """A figure of netperf's that METRICS does not have: its name is its title."""
    unit = SUFFIX_UNITS.get(column.rpartition("_")[2], "")
    words = selector.replace("_", " ").lower()
    return Metric(selector.lower(), column, f"netperf's {words}", unit)
