"""Resolved setups of an experiment's configurations, cached, and the errors in their options."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator

from netlimits.errors import DocumentError
from netlimits.experiment import expressions, resolution
from netlimits.experiment.configurations import Configurations
from netlimits.experiment.duet import Interleaved
from netlimits.experiment.schema import WHEN
from netlimits.model import Experiment, Setup, Values

SAMPLE = 1_000
RUN_LIMIT = 1_000_000_000
"""Three weeks of a thousand hosts in runs of a second each; more is a slip of the pen."""


class Setups:
    """The setups of configurations; those with the same looked-up values are resolved once."""

    def __init__(
        self, experiment: Experiment, configurations: Configurations | Interleaved
    ) -> None:
        self.experiment = experiment
        self.configurations = configurations
        self._looked_up = sorted(resolution.looked_up(experiment))
        self._resolved: dict[tuple[str, ...], Setup] = {}

    def of(self, values: Values) -> Setup:
        key = tuple(repr(values.get(name)) for name in self._looked_up)
        if key not in self._resolved:
            self._resolved[key] = resolution.setup(self.experiment, values)
        return self._resolved[key]

    def errors(self, *, removable: bool = False) -> list[DocumentError]:
        """Return the errors in options, each for the first configuration that shows it.

        A factor's value that does not suit may be a mistake of its own, so that each counts. With
        `removable` only errors that every configuration shows count.
        """
        faults: dict[str, dict[str, DocumentError]] = {}
        often: Counter[str] = Counter()
        for number in self.sample():
            try:
                self.of(self.configurations.configuration(number).values)
            except DocumentError as error:
                for fault in error.errors:
                    faults.setdefault(fault.key, {}).setdefault(fault.problem, fault)
                often.update({fault.key for fault in error.errors})
        errors: list[DocumentError] = []
        for key, every in faults.items():
            first, *others = every.values()
            if often[key] == len(self.configurations):
                errors.append(first)
            elif not removable:
                several = self._is_a_factors(first)
                errors += [first, *(e for e in others if several and self._is_a_factors(e))]
        return errors if errors or removable else [*self._never_set()]

    def _is_a_factors(self, error: DocumentError) -> bool:
        """Return True if the value at fault is a factor's, as written in the file."""
        match = re.search(r"\(where (\w+) = [^,]*\)$", error.problem)
        return match is not None and match[1] not in self.experiment.derive

    def _never_set(self) -> Iterator[DocumentError]:
        """Yield an error for each condition of settings that no configuration fulfils."""
        if len(self.sample()) < len(self.configurations) or self.experiment.sides:
            return
        waiting = {use.entry: use for use in self.experiment.settings if use.when}
        for configuration in self.configurations if waiting else ():
            for entry, use in [*waiting.items()]:
                if resolution.applies(use, configuration.values):
                    del waiting[entry]
            if not waiting:
                return
        where = resolution.source(self.experiment)
        for entry, use in waiting.items():
            problem = f"{expressions.quoted(use.when)} holds for no configuration; correct it"
            yield where.error(f"{problem} or leave the entry out", "settings", entry, WHEN)

    def sample(self) -> range:
        """Return the numbers of some configurations, spread evenly."""
        every = len(self.configurations)
        return range(0, every, max(1, math.ceil(every / SAMPLE)))


def replicates(experiment: Experiment, configurations: Configurations | Interleaved) -> array[int]:
    """How often each configuration runs, where they differ; else empty. Raises DocumentError."""
    by = experiment.repeat.replicates_by
    often = array("I")
    for configuration in configurations if by else ():
        value = configuration.values[by]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            problem = f"{by} is {expressions.shown(value)}, and must be a whole number from 1"
            raise resolution.source(experiment).error(problem, "repeat", "replicates")
        often.append(min(value, RUN_LIMIT + 1))
    return often
