"""Parse raw output again, for `netlimits parse`, for example with an improved parser."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from netlimits.archive import records
from netlimits.archive.journal import Head
from netlimits.archive.logbook import Logbook
from netlimits.archive.parts import Attempt
from netlimits.archive.raw import RawEntry
from netlimits.archive.records import end_fields
from netlimits.campaign.controller import controller_figures
from netlimits.campaign.figures import interpret
from netlimits.campaign.specifications import Specifications
from netlimits.errors import ToolFailure
from netlimits.model import Record


def reparse(campaign: Logbook) -> tuple[int, int]:
    """Parse every attempt again that measured; return how many were parsed, how many changed.

    Interrupted attempts and those whose client never ran are left out.
    """
    archive = campaign.archive
    specifications: Specifications | None = None
    read = changed = 0
    for record in _last_versions(campaign):
        run = record.run
        entries = archive.raw.read(run.number, record.attempt, record.raw)
        if not interpret.has_client(entries):
            continue
        read += 1
        specifications = specifications or _specifications(campaign)
        result = _interpret(record, specifications, entries)
        if result != record:
            archive.append("parsed", **end_fields(result))
            changed += 1
    return read, changed


def _specifications(campaign: Logbook) -> Specifications:
    machines = campaign.archive.machines
    facts = {role: campaign.archive.facts(role) for role in machines}
    return Specifications(campaign.plan, machines, facts)


def _last_versions(campaign: Logbook) -> Iterator[Record]:
    """Yield the last record of each attempt that was not interrupted.

    The journal is read backwards in parts, to have only one part in memory.
    """
    journal, of_parts = campaign.archive.journal, campaign.archive.parts()
    heads = [Head(), *(part.end for part in of_parts), replace(journal.head)]
    known: set[Attempt] = set()
    for begin, end in reversed([*itertools.pairwise(heads)]):
        for record in records.between(journal, begin, end.size):
            key = record.run.number, record.attempt
            if record.status != "interrupted" and key not in known:
                known.add(key)
                yield record


def _interpret(record: Record, specifications: Specifications, entries: list[RawEntry]) -> Record:
    try:
        parsed = interpret.read(specifications.for_run(record.run), entries)
    except ToolFailure as error:
        status: Any = error.status
        return replace(record, status=status, reason=str(error), figures={}, interim=())
    figures = {**parsed.figures, **controller_figures(record.cost)}
    return replace(record, status="ok", reason="", figures=figures, interim=parsed.interim)
