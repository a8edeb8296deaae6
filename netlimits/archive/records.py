"""What the journal's events say about runs: records, what was imported, what is not undone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from netlimits.archive.journal import Head
from netlimits.archive.store import Archive
from netlimits.archive.tally import CUT_OFF, OpenChanges
from netlimits.errors import ArchiveError
from netlimits.model import ControllerCost, Record, Run, decoding


@dataclass(frozen=True, slots=True)
class History:
    """What a journal tells, read once.

    `records` has one Record for each attempt, in the order in which they started. `unfinished` are
    the `found` events that no `put_back` answers. `opened` is when the last process began or went
    on with the campaign (epoch seconds), `reconnected` has the role of each lost connection that
    was made again, `lines` how many lines there are.
    """

    records: tuple[Record, ...]
    unfinished: tuple[dict[str, Any], ...]
    opened: float | None
    reconnected: tuple[str, ...]
    lines: int


def history(archive: Archive, runs: Mapping[int, Run]) -> History:
    """All that the journal tells of the campaign whose plan has these runs.

    An attempt without an end was interrupted. The last `parsed` of an attempt replaces its end.
    Raises ArchiveError for a run that is not the plan's, and where raw output is kept of an attempt
    that the journal does not know: then its last lines are lost.
    """
    kept = archive.raw.attempts()  # before the journal, which may grow meanwhile
    attempts: dict[tuple[int, int], dict[str, Any]] = {}
    changes = OpenChanges()
    opened: float | None = None
    reconnected, line = [], 0
    for line, event in archive.numbered():
        name = event["event"]
        changes.add(event)
        if name == "opened":
            opened = float(event["at"]) if decoding.has(event.get("at"), float) else None
        elif name == "reconnected":
            reconnected.append(event["role"])
        rows = event.get("rows", ()) if name == "imported" else ()
        if name in ("start", "end", "parsed"):
            rows = (event,)
        for row in rows:
            key = (row["run"], row["attempt"])
            _hold_to_plan(archive, line, row, runs.get(row["run"]))
            # what is read again may have no interim results any more
            before = {**attempts.get(key, {}), "interim": ()}
            attempts[key] = {**before, **row} if "event" in row else row
    archive.raw.refuse_lost(kept - attempts.keys())
    records = (_record(runs[run], attempt, event) for (run, attempt), event in attempts.items())
    return History(tuple(records), changes.unfinished, opened, tuple(reconnected), line)


def between(archive: Archive, begin: Head, end: int) -> list[Record]:
    """The attempts that are told of between two places of the journal, which begin there too."""
    attempts: dict[tuple[int, int], dict[str, Any]] = {}
    for _, event in archive.journal.events(begin, end):
        if event["event"] in ("start", "end", "parsed"):
            key = (event["run"], event["attempt"])
            attempts[key] = {**attempts.get(key, {}), "interim": (), **event}
    # an attempt without an end here was interrupted, or its end is told of behind
    return [
        _record(Run(run, event["block"], event["config"], event["values"]), attempt, event)
        for (run, attempt), event in attempts.items()
    ]


def unfinished(archive: Archive) -> tuple[dict[str, Any], ...]:
    """The `found` events that nothing answers: what a killed process left changed."""
    part = archive.own_part()
    changes = OpenChanges.of(part.about["unfinished"]) if part else OpenChanges()
    for _, event in archive.numbered(part.end if part else None):
        changes.add(event)
    return changes.unfinished


def _hold_to_plan(archive: Archive, line: int, row: Mapping[str, Any], run: Run | None) -> None:
    """Raise ArchiveError when a line names another configuration than the plan has for its run."""
    where = f"{archive.journal.path}:{line}"
    if run is None:
        raise ArchiveError(f"{where}: tells of run {row['run']}, which the plan does not have")
    if row["config"] != run.config or row["values"] != run.values:
        raise ArchiveError(
            f"{where}: run {run.number} was of {_in_words(row['values'])}, and experiment.yaml now "
            f"makes it {_in_words(run.values)}: it was changed, or another netlimits wrote it"
        )


def _in_words(values: Mapping[str, Any]) -> str:
    return (
        ", ".join(f"{name} {json.dumps(value)}" for name, value in values.items()) or "no factors"
    )


def imported(archive: Archive, runs: int | None = None) -> dict[int, dict[str, Any]]:
    """What was imported, by run number: the fields of an `end`, and `values`, `config`, `line`.

    Raises ArchiveError when these are not so many `runs` as once came in.
    """
    rows: dict[int, dict[str, Any]] = {}
    for event in archive.events():
        if event["event"] == "imported":
            rows |= {row["run"]: row for row in event["rows"]}
    if runs is not None and len(rows) != runs:
        raise ArchiveError(
            f"{archive.journal.path}: tells of {len(rows)} runs, and {runs} came in; restore it "
            "from a copy, or import the files in raw/imported again"
        )
    return rows


def run_fields(run: Run) -> dict[str, Any]:
    """The fields that every event of a run has: with them its labels depend on no other file."""
    return {
        "run": run.number,
        "block": run.block,
        "config": run.config,
        "values": dict(run.values),
    }


def end_fields(record: Record) -> dict[str, Any]:
    """A record as the fields of an `end` or `parsed` event."""
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


def _record(run: Run, attempt: int, event: Mapping[str, Any]) -> Record:
    ended = "status" in event
    return Record(
        run=run,
        attempt=attempt,
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
    """NaN for a time that an imported file does not tell, or that nobody was there to take."""
    return math.nan if seconds is None else seconds
