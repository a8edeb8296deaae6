"""A search for the highest load at which a path stays within bounds of loss and latency."""

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
"""Columns that a run has if it is a trial of a search.

OF is the name of the factor that is searched, and LOAD is its value in this trial. TRIALS is the
maximum number of trials at a load. WHY names the bound of loss or latency that the trial exceeded
most. MISSED is the percentage by which it exceeded this bound, 0 if the load held.
"""


@dataclass(frozen=True, slots=True)
class Search:
    """The options of a search, and the load of one configuration.

    Attributes:
        of: Name of the factor whose values are the loads.
        load: Load of this configuration.
        low: Lowest load to try.
        high: Highest load to try.
        loss_pct: Upper bound of the loss in percent. None means 0 if the tool reports the loss, or
            else no bound.
        latency_us: Column of a latency -> its upper bound in µs.
        width: Precision of the result. The search ends when the highest load that holds and the
            lowest load that does not differ by at most this share.
        trials: Maximum number of trials at a load. Their majority decides whether the load holds.
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
    """A trial of a search at `load`.

    `missed` is the share by which the trial exceeded a bound of loss or latency, 0 if the load
    held. `why` names this bound.
    """

    load: float
    missed: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The result of a search.

    `missed` is the lowest load that did not hold. `held` is the highest load below `missed` that
    held. Each is None if there is no such load. `why` names the bound that trials at `missed`
    exceeded most often.
    """

    held: float | None
    missed: float | None
    why: str = ""


def counted(attempts: Iterable[tuple[float, str, float | None, str]]) -> Iterator[SearchTrial]:
    """Yield the trials that count, from the (load, status, missed share, reason) of all attempts.

    A trial that fails does not count, and it is repeated. If two trials in a row fail at the same
    load, they count as one trial in which the load did not hold. The reason is that an overloaded
    path may break the control connection of the tool.
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
    """Return the result of the trials.

    A load holds, or does not, if more than half of `decides` trials say so. Other loads are open.
    """
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
