"""The schedule of one pair: the plan's runs in their order, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from netlimits.archive import records
from netlimits.archive.records import Outcomes
from netlimits.campaign import attempt
from netlimits.campaign.attempt import ATTEMPTS
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.progress import Progress, Tally
from netlimits.campaign.session import Session
from netlimits.experiment.plan import Plan
from netlimits.model import Record, Run

KEPT = 1000
"""Pending runs that are kept rather than drawn again: memory does not grow with their number."""


def in_order(session: Session, stop: Stop, on_progress: Callable[[Progress], None]) -> Progress:
    """Carry out every run of the plan that has no outcome yet, on the hosts of an open session."""
    before = records.outcomes(session.archive)
    runs, draw_again = cached(lambda: pending(session.plan, before))
    count, seconds = 0, 0.0
    for run in runs:  # a stream: a plan may have a million
        count += 1
        seconds += session.specification(run).seconds
    tally = Tally(before.counts, count, seconds)
    on_progress(progress := tally.progress())
    for run in draw_again():
        record = carry_out(
            session, stop, run, before.attempts.get(run.number, 0), tally, on_progress
        )
        session.archive.roll()
        tally.add(record, session.specification(run).seconds, record.duration_s)
        on_progress(progress := tally.progress(record))
    return progress


def pending(plan: Plan, before: Outcomes) -> Iterator[Run]:
    """Yield the planned runs that have no outcome yet, in their order."""
    for run in plan.runs(min([before.first_left, *before.configurations])):
        if run.number in before.configurations:
            before.check(run)
        if run.number not in before and not plan.skip(run.values):
            yield run


def cached(draw: Callable[[], Iterator[Run]]) -> tuple[Iterator[Run], Callable[[], Iterable[Run]]]:
    """Return the runs that `draw` yields, and a factory that iterates over them again."""
    runs = draw()
    known = [*itertools.islice(runs, KEPT)]
    more = [*itertools.islice(runs, 1)]
    if more:
        return itertools.chain(known, more, runs), draw
    return iter(known), lambda: known


def carry_out(
    session: Session,
    stop: Stop,
    run: Run,
    before: int,
    tally: Tally,
    on_progress: Callable[[Progress], None],
) -> Record:
    """Attempt a run until it has an outcome, on hosts that are connected again if need be."""
    for number in range(before + 1, before + 1 + ATTEMPTS):
        stop.check()
        for role in session.lost(session.hosts):  # one gone for good ends the campaign
            session.connect_again(role, stop.interruptible)
        last = number == before + ATTEMPTS
        record = attempt.carry_out(
            attempt.context(session, stop, session.hosts.keys(), run, number, last)
        )
        if record.status != "interrupted":
            break
        on_progress(tally.progress(record))
    return record
