"""The entries of `report:`, whose metrics, factors and compared values must exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from netlimits.errors import did_you_mean
from netlimits.experiment import templates
from netlimits.experiment.document import KeyPath
from netlimits.experiment.report_schema import contradictions
from netlimits.experiment.validation.names import Names
from netlimits.model import SIDE, Scalar

FACTORS = ("rows", "columns", "series", "by", "size", "pool")
"""Keys of an entry that name factors."""


def entries(
    data: Mapping[str, Any],
    names: Names,
    factors: Mapping[str, tuple[Scalar, ...]],
    overridden: Collection[str],
) -> Iterator[Mapping[str, Any]]:
    """Yield the entries; errors go to `names`."""
    if "report" not in data and "search" in data:
        yield from ({"table": "search"}, {"chart": "search"})
    for number, entry in enumerate(data.get("report", [])):
        key: KeyPath = ("report", number)
        if isinstance(entry, str):
            yield {"table": entry}
            continue
        for place, name in _named(entry, "of"):
            names.check_metric(name, entry.get("chart", ""), data, *key, *place)
        for part in FACTORS:
            for place, name in _named(entry, part):
                if name not in (*names.known, SIDE):
                    names.no_factor(name, names.known, *key, *place)
        for name, first, second in contradictions(entry):
            names.fault(
                f"{name} is in `{second}` too, and a factor has one place; leave it out of one",
                *(*key, first),
            )
        for place, factor, written in _comparisons(entry):
            if factor not in (*names.known, SIDE):
                if len(place) > 1:  # else `rows` has this factor, and the error already
                    names.no_factor(factor, names.known, *key, *place)
            elif factor in factors and not (factor in overridden and len(place) > 1):
                values = [templates.written(value) for value in factors[factor]]
                for problem in _faults(factor, values, written):
                    names.fault(problem, *key, *place)
        yield entry


def _faults(factor: str, values: list[str], written: str) -> Iterator[str]:
    """Yield what is wrong with a comparison such as "on over off"."""
    sides = [side.strip() for side in written.split(" over ")]
    if len(set(sides)) < len(sides):
        yield f"{factor} {sides[0]} is compared with itself"
    for side in sides:
        if side not in values:
            yield f"{factor} has no value {side}{did_you_mean(side, values)}"


def _comparisons(entry: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str, str]]:
    """Yield each comparison of a table's entry: its key path, its factor and its text."""
    request = entry.get("improvement", {})
    if isinstance(request, str):
        yield ("improvement",), str(entry.get("rows", "")), request
        return
    for factor, written in request.items():
        place: KeyPath = ("improvement", factor)
        if isinstance(written, str):
            yield place, factor, written
        else:
            for number, text in enumerate(written):
                yield (*place, number), factor, text


def _named(entry: Mapping[str, Any], part: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield the names in one part of a report's entry, with their key paths."""
    written = entry.get(part, [])
    if isinstance(written, str):
        yield (part,), written
    else:
        for index, name in enumerate(written):
            yield (part, index), name
