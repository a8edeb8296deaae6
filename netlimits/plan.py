"""An Experiment into ordered Runs, as a stream.

An order is an array of the configurations' numbers; a Run is made when it is asked for. Chance
comes from `random.Random(seed).random()`, the one sequence that Python promises to keep from
version to version, through a shuffle of our own: the same file and seed give the same plan on
every machine.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import random
import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import IO

from netlimits import experiment as experiments
from netlimits import templates
from netlimits.configurations import Configuration, Configurations, cell, identity
from netlimits.model import Experiment, Run, Values

RUN_LIMIT = 10_000_000
"""Four months of runs of a second each; more is a slip of the pen."""
SEED_BITS = 48
OVERHEAD = 0.1
"""Seconds between the measured seconds of two runs: settings read back, netperf's own start."""
SAMPLE = 1_000
_KEPT = 10_000
"""Configurations up to which they are kept rather than made anew for each replicate."""

__all__ = [
    "Configuration",
    "Plan",
    "configurations",
    "count",
    "identity",
    "removed",
    "runs",
    "seeded",
    "write_csv",
]


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
    """Every configuration, in the file's order. Raises DocumentError as Configurations does."""
    return iter(Configurations(experiment))


def runs(experiment: Experiment) -> Iterator[Run]:
    """Every run, in its order. Raises DocumentError as Plan does, ValueError without a seed."""
    return Plan(experiment).runs()


def count(experiment: Experiment) -> int:
    """How many runs there are."""
    return len(Plan(experiment))


def removed(experiment: Experiment) -> tuple[int, ...]:
    """How many configurations each `exclude` removed that the ones before it had left."""
    return Configurations(experiment).removed


def write_csv(
    experiment: Experiment, file: IO[str], skipped: Mapping[str, str] | None = None
) -> int:
    """Write the plan as CSV (columns run, block, config, then the values); how many runs."""
    return Plan(experiment, skipped).write_csv(file)


class Plan:
    """The plan of one experiment; `len()` says how many runs it has, skipped ones among them.

    `skipped` has the reason for each tool whose runs are left out. Raises DocumentError as
    Configurations does, and for more runs than RUN_LIMIT.
    """

    def __init__(self, experiment: Experiment, skipped: Mapping[str, str] | None = None) -> None:
        self.experiment = experiment
        self.skipped = dict(skipped or {})
        self.configurations = Configurations(experiment)
        known = len(self.configurations)
        make = self.configurations.configuration
        self._configuration = functools.cache(make) if known <= _KEPT else make
        self._count = experiment.repeat.runs or known * experiment.repeat.replicates
        if self._count > RUN_LIMIT:
            raise experiments.source(experiment).error(
                f"makes {self._count:,} runs; at most {RUN_LIMIT:,} may be", "repeat"
            )

    def __len__(self) -> int:
        """How many runs there are."""
        return self._count

    def runs(self) -> Iterator[Run]:
        """Every run, in its order. Raises ValueError when the experiment has no seed yet."""
        for number, (block, chosen) in enumerate(self._order(), 1):
            made = self._configuration(chosen)
            yield Run(number, block, made.config, made.values)

    def skip(self, values: Values) -> str:
        """Why a configuration's runs are left out; "" where they are not."""
        return self.skipped.get(experiments.tool_of(self.experiment, values), "")

    def left_out(self) -> Counter[str]:
        """How many runs of each tool are left out."""
        if not self.skipped:
            return Counter()
        tools = (experiments.tool_of(self.experiment, run.values) for run in self.runs())
        return Counter(tool for tool in tools if tool in self.skipped)

    def write_csv(self, file: IO[str]) -> int:
        """Write every run as a row; how many there were.

        The last column, `skip`, says why a run is left out; it is there only when one is.
        """
        columns = self.configurations.columns
        last = ("skip",) if self.skipped else ()
        file.write(",".join(("run", "block", "config", *columns, *last)) + "\n")
        make = self._configuration
        comma = "," if columns else ""
        for number, (block, chosen) in enumerate(self._order(), 1):
            config, values, cells = make(chosen)
            why = f",{cell(self.skip(values))}" if last else ""
            file.write(f"{number},{block},{config}{comma}{cells}{why}\n")
        return len(self)

    def seconds(self) -> float:
        """How long the whole plan will take about, from what its tools say of one run.

        On the way the options of every configuration are held against their tool and settings;
        of plans beyond SAMPLE configurations, as many, spread evenly. Raises DocumentError.
        """
        from netlimits.tools import tool

        uses = [use.options for use in self.experiment.settings]
        looked_up = templates.used([uses, *self.experiment.measure.values()]) | {"tool"}
        known: dict[str, float] = {}
        total = 0.0
        every = len(self.configurations)
        sample = range(0, every, math.ceil(every / SAMPLE))
        for number in sample:
            values = self._configuration(number).values
            key = identity({name: values[name] for name in values if name in looked_up})
            if key not in known:
                _, (name, options) = experiments.resolved(self.experiment, values)
                left_out = name in self.skipped
                known[key] = 0.0 if left_out else tool(name).seconds(options) + OVERHEAD
            total += known[key]
        return total / len(sample) * len(self)

    def _order(self) -> Iterator[tuple[int, int]]:
        """(block, number of the configuration) of every run."""
        repeat = self.experiment.repeat
        every = range(len(self.configurations))
        if repeat.order == "listed":
            blocks = range(1, repeat.replicates + 1)
            return ((block, number) for block in blocks for number in every)
        if repeat.seed is None:
            raise ValueError("no seed: plan.seeded draws one")
        draw = random.Random(repeat.seed).random  # noqa: S311  an order, not a secret
        if repeat.order == "coin-flips":
            # A coin for each factor, tossed again when the configuration is excluded, lands on
            # each configuration that is left with one chance: so one toss among those will do.
            return ((1, int(draw() * len(every))) for _ in range(len(self)))
        if repeat.order == "shuffled":
            # In the file's order, so that the shuffle alone decides
            repeated = itertools.chain.from_iterable(itertools.repeat(every, repeat.replicates))
            return zip(itertools.repeat(1), _shuffled(repeated, draw), strict=False)
        return (
            (block, number)
            for block in range(1, repeat.replicates + 1)
            for number in _shuffled(every, draw)
        )


def _shuffled(numbers: Iterator[int] | range, draw: Callable[[], float]) -> array[int]:
    """The numbers in an order of chance, by Fisher and Yates's shuffle."""
    shuffled = array("I", numbers)
    for last in range(len(shuffled) - 1, 0, -1):
        other = int(draw() * (last + 1))
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled
