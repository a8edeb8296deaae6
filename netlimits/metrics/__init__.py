"""The metrics: the only definition of their columns, titles, units and better directions.

Experiments and commands use the short name of a metric. Frames and CSV files use its column, whose
name usually ends in the unit. "Local" is the client's end, and "remote" is the server's end.

Service demand is the CPU time of the whole machine in µs per KiB (1024 bytes) or per transaction.
CPU time and data are from the same period (evidence.cpu).

A value that a tool itself reports has the tool's name as a prefix: `netperf_local_sd_…`. The names
of netperf's output selectors are also accepted as names of metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from netlimits.errors import InputError
from netlimits.metrics import own, selectors
from netlimits.metrics.catalogue import (
    METRICS,
    SUFFIX_UNITS,
    Better,
    Direction,
    Metric,
    names,
)
from netlimits.metrics.hints import alternatives
from netlimits.metrics.own import known

__all__ = [
    "COVERED_NOTED",
    "HEADLINES",
    "IDENTITY",
    "METRICS",
    "OTHER_CPU_NOTED",
    "PROFILED",
    "PROFILE_COLUMN",
    "SUFFIX_UNITS",
    "Better",
    "Direction",
    "Metric",
    "known",
    "metric",
    "names",
    "tools_own",
]

OTHER_CPU_NOTED = 10.0
"""Load of other programs on a host, in percent of one CPU, above which a table has a note."""

COVERED_NOTED = 90.0
"""Share of a run that its throughput covers, in percent, below which a table has a note."""

HEADLINES = ("throughput", "transaction_rate")
"""The metrics that are the main result of a run."""

IDENTITY: Mapping[str, str] = {
    "run": "The run's number in the plan, from 1.",
    "block": "The run's block, from 1; contrasts are paired by block.",
    "config": "The configuration: a hash of its factors and derived values.",
    "attempt": "The attempt's number, from 1; the last attempt at a run counts.",
    "status": "ok, failed, timeout, invalid or interrupted; only ok counts.",
    "reason": "The reason of a status other than ok.",
    "started": "The start time: ISO 8601, UTC.",
    "duration_s": "Seconds from the run's start to its end, including settings and evidence.",
    "profiled": "True for a run that records a profile; no other figure counts it.",
    "shared_kernel": "True if two roles were one machine, whose CPUs then count for both.",
    "limited_by": "The limit of the configuration (`netlimits.limited_by`), if joined.",
    "file": "The file that the run was imported from; only imported runs have it.",
}
"""Column that identifies or describes a run -> its meaning."""

PROFILED = "profiled"
"""Column that marks runs which record a profile; only campaigns with `profile:` have it."""

PROFILE_COLUMN = re.compile(r"(local|remote)_profile_([a-z_]+)")
"""Pattern of the columns with a profile's shares, such as `local_profile_copy_pct`."""

_TOOL = re.compile(r"([a-z][a-z0-9]*_)(?=(?:local|remote)_)", re.IGNORECASE)
"""Pattern of a tool's name as a prefix of a metric: `netperf_` in `netperf_local_sd`."""

_OF_REASON = re.compile(r"(local|remote)_dropped_([a-z0-9_]{2,60})(?<!_where)")
"""Pattern of metrics that count packets dropped for one of the kernel's reasons (evidence.drops).

`local_dropped_where` is a text, not such a metric.
"""

_COLUMNS = {quantity.column: quantity for quantity in METRICS}
_SELECTED = {selectors.column(s): s for s in selectors.SELECTORS if not selectors.is_text(s)}
"""Column -> netperf's selector, for selectors with numbers."""


def metric(name: str) -> Metric:
    """Return the metric with a short name, a column or a netperf selector.

    Args:
        name: Name such as "throughput", "throughput_mbps", "netperf_local_sd" or "RT_LATENCY".

    Returns:
        The metric. For a value that a tool itself reports, the metric's name, column and title
        contain the tool's name.

    Raises:
        InputError: No metric has this name, or the value of the selector is a text. The message
            for an unknown name suggests metrics of similar meaning.

    Example:
        >>> metric("throughput").label
        'Throughput (Mbit/s)'
    """
    if declared := own.declared(name):
        return declared
    prefix = _prefix(name)
    bare = name[len(prefix) :]
    prefix = prefix.lower()
    for quantity in METRICS:
        if bare in (quantity.name, quantity.column):
            return _by_tool(prefix, quantity)
    if name in _SELECTED and not _of_column(name):
        return _selected(_SELECTED[name], name)
    word = re.sub("^netperf_", "", bare, flags=re.IGNORECASE)  # a selector is netperf's anyway
    selector = word.upper()
    ours = word != bare and word.lower() in names()
    if selector in selectors.SELECTORS and word in (selector, selector.lower()) and not ours:
        if selectors.is_text(selector):
            raise InputError(f"{name!r} is a text, not a figure: name a metric with a number")
        if bare == selector and bare.lower() in names():
            return metric(prefix + bare.lower())
        column = selectors.column(selector)
        return _of_column(column) or _selected(selector, column)
    if reason := _OF_REASON.fullmatch(name):
        party = {"local": "sender", "remote": "receiver"}[reason[1]]
        title = f"Packets dropped as {reason[2].upper()}, {party}"
        return Metric(name, name, title, "packets", "lower")
    near = " or ".join(alternatives(bare))
    hint = f"did you mean {near}?" if near else "`netlimits describe metrics` lists them"
    raise InputError(f"no metric is called {name!r}; {hint}")


def tools_own(columns: Iterable[str]) -> dict[str, Metric]:
    """Find the columns with values that a tool itself reports.

    Args:
        columns: The columns of a frame.

    Returns:
        Column -> metric of METRICS with the same name but for the tool's prefix. Columns are
        grouped by tool.
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
    """Return the prefix of a metric with a tool's name, such as `netperf_`; "" if it has none."""
    match = None if name in _COLUMNS else _TOOL.match(name)
    return match[1] if match else ""


def _of_column(column: str) -> Metric | None:
    """Return the metric of a column with or without a tool's prefix; None if there is none."""
    prefix = _prefix(column)
    quantity = _COLUMNS.get(column.removeprefix(prefix))
    return quantity and _by_tool(prefix, quantity)


def _by_tool(prefix: str, quantity: Metric) -> Metric:
    if not prefix:
        return quantity
    return replace(
        quantity,
        name=prefix + quantity.name,
        column=prefix + quantity.column,
        title=f"{quantity.title} by {prefix.rstrip('_')}",
    )


def _selected(selector: str, column: str) -> Metric:
    """Return a metric for a selector whose column is not in METRICS."""
    unit = SUFFIX_UNITS.get(column.rpartition("_")[2], "")
    words = selector.replace("_", " ").lower()
    return Metric(selector.lower(), column, f"netperf's {words}", unit)
