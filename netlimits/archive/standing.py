"""How far a campaign is: what `status` reports, and which runs `resume` leaves alone.

The counts of the parts and of the lines after them are added up. If an attempt is in several of
them (`netlimits parse`), the parts' columns are read instead.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netlimits.archive import columns, parts
from netlimits.archive.history import Attempt, Event, Outcome
from netlimits.archive.parts import Part
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError
from netlimits.model import STATUSES, Run


@dataclass(frozen=True, slots=True)
class Standing:
    """The counts of a campaign's attempts: outcomes by run, everything else by attempt.

    Attributes:
        running: The process that runs the campaign now.
        present: The attempts that it is making.
        unfinished: The `found` events that nothing answers.
        opened: When the last process began or went on with the campaign, in epoch seconds.
        reconnected: How often each role's lost connection was made again.
    """

    running: LockHolder | None
    present: Sequence[Attempt] = ()
    outcomes: Counter[str] = field(default_factory=Counter)
    interrupted: int = 0
    disturbed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    unfinished: Sequence[Event] = ()
    opened: float | None = None
    reconnected: Counter[str] = field(default_factory=Counter)


def standing(archive: Archive) -> Standing:
    """Count a campaign's attempts. Raises ArchiveError as `Archive.fold` does."""
    running = holder(archive.path)  # before the journal: what ends meanwhile has ended
    of_journal = archive.parts()
    tail = archive.tail(of_journal)
    present = [*tail.going] if running else []
    apart = parts.add_up(of_journal, tail)
    footers = [part.about for part in of_journal]
    attempts: Mapping[Attempt, Outcome] = tail.attempts
    if not apart:
        attempts = dict(_of_parts(archive, of_journal)) | tail.attempts
        footers = []
    counts = parts.counts_of(attempts, present)
    outcomes, reasons = Counter(counts["outcomes"]), Counter(counts["reasons"])
    for footer in footers:
        outcomes.update(footer["outcomes"])
        reasons.update(footer["reasons"])
    reconnected = Counter(tail.reconnected)
    for part in of_journal:
        reconnected.update(part.about["reconnected"])
    times = (tail.opened, *(part.about["opened"] for part in reversed(of_journal)))
    return Standing(
        running,
        present,
        outcomes,
        counts["interrupted"] + sum(footer["interrupted"] for footer in footers),
        counts["disturbed"] + sum(footer["disturbed"] for footer in footers),
        reasons,
        tail.changes.unfinished,
        next(filter(None, times), None),
        reconnected,
    )


def _of_parts(archive: Archive, of_journal: Iterable[Part]) -> Iterator[tuple[Attempt, Outcome]]:
    """Yield the attempts in parts, as their columns have them."""
    names = ("run", "attempt", "status", "reason", "disturbed_pct")
    known: dict[Outcome, Outcome] = {}
    for part in of_journal:
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
    """The outcome of each run that has one, in a byte a run.

    Attributes:
        counts: How many runs have each outcome.
        attempts: The last attempt at each run that has none.
        configurations: The configurations of the newest runs, as the journal has them.
    """

    def __init__(self, path: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.attempts: dict[int, int] = {}
        self.configurations: dict[int, str] = {}
        self._path = path
        self._codes = bytearray(1)  # no run has the number 0

    def __contains__(self, run: int) -> bool:
        return run < len(self._codes) and self._codes[run] > 0

    @property
    def first_left(self) -> int:
        """The first run that has no outcome."""
        place = self._codes.find(0, 1)
        return len(self._codes) if place < 0 else place

    def add(self, run: int, attempt: int, status: str) -> None:
        """Add an attempt; a later outcome of a run takes the place of an earlier one."""
        if status == "interrupted":
            if run not in self:
                self.attempts[run] = max(attempt, self.attempts.get(run, 0))
            return
        if run >= len(self._codes):
            self._codes.extend(bytes(run + 1 - len(self._codes)))
        self._codes[run] = _CODES[status]
        self.attempts.pop(run, None)

    def count(self) -> None:
        """Set `counts`."""
        self.counts = Counter({s: n for s, c in _CODES.items() if (n := self._codes.count(c))})

    def check(self, run: Run) -> None:
        """Raise ArchiveError if the journal has another configuration of a planned run."""
        if self.configurations.get(run.number, run.config) != run.config:
            raise ArchiveError(
                f"{self._path}: run {run.number} was measured with another configuration than "
                "experiment.yaml now gives it: that file was changed, or another version of "
                "netlimits wrote the folder"
            )


def outcomes(archive: Archive) -> Outcomes:
    """Return the runs that have an outcome. Raises ArchiveError as `Archive.fold` does."""
    of_journal = archive.parts()
    tail = archive.tail(of_journal)
    done = Outcomes(archive.journal.path)
    for part in of_journal:
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
    """The process that runs a campaign; `pid` is 0 and `user` "" if the kernel does not show it."""

    pid: int = 0
    user: str = ""

    def __str__(self) -> str:
        if not self.pid:
            return "a process that does not show here, perhaps on another machine"
        return f"process {self.pid}" + (f" of {self.user}" if self.user else "")


def holder(folder: Path) -> LockHolder | None:
    """Return the process that holds the lock on a folder's journal; None if nobody does.

    The kernel lists locks with their process; one that is held over a network, or outside of what
    this process may see, only shows by being held.
    """
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
    """Return the process that locks the file of this inode; 0 for none."""
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
