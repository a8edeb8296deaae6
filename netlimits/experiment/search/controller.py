"""The next load of a search, chosen by FD.io's MLRsearch (draft-ietf-bmwg-mlrsearch).

MLRsearch calls a function that measures. It is called anew after each trial, with a function that
returns the results so far: so a search is a function of its trials, and can be resumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netlimits.errors import ArchiveError
from netlimits.model import Search
from netlimits.model.searches import Bounds, SearchTrial, bounds

_PACKETS = 10**9
"""Packets of a trial for MLRsearch, which takes whole numbers: shares are exact to this many."""

PRECEDING = 1
"""Coarser searches before the last one. Two took a trial more behind 60 simulated caps."""

_FOREVER = 1e9
"""Seconds that a search may take for MLRsearch, whose clock knows nothing of an interruption."""


class _Next(Exception):
    """The load of a trial that was not measured yet."""

    def __init__(self, load: int) -> None:
        super().__init__(load)
        self.load = load


def advance(search: Search, trials: Sequence[SearchTrial]) -> int | Bounds:
    """Return the load of the next trial, or the result if the search is over."""
    from MLRsearch import (
        AbstractMeasurer,
        Config,
        MeasurementResult,
        MultipleLossRatioSearch,
        SearchGoal,
    )

    left = iter(trials)

    class Replay(AbstractMeasurer):  # type: ignore[misc]  # it ships no types
        def measure(self, intended_duration: float, intended_load: float) -> Any:
            load = round(intended_load)
            trial = next(left, None)
            if trial is None:
                raise _Next(load)
            if trial.load != load:
                raise ArchiveError(
                    f"a trial was at {trial.load:g} where the search asks for {load}: another "
                    "version made it; start a new campaign"
                )
            return MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=_PACKETS,
                loss_count=round(min(1.0, trial.missed) * _PACKETS),
            )

    goal = SearchGoal(
        loss_ratio=0.0,
        exceed_ratio=0.5 if search.trials > 1 else 0.0,
        relative_width=search.width,
        initial_trial_duration=1.0,
        final_trial_duration=1.0,
        duration_sum=float(search.trials),
        preceding_targets=PRECEDING,
        expansion_coefficient=2,
        fail_fast=False,
    )
    config = Config(
        goals=[goal],
        min_load=float(search.low),
        max_load=float(search.high),
        search_duration_max=_FOREVER,
        warmup_duration=None,
    )
    try:
        MultipleLossRatioSearch(config=config).search(Replay(), debug=lambda _: None)
    except _Next as trial:
        return trial.load
    return bounds(trials, search.trials)
