"""What the journal's events say about runs: records, what was imported, what is not undone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError
from netlimits.model import Record, Run


def records(archive: Archive, runs: Mapping[int, Run]) -> list[Record]:
    """One Record for each attempt, in the order in which they started.

    An attempt without an end was interrupted. The last `parsed` of an attempt replaces its end.
    Raises ArchiveError for a run that is not the plan's, and where raw output is kept of an attempt
    that the journal does not know: then its last lines are lost.
    """
    kept = archive.raw_attempts()  # before the journal, which may grow meanwhile
    attempts: dict[tuple[int, int], dict[str, Any]] = {}
    for line, event in archive.numbered():
        rows = event.get("rows", ()) if event["event"] == "imported" else ()
        if event["event"] in ("start", "end", "parsed"):
            rows = (event,)
        for row in rows:
            key = (row["run"], row["attempt"])
            _hold_to_plan(archive, line, row, runs.get(row["run"]))
            attempts[key] = {**attempts.get(key, {}), **row} if "event" in row else row
    if lost := sorted(kept - attempts.keys()):
        run, attempt = lost[0]
        raise ArchiveError(
            f"{archive.journal.path}: its last lines are lost: it does not know of attempt "
            f"{attempt} at run {run}, whose output is {archive.raw_path(run, attempt)}; put it "
            "back from a copy"
        )
    return [_record(runs[run], attempt, event) for (run, attempt), event in attempts.items()]


def _hold_to_plan(archive: Archive, line: int, row: Mapping[str, Any], run: Run | None) -> None:
    """Raise ArchiveError when what a line tells of is not that run of the plan."""
    where = f"{archive.journal.path}:{line}"
    if run is None:
        raise ArchiveError(f"{where}: tells of run {row['run']}, which the plan does not have")
    if not {"config", "values"} <= row.keys():
        if archive.journal.sealed:
            raise ArchiveError(f"{where}: does not say what run {run.number} was set to")
    elif row["config"] != run.config or row["values"] != run.values:
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
            f"{archive.journal.path}: tells of {len(rows)} runs, and {runs} came in; put it back "
            "from a copy, or import the files in raw/imported again"
        )
    return rows


def reconnected(archive: Archive) -> Iterator[str]:
    """The role of each lost connection that was made again."""
    return (event["role"] for event in archive.events() if event["event"] == "reconnected")


def opened(archive: Archive) -> float | None:
    """When the last process began or went on with the campaign, epoch seconds."""
    times = [event["at"] for event in archive.events() if event["event"] == "opened"]
    return float(times[-1]) if times else None


def unfinished(archive: Archive) -> tuple[dict[str, Any], ...]:
    """The `found` events that no `put_back` answers: what a killed process left changed.

    One for each place, in the order of the first; each part of a state as it was found first.
    """
    open_: dict[tuple[str, ...], dict[str, Any]] = {}
    for event in archive.events():
        if event["event"] in ("found", "put_back"):
            place = (event["role"], event["interface"], event["setting"])
            if event["event"] == "found":
                first = open_.get(place, event)
                open_[place] = first | {"state": {**event["state"], **first["state"]}}
            else:
                open_.pop(place, None)
    return tuple(open_.values())


def run_fields(run: Run) -> dict[str, Any]:
    """What every event of a run says of it, so that its labels hang on no other file."""
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
        **({"interim": [dict(row) for row in record.interim]} if record.interim else {}),
    }


def _record(run: Run, attempt: int, event: Mapping[str, Any]) -> Record:
    ended = "status" in event
    return Record(
        run=run,
        attempt=attempt,
        status=event["status"] if ended else "interrupted",
        reason=event["reason"] if ended else "the process ended before the run did",
        started=_known(event["started"]),
        duration_s=_known(event["duration_s"]) if ended else 0.0,
        figures=event["figures"] if ended else {},
        interim=tuple(event.get("interim", ())),
    )


def _known(seconds: float | None) -> float:
    """NaN for a time that an imported file does not tell."""
    return math.nan if seconds is None else seconds
