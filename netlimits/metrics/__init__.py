"""The metrics, with the only definition of their columns, titles, units and better directions.

A metric has a short name, for `report:` and the command line, and a column, which ends in its unit.
Service demand is µs of CPU time of the whole machine per KiB (1024 bytes) or per transaction, both
over one window (evidence.cpu). "Local" is the client's end, "remote" the server's. A tool's own
figure has the tool's name in front: `netperf_local_sd_…`. netperf's selectors are accepted wherever
a metric is named.
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
"""Percent of one CPU above which the load of other programs on a host gets a note."""

COVERED_NOTED = 90.0
"""Percent of a run's time below which a throughput measured over part of it gets a note."""

HEADLINES = ("throughput", "transaction_rate")
"""The metrics that are a run's main result."""

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
"""The columns of a frame that describe the run itself, with what each holds."""

PROFILED = "profiled"
"""The column of runs that record a profile; only campaigns with `profile:` have it."""

PROFILE_COLUMN = re.compile(r"(local|remote)_profile_([a-z_]+)")
"""The columns of a profiled run, such as `local_profile_copy_pct`."""

_TOOL = re.compile(r"([a-z][a-z0-9]*_)(?=(?:local|remote)_)", re.IGNORECASE)
"""A tool's name in front of a metric of an end."""

_OF_REASON = re.compile(r"(local|remote)_dropped_([a-z0-9_]{2,60})(?<!_where)")
"""Packets that a kernel dropped for one reason (evidence.drops)."""

_COLUMNS = {quantity.column: quantity for quantity in METRICS}
_SELECTED = {selectors.column(s): s for s in selectors.SELECTORS if not selectors.is_text(s)}
"""Column -> netperf's selector for it."""


def metric(name: str) -> Metric:
    """Return the metric of a short name, a column or a netperf selector.

    Args:
        name: For example "throughput", "throughput_mbps", "netperf_local_sd" or "RT_LATENCY".

    Returns:
        The metric. For a tool's own figure its name, column and title carry the tool's name.

    Raises:
        InputError: No metric has this name; the message suggests metrics of similar meaning.

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
    word = re.sub("^netperf_", "", bare, flags=re.IGNORECASE)  # selectors are netperf's own names
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
    """Return column -> metric for the columns that hold a tool's own figure, grouped by tool."""
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
    """Return the tool's name with its underscore, "" for a metric without one."""
    match = None if name in _COLUMNS else _TOOL.match(name)
    return match[1] if match else ""


def _of_column(column: str) -> Metric | None:
    """Return the metric of a column, with or without a tool's name."""
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
    """Return a metric for a selector that METRICS does not have."""
    unit = SUFFIX_UNITS.get(column.rpartition("_")[2], "")
    words = selector.replace("_", " ").lower()
    return Metric(selector.lower(), column, f"netperf's {words}", unit)
