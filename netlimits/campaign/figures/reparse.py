"""Parsing of raw output again, for `netlimits parse`, after a parser was improved.

A campaign with parts is parsed part by part on all cores, so that memory holds no more than the
attempts of one part for each core.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from netlimits.archive import columns, logbook, parts, records
from netlimits.archive.history import Attempt
from netlimits.archive.journal import Head
from netlimits.archive.logbook import Logbook
from netlimits.archive.parts import Part
from netlimits.archive.raw import RawEntry
from netlimits.archive.records import end_fields
from netlimits.campaign import specifications
from netlimits.campaign.controller import controller_figures, kept_cost
from netlimits.campaign.figures import interpret
from netlimits.campaign.specifications import Specification
from netlimits.errors import ToolFailure
from netlimits.model import Record

Reparsed = tuple[int, list[dict[str, Any]]]
"""How many attempts were read, and the `parsed` events of those that changed."""


def reparse(campaign: Logbook) -> tuple[int, int]:
    """Parse every attempt's raw output again; return how many were parsed and how many changed."""
    read = changed = 0
    if of_parts := campaign.archive.parts():
        results = _on_all_cores(_stretches(campaign, of_parts))
    else:
        results = iter([_reparse(campaign, campaign.records())])
    for count, events in results:
        read += count
        changed += len(events)
        for event in events:
            campaign.archive.append("parsed", **event)
    return read, changed


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A range of a journal, and the attempts in it that later lines repeat."""

    path: Path
    begin: Head
    end: int
    later: frozenset[Attempt] = frozenset()


def _stretches(campaign: Logbook, of_parts: Sequence[Part]) -> list[_Stretch]:
    """Return the stretches of the journal to parse: each part's, and what follows the parts."""
    archive = campaign.archive
    begins = [*(part.begin for part in of_parts), of_parts[-1].end]
    ends = [*(head.size for head in begins[1:]), archive.journal.head.size]
    *plain, last = (_Stretch(campaign.path, *place) for place in zip(begins, ends, strict=True))
    tail = archive.tail(of_parts)
    if parts.add_up(of_parts, tail):
        return [*plain, last]
    stretches = [last]
    after_parts = np.array([*tail.attempts], np.int64).reshape(-1, 2)
    later = np.unique(_numbers(after_parts[:, 0], after_parts[:, 1]))
    for part, stretch in zip(reversed(of_parts), reversed(plain), strict=True):
        table = columns.of_part(archive.journal, part).table(columns.KEY)
        run, attempt = (table.column(name).to_numpy() for name in columns.KEY)
        numbers = _numbers(run, attempt)
        repeated = np.isin(numbers, later)
        if not repeated.all():
            attempts = zip(run[repeated].tolist(), attempt[repeated].tolist(), strict=True)
            stretches.append(replace(stretch, later=frozenset(attempts)))
        later = np.union1d(later, numbers)
    return stretches[::-1]


def _numbers(run: np.ndarray, attempt: np.ndarray) -> np.ndarray:
    """Return a number for each attempt."""
    numbers: np.ndarray = (run << 20) + attempt
    return numbers


def _on_all_cores(stretches: Sequence[_Stretch]) -> Iterator[Reparsed]:
    """Yield the results of parsing each stretch, in order."""
    cores = os.cpu_count() or 1
    spawn = multiprocessing.get_context("spawn")  # a fork would share the journal's lock
    with ProcessPoolExecutor(cores, spawn) as pool:
        for first in range(0, len(stretches), cores):  # no more than these wait to be written
            yield from pool.map(_of_stretch, stretches[first : first + cores])


def _of_stretch(stretch: _Stretch) -> Reparsed:
    campaign = _opened(stretch.path)
    attempts = records.between(campaign.archive.journal, stretch.begin, stretch.end)
    return _reparse(
        campaign, (r for r in attempts if (r.run.number, r.attempt) not in stretch.later)
    )


@lru_cache(maxsize=1)
def _opened(path: Path) -> Logbook:
    return logbook.open(path)


def _reparse(campaign: Logbook, attempts: Iterable[Record]) -> Reparsed:
    read, events = 0, []
    for record in attempts:
        if record.status == "interrupted":
            continue
        entries = campaign.archive.raw.read(record.run.number, record.attempt, record.raw)
        if not interpret.has_client(entries):
            continue
        read += 1
        result = _interpret(record, _specification(campaign, record), entries)
        if result != record:
            events.append(end_fields(result))
    return read, events


def _specification(campaign: Logbook, record: Record) -> Specification:
    machines = campaign.archive.machines
    facts = {role: campaign.archive.facts(role) for role in machines}
    setup = campaign.plan.setup(record.run.values)
    return specifications.specified(
        setup, campaign.experiment.side_of(record.run.values).ends, machines, facts
    )


def _interpret(record: Record, specification: Specification, entries: list[RawEntry]) -> Record:
    try:
        parsed = interpret.read(specification, entries)
    except ToolFailure as error:
        status: Any = error.status
        return replace(record, status=status, reason=str(error), figures={}, interim=())
    return replace(
        record,
        status="ok",
        reason="",
        figures={**parsed.figures, **controller_figures(record.cost or kept_cost(entries))},
        interim=parsed.interim,
    )
