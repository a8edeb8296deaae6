"""The configurations of an experiment: the combinations of its factors that `exclude` leaves.

Each factor, and each group of lists that move together (`zip`), is an axis. A configuration is a
number in the product of all axes, of which the last varies fastest. Values, identity and CSV cells
are assembled on request.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import json
import math
import operator
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from netlimits.errors import DocumentError, InputError, raise_all
from netlimits.experiment import expressions, resolution
from netlimits.model import Experiment, Scalar, Values, cells

LIMIT = 10_000_000
_KEPT = 2**16
"""Maximum number of cached results of each `exclude` condition."""
_QUOTED = frozenset(',"\r\n')


class Configuration(NamedTuple):
    """A configuration: its identity, its values by name in column order, and its CSV cells."""

    config: str
    values: Values
    cells: str


def identity(values: Values) -> str:
    """Return the first 12 hex digits of the SHA-256 of the values as JSON with sorted keys."""
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of an axis: its values, with their JSON and CSV text prepared."""

    values: Values
    json: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    """A factor or group: its rows, and `stride`, the distance of adjacent rows in the product."""

    names: tuple[str, ...]
    rows: tuple[_Row, ...]
    stride: int


class Configurations:
    """The configurations of an experiment; `errors` has the errors of `exclude` and `include`."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.columns = resolution.names(experiment)
        self._where = resolution.source(experiment)
        self._axes = _axes(experiment)
        self.product = math.prod(len(axis.rows) for axis in self._axes)
        if self.product > LIMIT:
            raise self._where.error(
                f"makes {self.product:,} combinations; the limit is {LIMIT:,}", "factors"
            )
        self._derive = tuple(
            (name, expressions.compile(text), f'"{name}":')
            for name, text in experiment.derive.items()
        )
        self._sorted = _picker(self.columns)
        self.errors: list[DocumentError] = []
        self._alive, self.removed = self._expand()
        self._included = tuple(self._include())

    def __len__(self) -> int:
        return len(self._alive) + len(self._included)

    def __iter__(self) -> Iterator[Configuration]:
        return map(self.configuration, range(len(self)))

    def configuration(self, number: int) -> Configuration:
        if number >= len(self._alive):
            return self._included[number - len(self._alive)]
        index = self._alive[number]
        values: dict[str, Any] = {}
        parts: list[str] = []
        cells: list[str] = []
        for axis in self._axes:
            row = axis.rows[index // axis.stride % len(axis.rows)]
            values.update(row.values)
            parts += row.json
            cells += row.cells
        for name, expression, prefix in self._derive:
            value = expression.value(values)
            values[name] = value
            parts.append(prefix + _JSON[type(value)](value))
            cells.append(cell(value))
        text = "{" + ",".join(self._sorted(parts)) + "}"
        config = hashlib.sha256(text.encode()).hexdigest()[:12]
        return Configuration(config, values, ",".join(cells))

    def at(self, given: Values) -> Configuration:
        """Return the configuration with these factor values, which need not be in the file."""
        values: dict[str, Any] = dict(given)
        self._compute(values, frozenset(self.columns))
        values = {name: values[name] for name in self.columns if name in values}
        return Configuration(identity(values), values, ",".join(map(cell, values.values())))

    def kind(self, number: int, name: str) -> int:
        """Return the same number for all configurations that differ only in the axis of `name`."""
        index = self._alive[number]
        axis = next(axis for axis in self._axes if name in axis.names)
        return index - index // axis.stride % len(axis.rows) * axis.stride

    def is_included(self, number: int) -> bool:
        """Return True for a configuration from `include`, which no condition removes."""
        return number >= len(self._alive)

    def _expand(self) -> tuple[array[int], tuple[int, ...]]:
        """Return the indices that no `exclude` removes, and how many each `exclude` removed."""
        failed: dict[str, DocumentError] = {}
        self._check_derived(failed)
        raise_all(list(failed.values()))
        conditions = [self._condition(n, failed) for n in range(len(self.experiment.exclude))]
        if not conditions:
            return array("I", range(self.product)), ()
        counts = [0] * len(conditions)
        alive = array("I")
        for index in range(self.product):
            for number, removes in enumerate(conditions):
                if removes(index):
                    counts[number] += 1
                    break
            else:
                alive.append(index)
        raise_all(list(failed.values()))
        self._check_counts(counts, bool(alive))
        return alive, tuple(counts)

    def _check_derived(self, failed: dict[str, DocumentError]) -> None:
        """Add an error to `failed` for each derived value that some combination cannot compute."""
        for name, _, _ in self._derive:
            needed = self._needed([name])
            try:
                for values in self._product(self._axes_of(needed), 0, {}):
                    self._compute(values, needed)
            except DocumentError as error:
                failed.setdefault(error.key, error)

    def _condition(self, number: int, failed: dict[str, DocumentError]) -> Callable[[int], bool]:
        """Return a function that returns True for an index of the product that `exclude` removes.

        If the condition cannot be computed, the error is added to `failed` and the configuration
        stays. Configurations that an earlier `exclude` removes are not tested and cause no error.
        """
        condition = expressions.compile(self.experiment.exclude[number])
        needed = self._needed(condition.names)
        axes = [(axis.stride, len(axis.rows), axis.rows) for axis in self._axes_of(needed)]

        @functools.lru_cache(_KEPT)
        def holds(*places: int) -> bool:
            values: dict[str, Any] = {}
            for place, (_, _, rows) in zip(places, axes, strict=True):
                values.update(rows[place].values)
            self._compute(values, needed)
            try:
                return condition.holds(values)
            except InputError as error:
                failure = self._where.error(str(error), "exclude", number)
                failed.setdefault(failure.key, failure)
                return False

        return lambda index: holds(*[index // stride % length for stride, length, _ in axes])

    def _needed(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names, and every name that the derived values among them refer to."""
        needed = set(names)
        for name, expression, _ in reversed(self._derive):
            if name in needed:
                needed |= expression.names
        return frozenset(needed)

    def _axes_of(self, names: Iterable[str]) -> tuple[_Axis, ...]:
        needed = self._needed(names)
        return tuple(axis for axis in self._axes if not needed.isdisjoint(axis.names))

    def _product(
        self, axes: tuple[_Axis, ...], depth: int, values: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Yield each combination of axes in one mapping, which is reused and must not be kept."""
        if depth == len(axes):
            yield values
            return
        for row in axes[depth].rows:
            values.update(row.values)
            yield from self._product(axes, depth + 1, values)

    def _compute(self, values: dict[str, Any], needed: frozenset[str]) -> None:
        """Add the needed derived values. Raises DocumentError if one cannot be computed."""
        for name, expression, _ in self._derive:
            if name in needed:
                try:
                    values[name] = expression.value(values)
                except InputError as error:
                    raise self._where.error(str(error), "derive", name) from None

    def _check_counts(self, counts: list[int], any_left: bool) -> None:
        for number, text in enumerate(self.experiment.exclude):
            quoted = expressions.quoted(text)
            if not any_left and not any(counts[number + 1 :]):
                self.errors.append(
                    self._where.error(
                        f"{quoted} excludes every configuration that is left; "
                        "correct it or leave it out",
                        "exclude",
                        number,
                    )
                )
                break
            if not counts[number]:
                others = " that the ones above it leave" if number else ""
                self.errors.append(
                    self._where.error(
                        f"{quoted} removes nothing{others}; correct it or leave it out",
                        *("exclude", number),
                    )
                )

    def _include(self) -> Iterator[Configuration]:
        """Yield the configurations of `include`. Those in the plan already become `errors`.

        Raises DocumentError if a derived value cannot be computed.
        """
        seen: set[str] = set()
        for number, row in enumerate(self.experiment.include):
            given = identity(row)
            index = self._index(row)
            place = bisect.bisect_left(self._alive, index)
            if given in seen or index in self._alive[place : place + 1]:
                self.errors.append(
                    self._where.error("is in the plan already; leave it out", "include", number)
                )
                continue
            seen.add(given)
            yield self.at(row)

    def _index(self, given: Values) -> int:
        """Return the number of a configuration in the product, or -1 if it is not in it."""
        index = 0
        for axis in self._axes:
            pieces = _pieces({name: given[name] for name in axis.names})
            places = [place for place, row in enumerate(axis.rows) if row.json == pieces]
            if not places:
                return -1
            index += axis.stride * places[0]
        return index


def _axes(experiment: Experiment) -> tuple[_Axis, ...]:
    groups: list[Mapping[str, tuple[Scalar, ...]]] = [
        *({name: values} for name, values in experiment.factors.items()),
        *experiment.zips,
    ]
    stride = math.prod(len(next(iter(group.values()))) for group in groups)
    axes = []
    for group in groups:
        rows = [dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)]
        stride //= len(rows)
        axis_rows = tuple(_Row(row, _pieces(row), tuple(map(cell, row.values()))) for row in rows)
        axes.append(_Axis(tuple(group), axis_rows, stride))
    return tuple(axes)


_JSON: Mapping[type, Callable[[Any], str]] = {
    int: repr,
    float: repr,
    str: json.encoder.encode_basestring_ascii,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}


def _pieces(values: Values) -> tuple[str, ...]:
    """Return the values as members of a JSON object."""
    return tuple(f'"{name}":{_JSON[type(value)](value)}' for name, value in values.items())


def _picker(columns: tuple[str, ...]) -> Callable[[list[str]], Iterable[str]]:
    """Return a function that takes pieces in the order of `columns` and sorts them by name."""
    order = sorted(range(len(columns)), key=columns.__getitem__)
    return operator.itemgetter(*order) if len(order) > 1 else list


def cell(value: Scalar) -> str:
    """Return a value as an RFC 4180 CSV cell; csv.writer's quoting differs by Python version."""
    if type(value) is int:
        return repr(value)
    text = "" if value is None else str(value)
    if isinstance(value, str) and cells.needs_quotes(text):
        return '"' + cells.cell(text).replace('"', '""') + '"'
    if _QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
