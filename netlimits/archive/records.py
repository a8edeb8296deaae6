"""Records of attempts, their counts for `status`, and the runs that `resume` skips."""

from __future__ import annotations

import fcntl
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from netlimits.archive import columns, parts
from netlimits.archive.formats import PartFooter
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import (
    CUT_OFF,
    Attempt,
    Event,
    History,
    OpenChanges,
    Outcome,
    Part,
)
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError
from netlimits.model import STATUSES, ControllerCost, Record, Run


def records(archive: Archive) -> list[Record]:
    """Return the last version of every attempt, in the order of starts."""
    history = archive.fold(_Records)
    history.close(include_running=True)
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
    history = archive.fold(partial(_Records, runs=runs), parts)
    history.close(include_running=True)
    return [*(latest | history.latest).values()]


def between(journal: Journal, begin: Head, end: int) -> list[Record]:
    """Return the last version of every attempt with events from `begin` to the byte `end`."""
    history = _Records()
    for _, event in journal.events(begin, end):
        history.add(event)
    history.close(include_running=True)
    return [*history.latest.values()]


class _Records(History):
    """A history that keeps the latest record of each attempt, at all runs or only at `runs`."""

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
    """Return the time, or NaN if it is unknown, as in imported files."""
    return math.nan if seconds is None else seconds


def state(archive: Archive) -> tuple[Counter[str], dict[str, Any]]:
    """Return the numbers of runs by outcome, and the entries of `Logbook.state` about attempts."""
    running = holder(archive.path)  # first, since a process may end while the journal is read
    known_parts = archive.parts()
    tail = archive.fold(History, known_parts)
    present = [*tail.running] if running else []
    footers = [part.about for part in known_parts]
    counted, attempts = footers, tail.attempts
    if not parts.can_be_added(known_parts, tail):
        counted, attempts = [], dict(_of_parts(archive, known_parts)) | tail.attempts
    counts = parts.counts_of(attempts, present)
    outcomes, reasons = Counter(counts["outcomes"]), Counter(counts["reasons"])
    for footer in counted:
        outcomes.update(footer["outcomes"])
        reasons.update(footer["reasons"])
    reconnected = Counter(tail.reconnected)
    for footer in footers:
        reconnected.update(footer["reconnected"])
    times = (tail.opened, *(footer["opened"] for footer in reversed(footers)))
    return outcomes, {
        "disturbed": counts["disturbed"] + sum(footer["disturbed"] for footer in counted),
        "interrupted": counts["interrupted"] + sum(footer["interrupted"] for footer in counted),
        "not_put_back": [
            {key: event[key] for key in ("role", "interface", "setting")}
            for event in tail.changes.unfinished
        ],
        "running": running
        and {
            "by": str(running),
            "pid": running.pid or None,
            "since": next(filter(None, times), None),
            "run": present[0][0] if present else None,
            "attempt": present[0][1] if present else None,
            "runs": [run for run, _ in present],
        },
        "reconnected": dict(reconnected),
        "reasons": dict(reasons.most_common()),
    }


def _of_parts(archive: Archive, known_parts: Iterable[Part]) -> Iterator[tuple[Attempt, Outcome]]:
    names = ("run", "attempt", "status", "reason", "disturbed_pct")
    known: dict[Outcome, Outcome] = {}
    for part in known_parts:
        chunk = columns.of_part(archive.journal, part)
        table = chunk.table([name for name in names if name in chunk.kinds])
        empty = [None] * chunk.rows
        rows = [table[n].to_pylist() if n in chunk.kinds else empty for n in names]
        for run, attempt, status, reason, share in zip(*rows, strict=True):
            outcome = Outcome(status, reason, status == "ok" and bool(share))
            yield (run, attempt), known.setdefault(outcome, outcome)


# -- which runs have an outcome ---------------------------------------------------------------

_CODES: Mapping[str, int] = {s: n for n, s in enumerate(STATUSES, 1) if s != "interrupted"}


class Outcomes:
    """The outcomes of runs, in a byte per run.

    `attempts` has the last attempt at each interrupted run. `configurations` has the configurations
    of the runs after the last part. `counts` is empty until `count` was called.
    """

    def __init__(self, path: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.attempts: dict[int, int] = {}
        self.configurations: dict[int, str] = {}
        self._path = path
        self._codes = bytearray(1)  # runs are numbered from 1

    def __contains__(self, run: int) -> bool:
        return run < len(self._codes) and self._codes[run] > 0

    @property
    def first_left(self) -> int:
        """The first run without an outcome."""
        place = self._codes.find(0, 1)
        return len(self._codes) if place < 0 else place

    def add(self, run: int, attempt: int, status: str) -> None:
        """Add an attempt; a later outcome of a run replaces an earlier one."""
        if status == "interrupted":
            if run not in self:
                self.attempts[run] = max(attempt, self.attempts.get(run, 0))
            return
        if run >= len(self._codes):
            self._codes.extend(bytes(run + 1 - len(self._codes)))
        self._codes[run] = _CODES[status]
        self.attempts.pop(run, None)

    def count(self) -> None:
        self.counts = Counter({s: n for s, c in _CODES.items() if (n := self._codes.count(c))})

    def check(self, run: Run) -> None:
        """Raise ArchiveError if the journal has another configuration of a planned run."""
        if self.configurations.get(run.number, run.config) != run.config:
            raise ArchiveError(
                f"{self._path}: run {run.number} was measured with another configuration than "
                "experiment.yaml gives it now: that file was changed, or another version of "
                "netlimits wrote the folder; restore it, or start a new campaign"
            )


def outcomes(archive: Archive) -> Outcomes:
    """Return the outcomes of all runs. Raises ArchiveError as `Archive.fold` does."""
    known_parts = archive.parts()
    tail = archive.fold(History, known_parts)
    done = Outcomes(archive.journal.path)
    for part in known_parts:
        table = columns.of_part(archive.journal, part).table(("run", "attempt", "status"))
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            done.add(*row)
    for (run, attempt), outcome in tail.attempts.items():
        done.add(run, attempt, outcome.status)
    done.configurations.update(tail.configurations)
    done.count()
    return done


# -- who runs it now --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that runs a campaign; `pid` is 0 and `user` "" if they are unknown."""

    pid: int = 0
    user: str = ""

    def __str__(self) -> str:
        if not self.pid:
            return "a process that is not visible here, perhaps on another machine"
        return f"process {self.pid}" + (f" of {self.user}" if self.user else "")


def holder(folder: Path) -> LockHolder | None:
    """Return the process that holds the lock on a folder's journal, None if there is none."""
    try:
        journal = os.open(folder / "journal.jsonl", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            pid = _pid(os.fstat(journal).st_ino)
            return LockHolder(pid, _user(pid)) if pid else LockHolder()
        return None
    finally:
        os.close(journal)


def _pid(inode: int) -> int:
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(inode):
            return int(words[4]) if words[4].isdigit() else 0
    return 0


def _user(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}").owner()
    except (OSError, KeyError):
        return ""
