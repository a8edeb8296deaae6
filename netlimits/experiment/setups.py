"""Resolved setups of an experiment's configurations, cached, and the errors in their options."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

from netlimits.errors import DocumentError
from netlimits.experiment import expressions, resolution
from netlimits.experiment.configurations import Configurations
from netlimits.experiment.duet import Interleaved
from netlimits.experiment.schema import WHEN
from netlimits.model import Experiment, Setup, Values

SAMPLE = 1_000
"""Maximum number of configurations whose options are checked."""


class Setups:
    """The setups of configurations; each combination of looked-up values is resolved once."""

    def __init__(
        self, experiment: Experiment, configurations: Configurations | Interleaved
    ) -> None:
        self.experiment = experiment
        self.configurations = configurations
        self._looked_up = sorted(resolution.looked_up(experiment))
        self._resolved: dict[tuple[str, ...], Setup] = {}

    def for_values(self, values: Values) -> Setup:
        key = tuple(repr(values.get(name)) for name in self._looked_up)
        if key not in self._resolved:
            self._resolved[key] = resolution.setup(self.experiment, values)
        return self._resolved[key]

    def errors(self, stays: Callable[[int], bool] | None = None) -> list[DocumentError]:
        """Return the errors in options, each for the first configuration that shows it.

        `stays` returns True for the number of a configuration that is certain to remain in the
        plan. With it, an error is returned only if such a configuration has the error, or all
        configurations have it. Without it, conditions of settings that never hold are errors too,
        if there are no others.
        """
        faults: dict[str, dict[str, DocumentError]] = {}
        often: Counter[str] = Counter()
        sure: set[str] = set()
        for number in self.sample():
            try:
                self.for_values(self.configurations.configuration(number).values)
            except DocumentError as error:
                stay = stays is None or stays(number)
                for fault in error.errors:
                    known = faults.setdefault(fault.key, {})
                    if stay and fault.key not in sure:
                        known.clear()  # report the first configuration that is sure to stay
                        sure.add(fault.key)
                    if stay or fault.key not in sure:
                        known.setdefault(fault.problem, fault)
                often.update({fault.key for fault in error.errors})
        count = len(self.configurations)
        errors: list[DocumentError] = []
        for key, every in faults.items():
            first, *others = every.values()
            if key in sure or often[key] == count:
                values = [each for each in others if self._is_a_factors(each)]
                errors += [
                    first,
                    *(values if often[key] < count and self._is_a_factors(first) else []),
                ]
        return errors if errors or stays is not None else [*self._never_set()]

    def _is_a_factors(self, error: DocumentError) -> bool:
        """Return True if the error is caused by the value of a single factor."""
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
        """Return the numbers of at most SAMPLE configurations, spread evenly."""
        every = len(self.configurations)
        return range(0, every, max(1, math.ceil(every / SAMPLE)))
