"""What the configurations of an experiment set and measure, and the errors in their options."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from netlimits.errors import DocumentError
from netlimits.experiment import expressions, resolution
from netlimits.experiment.configurations import Configurations
from netlimits.experiment.schema import WHEN
from netlimits.model import Experiment, Setup, Values

SAMPLE = 1_000


class Setups:
    """The setup of each configuration, resolved once for all that look up the same."""

    def __init__(self, experiment: Experiment, configurations: Configurations) -> None:
        self.experiment = experiment
        self.configurations = configurations
        self._looked_up = sorted(resolution.looked_up(experiment))
        self._resolved: dict[tuple[str, ...], Setup] = {}

    def of(self, values: Values) -> Setup:
        """What a configuration sets and measures. Raises DocumentError as `resolution.setup`."""
        key = tuple(repr(values.get(name)) for name in self._looked_up)
        if key not in self._resolved:
            self._resolved[key] = resolution.setup(self.experiment, values)
        return self._resolved[key]

    def errors(self, *, of_all: bool = False) -> list[DocumentError]:
        """The errors in options, each for the first configuration that shows it.

        The options of every configuration are held against their tool and settings; of plans
        beyond SAMPLE configurations, as many, spread evenly. With `of_all`, only errors that every
        configuration shows; none where there are too many to look at each.
        """
        first: dict[str, DocumentError] = {}
        often: Counter[str] = Counter()
        for number in self.sample():
            try:
                self.of(self.configurations.configuration(number).values)
            except DocumentError as error:
                for fault in error.errors:
                    first.setdefault(fault.key, fault)
                often.update({fault.key for fault in error.errors})
        count = len(self.configurations)
        faults = [error for key, error in first.items() if not of_all or often[key] == count]
        return faults if of_all or faults else [*self._never_set()]

    def _never_set(self) -> Iterator[DocumentError]:
        """An error for each condition of settings that no configuration fulfils."""
        if len(self.sample()) < len(self.configurations):
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
        """The numbers of some configurations, spread evenly."""
        every = len(self.configurations)
        return range(0, every, max(1, math.ceil(every / SAMPLE)))
