"""A search for the highest load that a path carries within bounds, and its trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

OF, LOAD, TRIALS, MISSED, WHY = (
    "search_of",
    "search_load",
    "search_trials",
    "search_missed_pct",
    "search_why",
)
"""Columns of a trial: the factor that is searched, its value, the trials that decide a load, by
how many percent the trial missed its worst bound (0 if the load held), and that bound."""


@dataclass(frozen=True, slots=True)
class Search:
    """The options of a search, with the load of one configuration.

    Attributes:
        of: The name that stands for the load in `${…}`.
        load: The load of this configuration.
        low: The lowest load.
        high: The highest load.
        loss_pct: The highest loss. None (not given) allows no loss, if the tool reports it.
        latency_us: Column of a latency -> its bound in µs.
        width: The relative distance of the highest load that holds from the lowest that does not.
        trials: Number of trials whose majority decides a load.
    """

    of: str
    load: int
    low: int
    high: int
    loss_pct: float | None = None
    latency_us: Mapping[str, float] = field(default_factory=dict)
    width: float = 0.01
    trials: int = 3


@dataclass(frozen=True, slots=True)
class SearchTrial:
    """A trial at a `load`; `missed` is the share by which it missed a bound, 0 if it held."""

    load: float
    missed: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The highest load that held, and the lowest that did not; None if there is none.

    `why` names the bound that the trials at `missed` exceeded most often.
    """

    held: float | None
    missed: float | None
    why: str = ""


def counted(attempts: Iterable[tuple[float, str, float | None, str]]) -> Iterator[SearchTrial]:
    """Yield the trials that count, from the (load, status, missed share, reason) of all runs.

    A run without figures is repeated. If it fails twice in a row, the load did not hold: an
    overloaded path may cut off the tool's own control connection.
    """
    failed: float | None = None
    for load, status, missed, why in attempts:
        if status == "ok" and missed is not None:
            failed = None
            yield SearchTrial(load, missed, why)
        elif failed == load:
            failed = None
            yield SearchTrial(load, 1.0, why)
        else:
            failed = load


def bounds(trials: Iterable[SearchTrial], decides: int) -> Bounds:
    """Return the bounds that the trials give, if a majority of `decides` trials decides a load."""
    by_load: defaultdict[float, list[SearchTrial]] = defaultdict(list)
    for trial in trials:
        by_load[trial.load].append(trial)
    majority = decides // 2 + 1

    def decided(good: bool) -> Sequence[float]:
        return [
            load
            for load, those in by_load.items()
            if sum((trial.missed == 0) is good for trial in those) >= majority
        ]

    missed = min(decided(good=False), default=None)
    held = max((x for x in decided(good=True) if missed is None or x < missed), default=None)
    reasons = [t.why for t in by_load[missed] if t.why] if missed is not None else []
    return Bounds(held, missed, max(reasons, key=reasons.count, default=""))
