"""Raw output read again: for `netlimits parse`, when a reader learned something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from netlimits.archive.raw import RawEntry
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields
from netlimits.campaign import interpret, specifications
from netlimits.campaign.controller import controller_figures, kept_cost
from netlimits.campaign.specifications import Specification
from netlimits.errors import ToolFailure
from netlimits.model import Record


def reparse(campaign: Campaign) -> tuple[int, int]:
    """Read every attempt's raw output again; returns how many were read and how many changed.

    The journal must be locked. An attempt whose tool never ran stays as it is.
    """
    read = changed = 0
    for record in campaign.records():
        if record.status == "interrupted":
            continue
        entries = campaign.archive.read_raw(record.run.number, record.attempt, record.raw)
        if not interpret.has_client(entries):
            continue
        read += 1
        again = _read_again(record, _specification(campaign, record), entries)
        if again != record:
            changed += 1
            campaign.archive.append("parsed", **end_fields(again))
    return read, changed


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
