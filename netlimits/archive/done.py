"""Which runs have an outcome already: what `resume` leaves alone.

A bit a run, so that a campaign's memory does not grow with what was done before it went on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlimits.archive import parts
from netlimits.archive.aside import aside
from netlimits.archive.parts import Part
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError
from netlimits.model import Run

_FULL = 255


@dataclass(slots=True)
class Done:
    """The runs that have an outcome, how many of each, and the last attempt of the others."""

    path: Path
    outcomes: Counter[str] = field(default_factory=Counter)
    attempts: dict[int, int] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)
    """The configurations of runs that no part tells of, to be held to the plan."""
    _bits: bytearray = field(default_factory=lambda: bytearray([1]))  # no run has the number 0

    def __contains__(self, run: int) -> bool:
        return run >> 3 < len(self._bits) and bool(self._bits[run >> 3] & 1 << (run & 7))

    @property
    def first_left(self) -> int:
        """The first run that has no outcome: all before it have one."""
        place = next((n for n, bits in enumerate(self._bits) if bits != _FULL), len(self._bits))
        return next(run for run in range(max(1, 8 * place), 8 * place + 9) if run not in self)

    def add_all(self, low: int, high: int) -> None:
        """Add all runs from one to another."""
        full = range(-(-low // 8), high // 8)
        self.add(high)
        for run in (*range(low, min(8 * full.start, high)), *range(max(low, 8 * full.stop), high)):
            self.add(run)
        if full:
            self._bits[full.start : full.stop] = bytes([_FULL]) * len(full)
        for run in [run for run in self.attempts if low <= run <= high]:
            del self.attempts[run]

    def add(self, run: int) -> None:
        """Add a run that has an outcome."""
        if (place := run >> 3) >= len(self._bits):
            self._bits.extend(bytes(place - len(self._bits) + 1))
        self._bits[place] |= 1 << (run & 7)
        self.attempts.pop(run, None)

    def hold_to(self, run: Run) -> None:
        """Raise ArchiveError where the journal tells another configuration of a planned run."""
        if self.told.get(run.number, run.config) != run.config:
            raise ArchiveError(
                f"{self.path}: run {run.number} was measured with another configuration than "
                "experiment.yaml now gives it: that file was changed, or another version of "
                "netlimits wrote the folder"
            )


def done(archive: Archive) -> Done:
    """What the parts and the lines after them tell. Raises ArchiveError as `events` does.

    Another process reads them (archive.aside), where there are parts.
    """
    if not archive.roller.last:
        return _read(archive)
    told = aside(_told, str(archive.path))
    return Done(
        archive.journal.path,
        Counter(told["outcomes"]),
        dict(told["attempts"]),
        dict(told["told"]),
        bytearray.fromhex(told["bits"]),
    )


def _told(path: str) -> dict[str, Any]:
    """The same of a folder, as JSON holds it."""
    runs = _read(Archive.open(Path(path)))
    return {
        "outcomes": runs.outcomes,
        "attempts": [*runs.attempts.items()],
        "told": [*runs.told.items()],
        "bits": runs._bits.hex(),
    }


def _read(archive: Archive) -> Done:
    of_parts = archive.parts()
    tail = archive.tally(of_parts)
    runs = Done(archive.journal.path)
    if parts.apart(of_parts, tail):
        for part in of_parts:
            runs.outcomes.update(part.about["outcomes"])
            low, high = part.about["runs"] or (1, 0)
            if not part.about["interrupted"] and runs.outcomes and _count(part) == high - low + 1:
                runs.add_all(low, high)
                continue
            for run, attempt, status in _attempts(archive, (part,)):
                _add(runs, run, attempt, status)
        runs.outcomes.update(tail.outcomes.values())
    else:
        statuses = {}
        for run, attempt, status in _attempts(archive, of_parts):
            _add(runs, run, attempt, status)
            if status != "interrupted":
                statuses[run] = status
        runs.outcomes.update((statuses | tail.outcomes).values())
    for (run, attempt), (status, _, _) in tail.attempts.items():
        _add(runs, run, attempt, status)
    runs.told.update(tail.configurations)
    return runs


def _add(runs: Done, run: int, attempt: int, status: str) -> None:
    if status != "interrupted":
        runs.add(run)
    elif run not in runs:
        runs.attempts[run] = max(attempt, runs.attempts.get(run, 0))


def _count(part: Part) -> int:
    return sum(part.about["outcomes"].values())


def _attempts(archive: Archive, of_parts: tuple[Part, ...]) -> Iterator[tuple[int, int, str]]:
    """(run, attempt, status) of every attempt in these parts."""
    from netlimits.archive import chunks

    for part in of_parts:
        table = chunks.of_part(archive, part).table(["run", "attempt", "status"])
        yield from zip(*(column.to_pylist() for column in table.columns), strict=True)
