"""A campaign's folder: everything needed to believe it, repeat it, resume it and undo it.

    campaign.json      what this folder is: version, experiment's name, overrides, seed, machines
    experiment.yaml    the experiment, to the letter (none where results were imported)
    plan.csv           the plan, one row a run
    hosts/ROLE.json    each host's facts, parsed and as printed
    journal.jsonl      what happened, one event a line; the only file that grows, never rewritten
    raw/RUN-ATTEMPT.jsonl   every command of an attempt with all that it printed
    raw/imported/      the files that results were imported from
    results.csv, results.parquet   one row an attempt; made from the journal, may be deleted

The journal is appended to with one write an event, then fsynced. A process killed in the middle
leaves at most a torn last line, which is cut off when the journal is opened again; a run that
started and has no end was interrupted. Raw output is on disk before anything parses it.

Version 1: the first.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TextIO

from netlimits import shapes
from netlimits.errors import ArchiveError
from netlimits.files import private, whole, write_whole
from netlimits.model import Command, Completed, Machine, Record, Run

VERSION = 1

LINE_LIMIT = 2**30
"""Bytes of one event: an import of a million runs is a third of that."""

EVENTS = (
    *("opened", "found", "put_back", "reconnected", "start", "end", "parsed", "imported"),
    "closed",
)
"""What the journal may hold:

opened    a process starts or goes on with the campaign
found     a setting's state before the first change; undone until `put_back` says so
put_back  it is as it was found again
start     an attempt at a run
end       its outcome: status, reason, figures
parsed    the same attempt, read again from raw output; the last one counts
reconnected  a lost connection was made again: why it was lost, after how many tries and seconds
imported  runs read from a file that was there before, all in one event; the last reading counts
closed    the process left in good order
"""


class Archive:
    """One campaign's folder, open for reading, and for appending while `lock` is held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal: IO[bytes] | None = None

    @classmethod
    def create(
        cls,
        path: Path,
        meta: Mapping[str, Any],
        text: str = "",
        hosts: Mapping[str, Any] | None = None,
        write_plan: Callable[[TextIO], object] | None = None,
    ) -> Archive:
        """A new folder with everything but runs; `campaign.json`, which makes it one, comes last.

        What is imported has neither experiment nor hosts nor plan. Raises ArchiveError when the
        folder exists and is not empty, or cannot be written.
        """
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise ArchiveError(f"{path}: is not empty; name another folder with --out")
            for folder in ("raw", "hosts"):
                (path / folder).mkdir(mode=0o700)
            if text:
                write_whole(path / "experiment.yaml", text)
            for role, facts in (hosts or {}).items():
                write_whole(path / "hosts" / f"{role}.json", _pretty(facts))
            if write_plan:
                with whole(path / "plan.csv") as beside, private(beside, newline="") as plan:
                    write_plan(plan)
            (path / "journal.jsonl").touch(mode=0o600)
            write_whole(path / "campaign.json", _pretty({"version": VERSION, **meta}))
        except OSError as error:
            raise ArchiveError(f"{path}: {error.strerror}; choose a folder with --out") from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Archive:
        """The campaign in a folder. Raises ArchiveError when it holds none or another version's."""
        try:
            meta = shapes.load(path / "campaign.json")
            version = meta["version"]
        except FileNotFoundError:
            raise ArchiveError(f"{path}: holds no campaign (no campaign.json)") from None
        except NotADirectoryError:
            raise ArchiveError(f"{path}: is a file, not a campaign's folder") from None
        except OSError as error:
            raise ArchiveError(f"{path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise ArchiveError(f"{path / 'campaign.json'}: is no campaign's description") from None
        if version != VERSION:
            raise ArchiveError(
                f"{path}: was written in version {version} of the archive, this netlimits reads "
                f"version {VERSION}; use the netlimits that made it ({meta.get('netlimits', '?')})"
            )
        return cls(path)

    @property
    def meta(self) -> dict[str, Any]:
        """What `campaign.json` says."""
        path = self.path / "campaign.json"
        try:
            meta: dict[str, Any] = shapes.load(path)
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: cannot be read: {_why(error)}") from None
        return meta

    @property
    def machines(self) -> dict[str, Machine]:
        """Role -> Machine, as the campaign was bound."""
        return {
            role: Machine(
                role=role,
                ssh=m["ssh"],
                interface=m["interface"],
                address=m["address"],
                ssh_config=Path(m["ssh_config"]) if m["ssh_config"] else None,
            )
            for role, m in self.meta["machines"].items()
        }

    def facts(self, role: str) -> dict[str, Any]:
        """A host's facts as they were read when the campaign began."""
        path = self.path / "hosts" / f"{role}.json"
        try:
            facts: dict[str, Any] = shapes.load(path)
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: cannot be read: {_why(error)}") from None
        if not isinstance(facts, dict):
            raise ArchiveError(f"{path}: is damaged")
        return facts

    # -- the journal ------------------------------------------------------------------------

    def lock(self) -> None:
        """Open the journal for appending, for this process alone; cut off a torn last line.

        Raises ArchiveError when another process holds it, or it cannot be written.
        """
        path = self.path / "journal.jsonl"
        try:
            journal = path.open("r+b", buffering=0)
        except OSError as error:
            raise ArchiveError(f"{path}: {error.strerror}") from None
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            journal.close()
            raise ArchiveError(
                f"{self.path}: another netlimits is running this campaign; wait for it or end it"
            ) from None
        journal.truncate(_whole_lines(journal))
        journal.seek(0, os.SEEK_END)
        self._journal = journal

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal:
            self._journal.close()
            self._journal = None

    def append(self, event: str, **fields: Any) -> None:
        """Add one event, in one write, and have it on disk when this returns."""
        assert self._journal, "lock() comes first"
        line = json.dumps({"event": event, "at": time.time(), **fields}, ensure_ascii=False)
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        end = self._journal.seek(0, os.SEEK_END)
        try:
            if self._journal.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._journal.fileno())
        except OSError as error:
            self._journal.truncate(end)  # half a line must not stand before the next one
            raise ArchiveError(f"{self.path / 'journal.jsonl'}: {error.strerror}") from None

    def events(self) -> Iterator[dict[str, Any]]:
        """The journal's events in order, a torn last line left out.

        Raises ArchiveError naming the line when one in the middle is damaged.
        """
        path = self.path / "journal.jsonl"
        try:
            with path.open("rb") as journal:
                for number, line in enumerate(iter(lambda: journal.readline(LINE_LIMIT), b""), 1):
                    if not line.endswith(b"\n") and len(line) < LINE_LIMIT:
                        return
                    event = shapes.event(line)
                    if event is None:
                        raise ArchiveError(f"{path}:{number}: is damaged")
                    yield event
        except OSError as error:
            raise ArchiveError(f"{path}: {error.strerror}") from None

    # -- raw output -------------------------------------------------------------------------

    def raw_path(self, run: int, attempt: int) -> Path:
        """Where an attempt's commands and their output are kept."""
        return self.path / "raw" / f"{run:06d}-{attempt}.jsonl"

    def write_raw(self, run: int, attempt: int, commands: list[dict[str, Any]]) -> None:
        """Keep what an attempt's commands printed, on disk when this returns."""
        lines = (json.dumps(c, ensure_ascii=False) + "\n" for c in commands)
        data = "".join(lines).encode("utf-8", "backslashreplace")
        try:
            with private(self.raw_path(run, attempt), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ArchiveError(f"{self.raw_path(run, attempt)}: {error.strerror}") from None

    def read_raw(self, run: int, attempt: int) -> list[dict[str, Any]]:
        """What an attempt's commands printed, in order. Raises ArchiveError when it is not kept."""
        path = self.raw_path(run, attempt)
        try:
            # by line feeds alone: output may hold the other line breaks that splitlines() knows
            entries = [json.loads(ln) for ln in path.read_text("utf-8").split("\n") if ln]
        except (OSError, ValueError, RecursionError) as error:
            raise ArchiveError(f"{path}: cannot be read: {_why(error)}") from None
        if not shapes.has(entries, [{"step": shapes.TEXT}]):
            raise ArchiveError(f"{path}: is damaged")
        return entries


# -- records: what the events say about runs ------------------------------------------------


def records(archive: Archive, runs: Mapping[int, Run]) -> list[Record]:
    """One Record for each attempt, in the order in which they started.

    An attempt without an end was interrupted. The last `parsed` of an attempt replaces its end.
    """
    attempts: dict[tuple[int, int], dict[str, Any]] = {}
    for event in archive.events():
        if event["event"] == "imported":
            attempts |= {(row["run"], row["attempt"]): row for row in event["rows"]}
        elif event["event"] in ("start", "end", "parsed"):
            key = (event["run"], event["attempt"])
            attempts[key] = {**attempts.get(key, {}), **event}
    if strange := [run for run, _ in attempts if run not in runs]:
        path = archive.path / "journal.jsonl"
        raise ArchiveError(f"{path}: tells of run {strange[0]}, which the plan does not have")
    return [_record(runs[run], attempt, event) for (run, attempt), event in attempts.items()]


def imported(archive: Archive) -> dict[int, dict[str, Any]]:
    """What was imported, by run number: the fields of an `end`, and `values`, `config`, `line`."""
    rows: dict[int, dict[str, Any]] = {}
    for event in archive.events():
        if event["event"] == "imported":
            rows |= {row["run"]: row for row in event["rows"]}
    return rows


def reconnected(archive: Archive) -> Iterator[str]:
    """The role of each lost connection that was made again."""
    return (event["role"] for event in archive.events() if event["event"] == "reconnected")


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


def end_fields(record: Record) -> dict[str, Any]:
    """A record as the fields of an `end` or `parsed` event."""
    return {
        "run": record.run.number,
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


def raw_entry(completed: Completed, step: str) -> dict[str, Any]:
    """A Completed as raw output keeps it; `step` says what the command was for."""
    return {
        "step": step,
        "host": completed.host,
        "argv": list(completed.command.argv),
        "sudo": completed.command.sudo,
        "deadline": completed.command.deadline,
        "status": completed.status,
        "seconds": round(completed.seconds, 6),
        "timed_out": completed.timed_out,
        "truncated": completed.truncated,
        "stdout": completed.stdout,
        "stderr": completed.stderr,
    }


def completed(entry: Mapping[str, Any]) -> Completed:
    """A raw entry as the Completed that it was; what was fed to it is not kept.

    Raises ArchiveError for an entry that is none.
    """
    if not shapes.has(entry, shapes.ENTRY):
        raise ArchiveError(f"the raw output is damaged at {str(entry)[:80]}")
    return Completed(
        host=entry["host"],
        command=Command(tuple(entry["argv"]), entry["sudo"], entry["deadline"]),
        status=entry["status"],
        stdout=entry["stdout"],
        stderr=entry["stderr"],
        seconds=entry["seconds"],
        timed_out=entry["timed_out"],
        truncated=entry["truncated"],
    )


def _why(error: Exception) -> str:
    """What went wrong, without the path and the number that OSError puts around it."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _whole_lines(journal: IO[bytes]) -> int:
    """The length of the journal up to and with its last newline."""
    end = journal.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65536)
        journal.seek(start)
        newline = journal.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
