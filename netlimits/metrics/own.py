"""Metrics that a user declares in addition to METRICS. They exist until the process ends."""

from __future__ import annotations

import re
from dataclasses import fields

from netlimits.errors import InputError
from netlimits.metrics.catalogue import METRICS, Metric

_declared: dict[str, Metric] = {}
"""Name -> metric. `declare` sets an entry in one atomic step, so threads need no lock."""


def declare(quantity: Metric) -> Metric:
    """Add a metric to the user's own metrics, or replace the user's metric with the same name.

    Args:
        quantity: Metric to add. Nothing is added if it is in METRICS.

    Returns:
        `quantity`.

    Raises:
        InputError: A field is invalid, or a metric in METRICS has the same name or column. Or one
            of the user's metrics with another name has the same column.
    """
    if quantity in METRICS:
        return quantity
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", quantity.name):
        raise InputError(
            f"metric {quantity.name!r}: a name has letters, digits and underscores, such as "
            "page_load"
        )
    for field in fields(quantity):
        if not isinstance(getattr(quantity, field.name), str):
            raise InputError(f"metric {quantity.name}: {field.name} must be a text")
    if quantity.better not in ("higher", "lower", ""):
        raise InputError(
            f"metric {quantity.name}: better is 'higher', 'lower' or '', not {quantity.better!r}"
        )
    for other in METRICS:
        if {quantity.name, quantity.column} & {other.name, other.column}:
            raise InputError(
                f"metric {quantity.name}: {other.label} has this name already; use it, or choose "
                "another name"
            )
    for name, other in _declared.items():
        if name != quantity.name and other.column == quantity.column:
            raise InputError(
                f"metric {quantity.name}: {name} has the column {other.column} already"
            )
    _declared[quantity.name] = quantity
    return quantity


def declared(name: str) -> Metric | None:
    """Return the user's metric with a short name or column, None if there is none."""
    named = _declared.get(name)
    return named or next((m for m in _declared.values() if m.column == name), None)


def known() -> tuple[Metric, ...]:
    """Return all metrics.

    Returns:
        METRICS, followed by the user's own metrics.
    """
    return (*METRICS, *_declared.values())
