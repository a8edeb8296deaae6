"""The schedules of one pair: the plan's runs, or the trials of searches, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from netlimits.archive import records
from netlimits.archive.logbook import SearchTrials, searches
from netlimits.archive.records import Outcomes
from netlimits.campaign import attempt
from netlimits.campaign.attempt import ATTEMPTS
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.progress import Progress, Tally
from netlimits.campaign.session import Session
from netlimits.errors import InputError
from netlimits.experiment import search
from netlimits.experiment.plan import TRIALS, Plan
from netlimits.model import Record, Run
from netlimits.model.searches import Bounds


def in_order(session: Session, stop: Stop, on_progress: Callable[[Progress], None]) -> Progress:
    """Carry out every run of the plan that has no outcome yet, on the hosts of an open session."""
    before = records.outcomes(session.archive)
    count, seconds = 0, 0.0
    for run in pending(session.plan, before):  # an iterator: a plan may have a million runs
        count += 1
        seconds += session.specification(run).seconds
    tally = Tally(before.counts, count, seconds)
    on_progress(progress := tally.progress())
    for run in pending(session.plan, before):
        record = carry_out(
            session, stop, run, before.attempts.get(run.number, 0), tally, on_progress
        )
        session.archive.roll()
        tally.add(record, session.specification(run).seconds, record.duration_s)
        on_progress(progress := tally.progress(record))
    return progress


def pending(plan: Plan, before: Outcomes) -> Iterator[Run]:
    for run in plan.runs(min([before.first_left, *before.configurations])):
        if run.number in before.configurations:
            before.check(run)
        if run.number not in before and not plan.skip_reason(run.values):
            yield run


def carry_out(
    session: Session,
    stop: Stop,
    run: Run,
    before: int,
    tally: Tally,
    on_progress: Callable[[Progress], None],
) -> Record:
    """Repeat a run until it has an outcome; reconnect to lost hosts before each attempt."""
    for number in range(before + 1, before + 1 + ATTEMPTS):
        stop.check()
        for role in session.lost(session.hosts):  # a host that stays lost ends the campaign
            session.connect_again(role, stop.interruptible)
        last = number == before + ATTEMPTS
        record = attempt.carry_out(
            attempt.context(session, stop, session.hosts.keys(), run, number, last)
        )
        if record.status != "interrupted":
            break
        on_progress(tally.progress(record))
    return record


def every_search(session: Session, stop: Stop, on_progress: Callable[[Progress], None]) -> Progress:
    """Carry out every unfinished search of the plan, on the hosts of an open session."""
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
            record = carry_out(session, stop, run, before, tally, on_progress)
            session.archive.roll()
            each.records[run.number] = record
            tally = _tally(session, every)
            on_progress(progress := tally.progress(record))
            _refuse_unmeasured(session, record)
    return progress


def _tally(session: Session, every: list[SearchTrials]) -> Tally:
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
    """Raise InputError if a trial did not measure a metric that the search limits."""
    around = session.specification(record.run).around
    if record.status != "ok" or around.search is None:
        return
    if names := search.lacking(around.search, record.figures):
        raise InputError(
            f"search.{names[0]}: the runs measure no {names[0]}; leave it out, or use a tool that "
            "measures it"
        )
