"""The next load of a search, chosen by FD.io's MLRsearch (draft-ietf-bmwg-mlrsearch).

MLRsearch calls a function that measures. After each trial, `advance` starts MLRsearch from the
beginning, with a function that returns the results so far. So a search depends on its trials only,
and can resume.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netlimits.errors import ArchiveError
from netlimits.model import Search
from netlimits.model.searches import Bounds, SearchTrial, bounds

_PACKETS = 10**9
"""Packets that MLRsearch is told each trial had. A loss is rounded to a whole number of these."""

PRECEDING = 1
"""Number of coarser searches before the last one. With two, simulations took one more trial."""

_FOREVER = 1e9
"""MLRsearch's time limit in seconds: no limit, since its clock would also count interruptions."""


class _Next(Exception):
    """Raised to leave MLRsearch; holds the load of a trial that has not been measured yet."""

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
                    f"the archive has a trial at {trial.load:g}, but the search needs {load} next: "
                    "another version measured it; start a new campaign"
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
