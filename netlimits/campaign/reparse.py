"""Raw output read again: for `netlimits parse`, when a reader learned something.

Of a campaign with parts, a part after another, on all cores, so that no more is held than the
attempts of a part for each of them.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from netlimits.archive import parts, reader, records
from netlimits.archive.journal import Head
from netlimits.archive.raw import RawEntry
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields
from netlimits.campaign import interpret, specifications
from netlimits.campaign.controller import controller_figures, kept_cost
from netlimits.campaign.specifications import Specification
from netlimits.errors import ToolFailure
from netlimits.model import Record

Again = tuple[int, list[dict[str, Any]]]
"""How many attempts were read, and the `parsed` events of those that changed."""


def reparse(campaign: Campaign) -> tuple[int, int]:
    """Read every attempt's raw output again; returns how many were read and how many changed.

    The journal must be locked. An attempt whose tool never ran stays as it is.
    """
    read = changed = 0
    of_parts = campaign.archive.parts()
    if of_parts and parts.apart(of_parts, campaign.archive.tally(of_parts)):
        results = _on_all_cores(campaign, [*(part.begin for part in of_parts), of_parts[-1].end])
    else:
        results = iter([_again(campaign, campaign.records())])
    for count, events in results:
        read += count
        changed += len(events)
        for event in events:
            campaign.archive.append("parsed", **event)
    return read, changed


def _on_all_cores(campaign: Campaign, begins: list[Head]) -> Iterator[Again]:
    """The same of the stretches that begin at these places, in their order."""
    end = campaign.archive.journal.head.size
    ends = [*(head.size for head in begins[1:]), end]
    jobs = [(campaign.path, begin, size) for begin, size in zip(begins, ends, strict=True)]
    cores = os.cpu_count() or 1
    spawn = multiprocessing.get_context("spawn")  # a fork would share the journal's lock
    with ProcessPoolExecutor(cores, spawn) as pool:
        for first in range(0, len(jobs), cores):  # no more than these wait to be written
            yield from pool.map(_of_stretch, jobs[first : first + cores])


def _of_stretch(job: tuple[Path, Head, int]) -> Again:
    path, begin, end = job
    campaign = _opened(path)
    return _again(campaign, records.between(campaign.archive, begin, end))


@lru_cache(maxsize=1)
def _opened(path: Path) -> Campaign:
    return reader.open(path)


def _again(campaign: Campaign, attempts: Iterable[Record]) -> Again:
    read, events = 0, []
    for record in attempts:
        if record.status == "interrupted":
            continue
        entries = campaign.archive.read_raw(record.run.number, record.attempt, record.raw)
        if not interpret.has_client(entries):
            continue
        read += 1
        again = _read_again(record, _specification(campaign, record), entries)
        if again != record:
            events.append(end_fields(again))
    return read, events


def _specification(campaign: Campaign, record: Record) -> Specification:
    machines = campaign.archive.machines
    facts = {role: campaign.archive.facts(role) for role in machines}
    setup = campaign.plan.setup(record.run.values)
    return specifications.specified(
        setup, campaign.experiment.of(record.run.values).ends, machines, facts
    )


def _read_again(record: Record, specification: Specification, entries: list[RawEntry]) -> Record:
    try:
        again = interpret.read(specification, entries)
    except ToolFailure as error:
        status: Any = error.status
        return replace(record, status=status, reason=str(error), figures={}, interim=())
    return replace(
        record,
        status="ok",
        reason="",
        figures={**again.figures, **controller_figures(record.cost or kept_cost(entries))},
        interim=again.interim,
    )
