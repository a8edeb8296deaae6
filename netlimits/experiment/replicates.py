"""The number of runs of each configuration, if `replicates` is `${name}`."""

from __future__ import annotations

from array import array

from netlimits.experiment import expressions, resolution
from netlimits.experiment.configurations import Configurations
from netlimits.experiment.duet import Interleaved
from netlimits.model import Experiment

RUN_LIMIT = 1_000_000_000
"""Maximum number of runs: 1000 hosts need three weeks for as many runs of 1 s."""


def per_configuration(
    experiment: Experiment, configurations: Configurations | Interleaved
) -> array[int]:
    """Return the number of runs of each configuration, or an empty array if all have the same.

    Raises DocumentError if a number is invalid.
    """
    by = experiment.repeat.replicates_by
    often = array("I")
    for configuration in configurations if by else ():
        value = configuration.values[by]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            problem = f"{by} is {expressions.shown(value)}, and must be a whole number from 1"
            raise resolution.source(experiment).error(problem, "repeat", "replicates")
        often.append(min(value, RUN_LIMIT + 1))
    return often
