"""Convert between the journal's events and records of attempts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from netlimits.archive.formats import PartFooter
from netlimits.archive.history import CUT_OFF, Attempt, Event, History, OpenChanges
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import reach
from netlimits.archive.store import Archive
from netlimits.model import ControllerCost, Record, Run


def records(archive: Archive) -> list[Record]:
    """Return the last version of every attempt, in the order of starts."""
    history = _Records()
    archive.fold(history).close(include_running=True)
    return [*history.latest.values()]


def of_runs(archive: Archive, runs: Collection[int]) -> list[Record]:
    """Return the last version of every attempt at these runs, in the order of starts."""
    latest: dict[Attempt, Record] = {}
    parts = archive.parts()
    for before, part in zip((None, *parts), parts, strict=False):
        low, high = part.about["runs"] or (1, 0)
        if any(low <= run <= high for run in runs):
            history = _Records(before.about if before else None, runs)
            for _, event in archive.journal.events(part.begin, part.end.size):
                history.add(event)
            history.close(include_running=False)
            latest |= history.latest
    last, highest = reach(parts)
    history = _Records(last.about if last else None, runs)
    archive.fold(history, last, highest).close(include_running=True)
    return [*(latest | history.latest).values()]


def example(archive: Archive) -> Record | None:
    """Return the first ok attempt in the journal, or else the first attempt, or None."""
    history = _Example()
    for _, event in archive.numbered():
        history.add(event)
        if history.first and history.first.status == "ok":
            return history.first
    history.close(include_running=True)
    return history.first


class _Example(History):
    """A history that keeps its first ok attempt, or else its first."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Record | None = None

    def keep(self, event: Event) -> None:
        if self.first is None or (self.first.status != "ok" and event.get("status") == "ok"):
            self.first = record(event)


def between(journal: Journal, begin: Head, end: int) -> list[Record]:
    """Return the attempts of a journal from `begin` to the byte `end`."""
    history = _Records()
    for _, event in journal.events(begin, end):
        history.add(event)
    history.close(include_running=True)
    return [*history.latest.values()]


class _Records(History):
    """A history that keeps the latest record of each attempt, of all runs or some."""

    def __init__(
        self, before: PartFooter | None = None, runs: Collection[int] | None = None
    ) -> None:
        self.latest: dict[Attempt, Record] = {}
        self._runs = runs
        super().__init__(before)

    def keep(self, event: Event) -> None:
        if self._runs is None or event["run"] in self._runs:
            self.latest[event["run"], event["attempt"]] = record(event)


def unfinished(archive: Archive) -> tuple[Event, ...]:
    """Return the `found` events that are still open: settings that were left changed."""
    part = archive.own_part()
    changes = OpenChanges(part.about["unfinished"] if part else ())
    for _, event in archive.numbered(part.end if part else None):
        changes.add(event)
    return changes.unfinished


def run_fields(run: Run) -> dict[str, Any]:
    """Return the fields that every event of a run has, including its factors."""
    return {
        "run": run.number,
        "block": run.block,
        "config": run.config,
        "values": dict(run.values),
        **({} if run.profiled is None else {"profiled": run.profiled}),
    }


def end_fields(record: Record) -> dict[str, Any]:
    """Return the fields of an `end` or `parsed` event."""
    return {
        **run_fields(record.run),
        "attempt": record.attempt,
        "status": record.status,
        "reason": record.reason,
        "started": record.started,
        "duration_s": record.duration_s,
        "figures": dict(record.figures),
        **({"raw": record.raw} if record.raw else {}),
        **({"interim": [dict(row) for row in record.interim]} if record.interim else {}),
        **({"controller": asdict(record.cost)} if record.cost else {}),
    }


def record(event: Mapping[str, Any]) -> Record:
    """Return the record of an attempt from its merged events."""
    ended = "status" in event
    return Record(
        run=Run(
            *(event["run"], event["block"], event["config"], event["values"]),
            event.get("profiled"),
        ),
        attempt=event["attempt"],
        status=event["status"] if ended else "interrupted",
        reason=event["reason"] if ended else CUT_OFF,
        started=_known(event.get("started")),
        duration_s=_known(event["duration_s"] if ended else None),
        figures=event["figures"] if ended else {},
        interim=tuple(event.get("interim", ())),
        raw=event.get("raw", ""),
        cost=msgspec.convert(event.get("controller"), ControllerCost | None),
    )


def _known(seconds: float | None) -> float:
    """Return NaN for a time that is unknown, as in imported files."""
    return math.nan if seconds is None else seconds
