"""The schedule of searches: one after the other, one trial at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from netlimits.archive import records
from netlimits.archive.logbook import SearchTrials, searches
from netlimits.campaign import schedule
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.progress import Progress, Tally
from netlimits.campaign.session import Session
from netlimits.errors import InputError
from netlimits.experiment import search
from netlimits.experiment.plan import TRIALS
from netlimits.model import Record
from netlimits.model.searches import Bounds


def every_search(session: Session, stop: Stop, on_progress: Callable[[Progress], None]) -> Progress:
    """Carry out every search of the plan that is not over, on the hosts of an open session."""
    known = records.records(session.archive)
    every = searches(session.plan, known)
    number = max((record.run.number for record in known), default=0)
    tally = _tally(session, every)
    on_progress(progress := tally.progress())
    for each in every:
        while not isinstance(load := each.advance(), Bounds):
            pending = each.interrupted(load)
            if pending is None:
                number += 1
            run = pending.run if pending else session.plan.trial(each.of, load, number)
            before = pending.attempt if pending else 0
            record = schedule.carry_out(session, stop, run, before, tally, on_progress)
            session.archive.roll()
            each.records[run.number] = record
            tally = _tally(session, every)
            on_progress(progress := tally.progress(record))
            _refuse_unmeasured(session, record)
    return progress


def _tally(session: Session, every: list[SearchTrials]) -> Tally:
    """Return a tally with the outcomes of all trials, and an estimate of the trials left."""
    outcomes: Counter[str] = Counter()
    pending = 0
    for each in every:
        statuses = [r.status for r in each.records.values() if r.status != "interrupted"]
        outcomes.update(statuses)
        if not isinstance(each.advance(), Bounds):
            pending += max(1, TRIALS - len(statuses))
    seconds = session.specification(every[0].of).seconds if every else 0.0
    return Tally(outcomes, pending, pending * seconds)


def _refuse_unmeasured(session: Session, record: Record) -> None:
    """Raise InputError for a trial without the figure of a bound."""
    around = session.specification(record.run).around
    if record.status != "ok" or around.search is None:
        return
    if names := search.lacking(around.search, record.figures):
        raise InputError(
            f"search.{names[0]}: the runs measure no {names[0]}; leave it out, or take a tool that "
            "does"
        )
