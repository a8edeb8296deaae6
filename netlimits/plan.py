"""An Experiment into ordered Runs: which configurations there are, and in which order they run.

Nothing here holds a plan as a list of objects. A configuration is a number in the product of the
axes (a factor, or a group of lists that move together); what survives `exclude` is an array of
such numbers, an order is an array of positions in it, and values, identities and rows are made
when they are asked for. Chance comes from `random.Random(seed).random()`, the one sequence that
Python promises to keep from version to version, through a shuffle of our own.
"""

from __future__ import annotations

import bisect
import csv
import dataclasses
import functools
import hashlib
import itertools
import json
import math
import operator
import random
import secrets
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from netlimits import experiment as experiments
from netlimits import expressions, templates
from netlimits.errors import InputError
from netlimits.expressions import Expression
from netlimits.model import Experiment, Run, Scalar, Values

CONFIGURATION_LIMIT = 10_000_000
RUN_LIMIT = 10_000_000
"""Four months of runs of a second each; more is a slip of the pen."""
SEED_BITS = 48
OVERHEAD = 0.1
"""Seconds between the measured seconds of two runs: settings read back, netperf's own start."""
SAMPLE = 2_000
_KEPT = 10_000
"""Configurations up to which their rows are kept rather than made anew for each replicate."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration: its identity and its values, by name in the order of the columns."""

    config: str
    values: Values


def identity(values: Values) -> str:
    """The first 12 hex digits of the SHA-256 of the values as JSON with sorted keys.

    It does not depend on the order of the keys; 1, 1.0, "1" and true are four values.
    """
    text = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def seeded(experiment: Experiment) -> Experiment:
    """The experiment with a seed: its own, or one drawn now and noted among the overrides."""
    if experiment.repeat.seed is not None:
        return experiment
    seed = secrets.randbits(SEED_BITS)
    return dataclasses.replace(
        experiment,
        repeat=dataclasses.replace(experiment.repeat, seed=seed),
        overrides=(*experiment.overrides, ("repeat.seed", str(seed))),
    )


def configurations(experiment: Experiment) -> Iterator[Configuration]:
    """Every configuration, in the file's order. Raises DocumentError as Plan does."""
    yield from Plan(experiment).configurations()


def runs(experiment: Experiment) -> Iterator[Run]:
    """Every run, in its order. Raises DocumentError as Plan does, ValueError without a seed."""
    yield from Plan(experiment).runs()


def count(experiment: Experiment) -> int:
    """How many runs there are."""
    return Plan(experiment).run_count


def removed(experiment: Experiment) -> tuple[int, ...]:
    """How many configurations each `exclude` removed that the ones before it had left."""
    return Plan(experiment).removed


def write_csv(experiment: Experiment, file: IO[str]) -> int:
    """Write the plan as CSV (columns run, block, config, then the values); how many runs."""
    return Plan(experiment).write_csv(file)


class Plan:
    """The plan of one experiment, expanded once.

    Raises DocumentError for a derived value that cannot be computed, an `exclude` that removes
    nothing or leaves nothing, an `include` that is there already, and for too many of anything.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.columns = experiments.names(experiment)
        self._where = experiments.source(experiment)
        self._axes = _axes(experiment)
        self.product = math.prod(len(rows) for _, rows in self._axes)
        self._limit(self.product, CONFIGURATION_LIMIT, "configurations", "factors")
        self._derive = tuple(
            (name, expressions.compile(text)) for name, text in experiment.derive.items()
        )
        self._identity = _identity_of(self.columns)
        self._alive, self.removed = self._expand()
        self._included = tuple(self._include())
        self._row = functools.cache(self._make_row) if len(self) <= _KEPT else self._make_row
        repeat = experiment.repeat
        self.run_count = repeat.runs or len(self) * repeat.replicates
        self._limit(self.run_count, RUN_LIMIT, "runs", "repeat")

    def __len__(self) -> int:
        """How many configurations there are."""
        return len(self._alive) + len(self._included)

    def configurations(self) -> Iterator[Configuration]:
        """Every configuration, in the file's order, included ones last."""
        for number in range(len(self)):
            values = self._values(number)
            yield Configuration(self._identity(values), values)

    def runs(self) -> Iterator[Run]:
        """Every run, in its order. Raises ValueError when the experiment has no seed yet."""
        for number, (block, chosen) in enumerate(self._order(), 1):
            config, *values = self._row(chosen)
            yield Run(number, block, config, dict(zip(self.columns, values, strict=True)))

    def write_csv(self, file: IO[str]) -> int:
        """Write every run as a row; how many there were."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("run", "block", "config", *self.columns))
        row = self._row
        writer.writerows(
            (number, block, *row(chosen)) for number, (block, chosen) in enumerate(self._order(), 1)
        )
        return self.run_count

    def seconds(self) -> float:
        """How long the whole plan will take about, from what its tools say of one run.

        On the way the options of every configuration are held against their tool and settings;
        of plans beyond SAMPLE configurations, as many, spread evenly. Raises DocumentError.
        """
        from netlimits.tools import tool

        uses = [use.options for use in self.experiment.settings]
        options = [uses, *self.experiment.measure.values()]
        looked_up = templates.used(options) | {"tool"}
        known: dict[str, float] = {}
        total = 0.0
        sample = range(0, len(self), math.ceil(len(self) / SAMPLE))
        for number in sample:
            values = self._values(number)
            key = identity({name: values[name] for name in values if name in looked_up})
            if key not in known:
                _, (name, resolved) = experiments.resolved(self.experiment, values)
                known[key] = tool(name).seconds(resolved) + OVERHEAD
            total += known[key]
        return total / len(sample) * self.run_count

    def _order(self) -> Iterator[tuple[int, int]]:
        """(block, number of the configuration) of every run."""
        repeat = self.experiment.repeat
        if repeat.order == "listed":
            for block in range(1, repeat.replicates + 1):
                yield from zip(itertools.repeat(block), range(len(self)), strict=False)
            return
        if repeat.seed is None:
            raise ValueError("no seed: plan.seeded draws one")
        draw = random.Random(repeat.seed).random  # noqa: S311  an order, not a secret
        if repeat.order == "coin-flips":
            # A coin for each factor, tossed again when the configuration is excluded, lands on
            # each configuration that is left with the same chance: so one toss among those will do.
            left = len(self)
            yield from ((1, int(draw() * left)) for _ in range(self.run_count))
        elif repeat.order == "shuffled":
            once = range(len(self))
            every = array("I", (number for number in once for _ in range(repeat.replicates)))
            _shuffle(every, draw)
            yield from zip(itertools.repeat(1), every, strict=False)
        else:
            for block in range(1, repeat.replicates + 1):
                numbers = array("I", range(len(self)))
                _shuffle(numbers, draw)
                yield from zip(itertools.repeat(block), numbers, strict=False)

    def _values(self, number: int) -> dict[str, Any]:
        """The values of a configuration, by name, in the order of the columns."""
        left = number - len(self._alive)
        if left >= 0:
            return dict(self._included[left])
        index = self._alive[number]
        values: dict[str, Any] = {}
        for stride, rows in self._axes:
            values.update(rows[index // stride % len(rows)])
        for name, expression in self._derive:
            values[name] = expression.value(values)
        return values

    def _make_row(self, number: int) -> tuple[Any, ...]:
        """The identity and the values of a configuration."""
        values = self._values(number)
        return (self._identity(values), *values.values())

    def _expand(self) -> tuple[array[int], tuple[int, ...]]:
        """The numbers in the product that no `exclude` removes, and what each removed."""
        conditions = [expressions.compile(text) for text in self.experiment.exclude]
        if not conditions and not self._derive:
            return array("I", range(self.product)), ()
        counts = [0] * len(conditions)
        alive = array("I")
        for index, values in enumerate(self._product(0, {})):
            self._compute(values)
            for number, condition in enumerate(conditions):
                if self._holds(condition, number, values):
                    counts[number] += 1
                    break
            else:
                alive.append(index)
        self._check_counts(counts, bool(alive))
        return alive, tuple(counts)

    def _product(self, depth: int, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Each combination of the axes in turn, in one mapping that changes under the reader."""
        if depth == len(self._axes):
            yield values
        elif depth == len(self._axes) - 1:
            for row in self._axes[depth][1]:
                values.update(row)
                yield values
        else:
            for row in self._axes[depth][1]:
                values.update(row)
                yield from self._product(depth + 1, values)

    def _compute(self, values: dict[str, Any]) -> None:
        """Add the derived values. Raises DocumentError naming the one that fails."""
        for name, expression in self._derive:
            try:
                values[name] = expression.value(values)
            except InputError as error:
                raise self._where.error(str(error), "derive", name) from None

    def _holds(self, condition: Expression, number: int, values: Values) -> bool:
        try:
            return condition.holds(values)
        except InputError as error:
            raise self._where.error(str(error), "exclude", number) from None

    def _check_counts(self, counts: list[int], left: bool) -> None:
        for number, text in enumerate(self.experiment.exclude):
            quoted = expressions.quoted(text)
            if not counts[number]:
                others = " that the ones above it leave" if number else ""
                raise self._where.error(
                    f"{quoted} removes nothing{others}; correct it or leave it out",
                    *("exclude", number),
                )
            if not left and not any(counts[number + 1 :]):
                raise self._where.error(f"after {quoted} nothing is left", "exclude", number)

    def _include(self) -> Iterator[dict[str, Scalar]]:
        """The included configurations, with derived values. Raises for one that is there."""
        seen: set[str] = set()
        for number, row in enumerate(self.experiment.include):
            config = identity(row)
            index = self._index(row)
            place = bisect.bisect_left(self._alive, index)
            if config in seen or index in self._alive[place : place + 1]:
                raise self._where.error("is there already; leave it out", "include", number)
            seen.add(config)
            values = dict(row)
            self._compute(values)
            yield values

    def _index(self, given: Values) -> int:
        """The number of a configuration in the product, or -1 when it is none of it."""
        index = 0
        for stride, rows in self._axes:
            wanted = identity({name: given[name] for name in rows[0]})
            places = [place for place, row in enumerate(rows) if identity(row) == wanted]
            if not places:
                return -1
            index += stride * places[0]
        return index

    def _limit(self, number: int, limit: int, what: str, key: str) -> None:
        if number > limit:
            raise self._where.error(f"makes {number:,} {what}; at most {limit:,} may be", key)


_Row = Mapping[str, Scalar]


def _axes(experiment: Experiment) -> tuple[tuple[int, tuple[_Row, ...]], ...]:
    """Each axis as its stride in the product (the last one varies fastest) and its rows."""
    groups: list[Mapping[str, tuple[Scalar, ...]]] = [
        *({name: values} for name, values in experiment.factors.items()),
        *experiment.zips,
    ]
    rows = [
        tuple(dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True))
        for group in groups
    ]
    strides = [math.prod(len(later) for later in rows[place + 1 :]) for place in range(len(rows))]
    return tuple(zip(strides, rows, strict=True))


def _shuffle(numbers: array[int], draw: Any) -> None:
    """Fisher and Yates's shuffle, in place."""
    for last in range(len(numbers) - 1, 0, -1):
        other = int(draw() * (last + 1))
        numbers[last], numbers[other] = numbers[other], numbers[last]


_JSON: Mapping[type, Any] = {
    int: repr,
    float: repr,
    str: json.encoder.encode_basestring_ascii,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}


def _identity_of(columns: Any) -> Any:
    """`identity` for values of these columns, without building an encoder for each."""
    ordered = sorted(columns)
    shape = "{" + ",".join(f'"{name}":%s' for name in ordered) + "}"

    pick = operator.itemgetter(*ordered) if len(ordered) > 1 else lambda v: [v[n] for n in ordered]

    def config(values: Values) -> str:
        parts = [_JSON[type(value)](value) for value in pick(values)]
        return hashlib.sha256((shape % tuple(parts)).encode()).hexdigest()[:12]

    return config
