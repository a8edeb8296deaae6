"""Parts: the journal of a large campaign in columns, so that no reader parses all of it.

    parts/000001.json             the lines of the journal that it covers, and their counts
    parts/000001.parquet          one row per attempt, as in results.csv
    parts/000001-interim.parquet  one row per interim result, if there are any

A part is derived from its lines (and from attempts that were running at the end of the previous
part), after every `ATTEMPTS` attempts, and never changed. The journal remains the authority: a
missing part is derived again. A part has the number, offset and checksum of its last line, which
covers the whole journal up to there, so a reader verifies a part by reading one line. Its JSON is
written last and has a checksum of itself and of the Parquet files (`archive.columns`). Readers
ignore an invalid part, and read the journal instead.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from netlimits.archive import formats
from netlimits.archive.formats import PartFile, PartFooter
from netlimits.archive.history import Attempt, History, Outcome
from netlimits.archive.journal import NAME, Head, Journal
from netlimits.model.folder import Folder

FOLDER = "parts"
ATTEMPTS = 4096
"""Attempts per part: at most twice as many are between the last part and the journal's end."""

SIZE = 32 * 2**20
"""Bytes of the journal after which a part ends even with fewer attempts."""

_NAME = re.compile(r"(\d{6,9})\.json")


@dataclass(frozen=True, slots=True)
class Part:
    """A part, described by its JSON."""

    number: int
    about: PartFooter

    @property
    def begin(self) -> Head:
        return Head(*self.about["begin"])

    @property
    def end(self) -> Head:
        return Head(*self.about["end"])

    @property
    def names(self) -> tuple[str, str]:
        """The names of its Parquet files, of attempts and of interim results."""
        stem = f"{FOLDER}/{self.number:06d}"
        return f"{stem}.parquet", f"{stem}-interim.parquet"

    @property
    def files(self) -> tuple[PartFile | None, PartFile | None]:
        return self.about["attempts"], self.about["interim"]


def json_name(number: int) -> str:
    return f"{FOLDER}/{number:06d}.json"


def each(journal: Journal) -> Iterator[Part]:
    """Yield the consecutive parts whose last line is in the journal."""
    end = Head()
    with suppress(OSError), journal.folder.reader(NAME) as file:
        for number in itertools.count(1):
            part = _part(journal.folder, number)
            if part is None or part.begin != end or not part.end.is_in(file):
                return
            end = part.end
            yield part


def newest(folder: Folder) -> Part | None:
    """Return the valid part with the highest number, even if its journal is another one."""
    newest_first = (_part(folder, n) for n in sorted(_numbers(folder), reverse=True))
    return next(filter(None, newest_first), None)


def before(folder: Folder, part: Part) -> PartFooter | None:
    """Return the JSON of the previous part, None if it is missing or damaged."""
    previous = _part(folder, part.number - 1)
    return previous.about if previous else None


def reach(parts: Iterable[Part]) -> tuple[Part | None, int]:
    """Return the last part, and the highest run number in any part."""
    last, highest = None, 0
    for last in parts:
        highest = max(highest, last.about["highest"])
    return last, highest


def add_up(parts: Sequence[Part], tail: History) -> bool:
    """Return True if the counts of the parts and of the lines after them can be added."""
    outcomes = tail.outcomes
    ranges = [tuple(part.about["runs"]) for part in parts if part.about["runs"]]
    ranges += [(min(outcomes), max(outcomes))] if outcomes else []
    ranges.sort()
    overlap = any(low <= high for (_, high), (low, _) in itertools.pairwise(ranges))
    return not (overlap or tail.repeated or any(part.about["again"] for part in parts))


def counts(history: History) -> dict[str, Any]:
    """Return the counts for a part's JSON."""
    outcomes, running = history.outcomes, history.running
    return {
        "runs": [min(outcomes), max(outcomes)] if outcomes else None,
        "highest": max((run for run, _ in history.attempts), default=0),
        "again": history.repeated,
        **counts_of(history.attempts, running),
        "reconnected": history.reconnected,
        "opened": history.opened,
        "extended": history.extended,
        "unfinished": history.changes.unfinished,
        "going": [*running.values()],
    }


def counts_of(attempts: Mapping[Attempt, Outcome], without: Container[Attempt]) -> dict[str, Any]:
    """Count all attempts except those in `without`: `outcomes` by run, the rest by attempt."""
    counted = [(key[0], outcome) for key, outcome in attempts.items() if key not in without]
    of_runs = {run: outcome.status for run, outcome in counted if outcome.status != "interrupted"}
    return {
        "outcomes": Counter(of_runs.values()),
        "interrupted": sum(outcome.status == "interrupted" for _, outcome in counted),
        "disturbed": sum(outcome.disturbed for _, outcome in counted),
        "reasons": Counter(outcome.reason for _, outcome in counted if outcome.reason),
    }


def _numbers(folder: Folder) -> list[int]:
    try:
        matches = map(_NAME.fullmatch, folder.names(FOLDER))
    except OSError:
        return []
    return [int(match[1]) for match in matches if match]


def _part(folder: Folder, number: int) -> Part | None:
    """Read a part's JSON; None if it is missing or damaged."""
    about = formats.summed(folder, json_name(number), PartFooter)
    return Part(number, about) if about else None
