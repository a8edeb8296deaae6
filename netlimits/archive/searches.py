"""The searches of a campaign and their trials: which load is next, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from netlimits.experiment import search
from netlimits.experiment.plan import Plan
from netlimits.experiment.search import controller
from netlimits.model import Record, Run
from netlimits.model.searches import MISSED, WHY, Bounds, SearchTrial, counted


@dataclass(slots=True)
class SearchTrials:
    """A search as its first trial, and the last attempt at each of its trials."""

    of: Run
    options: dict[str, Any]
    records: dict[int, Record] = field(default_factory=dict)

    @property
    def trials(self) -> list[SearchTrial]:
        """The trials that count, in their order."""
        name = self.options["of"]
        return [
            *counted(
                (
                    float(r.run.values[name] or 0),
                    r.status,
                    _share(r.figures.get(MISSED)),
                    str(r.figures.get(WHY, "") or r.reason),
                )
                for _, r in sorted(self.records.items())
                if r.status != "interrupted"
            )
        ]

    def advance(self) -> int | Bounds:
        """Return the load of the next trial, or the result. Raises ArchiveError."""
        return controller.advance(search.read(self.options, 0), self.trials)

    def interrupted(self, load: int) -> Record | None:
        """Return the trial at a load that has no outcome yet."""
        name = self.options["of"]
        waiting = (r for r in self.records.values() if r.status == "interrupted")
        return next((r for r in waiting if r.run.values[name] == load), None)


def searches(plan: Plan, records: Iterable[Record]) -> list[SearchTrials]:
    """Return all searches of a plan in their order, with the trials among these records."""
    experiment = plan.experiment
    options = dict(experiment.around["search"])
    own_columns = {experiment.searched, *experiment.derived}

    def key(run: Run) -> tuple[object, ...]:
        given = ((n, repr(v)) for n, v in run.values.items() if n not in own_columns)
        return run.block, *sorted(given)

    every = {
        key(run): SearchTrials(run, options) for run in plan.searches() if not plan.skip(run.values)
    }
    for record in records:
        if known := every.get(key(record.run)):
            before = known.records.get(record.run.number)
            if before is None or before.attempt <= record.attempt:
                known.records[record.run.number] = record
    return list(every.values())


def unfinished(known: Sequence[SearchTrials]) -> int:
    """Return the number of searches that are not over."""
    return sum(not isinstance(each.advance(), Bounds) for each in known)


def _share(percent: Any) -> float | None:
    return None if percent is None else float(percent) / 100
