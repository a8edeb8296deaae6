"""The plan of an experiment: its ordered runs, as a stream.

Randomness comes from `random.Random(seed).random()`, whose sequence Python promises to keep, and
from our own shuffle: the same file and seed give the same plan on every machine.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import secrets
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Any

from netlimits.errors import DocumentError, InputError, raise_all
from netlimits.experiment import ordering, replicates, resolution, search
from netlimits.experiment.around_schema import PROFILE, PROFILED_RUNS
from netlimits.experiment.configurations import Configurations, cell
from netlimits.experiment.duet import Interleaved
from netlimits.experiment.mesh import dispatch, pairs, rounds, workload
from netlimits.experiment.replicates import RUN_LIMIT
from netlimits.experiment.setups import Setups
from netlimits.experiment.validation import plan_errors
from netlimits.model import Experiment, Mesh, Repeat, Run, Setup, Values
from netlimits.tools import tool

SEED_BITS = 48
OVERHEAD = 0.1
"""Seconds that a run takes in addition to its measurement, such as to read settings back."""
TRIALS = 8
"""Approximate number of trials of a search, from benchmarks/search.py."""
_KEPT = 10_000
"""Up to this many configurations are computed once instead of once for each replicate.

The time of a mesh is estimated from as many runs."""


def seeded(experiment: Experiment) -> Experiment:
    """Return the experiment with its own seed, or with a new one recorded as an override."""
    if experiment.repeat.seed is not None:
        return experiment
    seed = secrets.randbits(SEED_BITS)
    return dataclasses.replace(
        experiment,
        repeat=dataclasses.replace(experiment.repeat, seed=seed),
        overrides=(*experiment.overrides, ("repeat.seed", str(seed))),
    )


def _same_places(places: range | array[int], _: int) -> range | array[int]:
    return places


class Plan:
    """The plan of one experiment; `len()` is its number of runs, including skipped runs."""

    def __init__(self, experiment: Experiment, skipped: Mapping[str, str] | None = None) -> None:
        self.experiment = experiment
        self.skipped = dict(skipped or {})
        self.configurations: Configurations | Interleaved
        try:
            kind = Interleaved if experiment.sides else Configurations
            self.configurations = kind(experiment)
        except DocumentError as error:
            if not experiment.sides:  # a duet's sides were checked one by one
                raise_all([*error.errors, *plan_errors.errors(experiment, error.errors)])
            raise
        self._setups = Setups(experiment, self.configurations)
        count = len(self.configurations)
        make = self.configurations.configuration
        self._configuration = functools.cache(make) if count <= _KEPT else make
        errors = [*self.configurations.errors]
        self._often = array("I")
        try:
            self._often = replicates.per_configuration(experiment, self.configurations)
        except DocumentError as error:
            errors += error.errors
        self._blocks = max(self._often) if self._often else experiment.repeat.replicates
        often = sum(self._often) if self._often else count * experiment.repeat.replicates
        self._count = experiment.repeat.runs or often
        if self._count > RUN_LIMIT:
            problem = f"makes {self._count:,} runs; the limit is {RUN_LIMIT:,}"
            errors.append(resolution.source(experiment).error(problem, "repeat"))
        if errors:
            raise_all([*errors, *self._setups.errors()])
        self._added: tuple[tuple[Repeat, Sequence[int]], ...] = ()
        self._trials: tuple[Run, ...] = ()
        profile = experiment.around.get(PROFILE)
        self._profiled = profile.get("runs", PROFILED_RUNS) if profile else 0

    def __len__(self) -> int:
        """Return the number of runs, or the number of trials so far if the plan is a search."""
        if self.experiment.searched:
            return len(self._trials)
        added = sum(
            repeat.replicates * len(chosen or self.configurations) for repeat, chosen in self._added
        )
        return self._count + self._profiled * len(self.configurations) + added

    @property
    def replicates(self) -> tuple[int, int]:
        """The minimum and maximum number of runs of a configuration, not valid for coin-flips."""
        more = sum(added.replicates for added, _ in self._added)
        least = sum(added.replicates for added, chosen in self._added if not chosen)
        return (min(self._often) if self._often else self._blocks) + least, self._blocks + more

    def extended(self, replicates: int, seed: int, chosen: Sequence[int] = ()) -> Plan:
        """Return the plan with `replicates` more runs of each configuration after all others.

        `chosen` holds the numbers (from 1) of the configurations to repeat; empty means all.
        """
        count = len(self.configurations)
        if wrong := [number for number in chosen if number > count]:
            raise InputError(f"there is no configuration {wrong[0]}; there are {count}")
        order = self.experiment.repeat.order
        if self.experiment.searched:
            raise InputError(
                "a search has as many trials as it needs; run the experiment again with more "
                "`replicates`"
            )
        if order == "coin-flips":
            raise InputError(
                "with coin-flips chance decides how often each configuration runs: there is no "
                "block to add; run the experiment again with more `runs`"
            )
        plan = copy.copy(self)
        places = tuple(number - 1 for number in chosen)
        plan._added = (*self._added, (Repeat(replicates, order, seed), places))
        if len(plan) > RUN_LIMIT:
            raise InputError(f"makes {len(plan):,} runs; the limit is {RUN_LIMIT:,}")
        return plan

    def as_begun(self) -> Plan:
        """Return the plan as it was before `extended`."""
        plan = copy.copy(self)
        plan._added = ()
        return plan

    def _with_profiled(self, block: int) -> range | array[int]:
        """Return the runs of a block: its configurations, then its share of profiled runs."""
        bare, every = self._block(block), len(self.configurations)
        before, now = (n * self._profiled // self._blocks for n in (block - 1, block))
        if before == now:
            return bare
        return array("I", itertools.chain(bare, [*range(every, 2 * every)] * (now - before)))

    def profiled_runs(self) -> int:
        if not self._profiled or not self.skipped:
            return self._profiled * len(self.configurations)
        return sum(1 for run in self.runs() if run.profiled and not self.skip_reason(run.values))

    def _block(self, block: int) -> range | array[int]:
        """Return the configurations of a block; the runs of each spread evenly over the blocks."""
        if not self._often:
            return range(len(self.configurations))
        return array(
            "I",
            (
                number
                for number, often in enumerate(self._often)
                if block * often // self._blocks > (block - 1) * often // self._blocks
            ),
        )

    def runs(self, first: int = 1) -> Iterator[Run]:
        if self.experiment.searched:
            yield from (r for r in self._trials or self.searches() if r.number >= first)
        else:
            yield from self._expanded(first)

    def _expanded(self, first: int = 1) -> Iterator[Run]:
        """Yield the runs from number `first`. A search has two: at its lowest and highest load."""
        order = itertools.islice(self._order(), first - 1, None)
        for number, (block, chosen) in enumerate(order, first):
            profiled, place = divmod(chosen, len(self.configurations))
            configuration = self._configuration(place)
            yield Run(
                *(number, block, configuration.config, configuration.values),
                bool(profiled) if self._profiled else None,
            )

    def with_trials(self, trials: Iterable[Run]) -> Plan:
        plan = copy.copy(self)
        plan._trials = tuple(trials)
        return plan

    def searches(self) -> list[Run]:
        """Return each search in order as its first trial, which is at the highest load."""
        of, high = self.experiment.searched, search.limits(self.experiment.around["search"])[1]
        runs = (run for run in self._expanded() if run.values[of] == high)
        return [dataclasses.replace(run, number=number) for number, run in enumerate(runs, 1)]

    def trial(self, of_search: Run, load: int, number: int) -> Run:
        derived = self.experiment.derived
        given = {name: v for name, v in of_search.values.items() if name not in derived}
        given[self.experiment.searched] = load
        assert isinstance(self.configurations, Configurations)
        config, values, _ = self.configurations.at(given)
        return Run(number, of_search.block, config, values)

    def skip_reason(self, values: Values) -> str:
        """Return why the runs of a configuration are skipped, "" if they are not."""
        if not self.skipped:
            return ""
        return self.skipped.get(resolution.tool_of(self.experiment, values), "")

    def skipped_runs(self) -> Counter[str]:
        """Return the number of skipped runs of each tool."""
        if not self.skipped:
            return Counter()
        tools = (resolution.tool_of(self.experiment, run.values) for run in self.runs())
        return Counter(tool for tool in tools if tool in self.skipped)

    def write_csv(self, file: IO[str]) -> int:
        columns = self.configurations.columns
        last = [*(["profiled"] if self._profiled else []), *(["skip"] if self.skipped else [])]
        file.write(",".join(("run", "block", "config", *columns, *last)) + "\n")
        if self.experiment.searched:  # the trials are in the journal
            return 0
        make = self._configuration
        comma = "," if columns else ""
        for number, (block, chosen) in enumerate(self._order(), 1):
            profiled, place = divmod(chosen, len(self.configurations))
            config, values, cells = make(place)
            mark = f",{cell(bool(profiled))}" if self._profiled else ""
            why = f",{cell(self.skip_reason(values))}" if self.skipped else ""
            file.write(f"{number},{block},{config}{comma}{cells}{mark}{why}\n")
        return len(self)

    def seconds(self, groups: Mapping[str, str] | None = None, at_once: int = 0) -> float:
        """Return the approximate seconds that the plan takes, from the tools' estimates."""
        raise_all(self._setups.errors())
        if self.experiment.mesh:
            runs = [
                run
                for run in itertools.islice(self.runs(), _KEPT)
                if not self.skip_reason(run.values)
            ]
            taken = dispatch.makespan([*self.jobs(runs)], groups, at_once)
            return taken * len(self) / min(_KEPT, len(self))
        total, weight = 0.0, 0
        for number in self._setups.sample():
            often = self._often[number] if self._often else 1
            weight += often
            setup = self.setup(self._configuration(number).values)
            if setup.tool not in self.skipped:
                seconds = tool(setup.tool).seconds(setup.options) + setup.around.extra_seconds
                total += (seconds + OVERHEAD) * often
        often = len(self.searches()) * TRIALS if self.experiment.searched else len(self)
        return total / weight * often

    def setup(self, values: Values) -> Setup:
        """Return the resolved setup of a configuration; equal setups are resolved once."""
        setup = self._setups.for_values(values)
        return pairs.at(setup, values) if self.experiment.mesh else setup

    def setups(self) -> Iterator[Setup]:
        """Yield each different setup once, with all hosts of a mesh as its roles."""
        seen = set()
        for number in range(len(self.configurations)):
            setup = self._setups.for_values(self._configuration(number).values)
            if id(setup) not in seen and setup.tool not in self.skipped:
                of = self.experiment.mesh
                yield pairs.everywhere(setup, of) if of else setup
            seen.add(id(setup))

    def leaving_out(self, skipped: Mapping[str, str]) -> Plan:
        """Return the plan with the runs of tools skipped; `skipped` maps a tool to the reason."""
        plan = copy.copy(self)
        plan.skipped = dict(skipped)
        return plan

    def among(self, hosts: Collection[str]) -> Plan:
        plan = copy.copy(self)
        of = self.experiment.mesh
        plan.experiment = dataclasses.replace(self.experiment, mesh=of and of.among(hosts))
        return plan

    def _order(self) -> Iterator[tuple[int, int]]:
        yield from self._ordered(self.experiment.repeat, self._blocks, self._with_profiled)
        before = self._blocks
        for added, chosen in self._added:
            places = array("I", chosen) if chosen else range(len(self.configurations))
            for block, number in self._ordered(
                added, added.replicates, partial(_same_places, places)
            ):
                yield (1 if added.order == "shuffled" else before + block), number
            before += added.replicates

    def _ordered(
        self, repeat: Repeat, count: int, blocks: ordering.Blocks
    ) -> Iterator[ordering.Row]:
        if self.experiment.mesh:
            return ordering.mesh_rows(repeat, count, blocks, self._round_key)
        return ordering.rows(repeat, count, blocks, self._count, len(self.configurations))

    def _round_key(self, block: int, number: int) -> tuple[Any, tuple[str, str]]:
        """Return what two runs must share to be in one round, and the run's pair of hosts."""
        number %= len(self.configurations)
        values = self._configuration(number).values
        pair = (str(values[Mesh.SENDER]), str(values[Mesh.RECEIVER]))
        return (block, self.configurations.kind(number, Mesh.SENDER)), pair  # type: ignore[union-attr]

    def round_count(self) -> int:
        block = itertools.takewhile(lambda run: run.block == 1, self.runs())
        pairs = ((run.values[Mesh.SENDER], run.values[Mesh.RECEIVER]) for run in block)
        return max(rounds.numbered(pairs), default=0)

    def jobs(self, runs: Iterable[Run]) -> Iterator[workload.Job]:
        for run in runs:
            setup = self._setups.for_values(run.values)
            seconds = (
                tool(setup.tool).seconds(setup.options) + setup.around.extra_seconds + OVERHEAD
            )
            hosts = (str(run.values[Mesh.SENDER]), str(run.values[Mesh.RECEIVER]))
            yield workload.Job(hosts, seconds, run)
