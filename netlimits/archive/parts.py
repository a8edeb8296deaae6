"""Fold the journal into attempts and changes of settings; read the parts that replace its lines.

Tables, records, counts and pending runs are all derived from a `History`. With parts, readers of
a large campaign skip most of the journal:

    parts/000001.json             the lines of the journal that it covers, and their counts
    parts/000001.parquet          one row per attempt, as in results.csv
    parts/000001-interim.parquet  one row per interim result, if there are any

A part is written after every `ATTEMPTS` attempts or `SIZE` bytes of lines. It never changes, but is
written again if it is damaged. Its JSON, which is written last, has the checksum of its last line.
This checksum covers the whole journal up to there.
Readers ignore an invalid part, and read the journal instead.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from netlimits.archive import formats
from netlimits.archive.formats import PartFile, PartFooter
from netlimits.archive.journal import NAME, Head, Journal
from netlimits.model import decoding
from netlimits.model.folder import Folder

Attempt = tuple[int, int]
"""(run, attempt)."""

Event = dict[str, Any]

CUT_OFF = "its end was not recorded: the process ended, or its disk was full"
"""The reason of an attempt without an `end` event."""


class Outcome(NamedTuple):
    status: str
    reason: str
    disturbed: bool


class OpenChanges:
    """The `found` events without a later `put_back` or `forgotten`."""

    def __init__(self, unfinished: Iterable[Mapping[str, Any]] = ()) -> None:
        self._open = {_place(event): {**event} for event in unfinished}

    def add(self, event: Mapping[str, Any]) -> None:
        """Process a `found`, `put_back` or `forgotten` event; ignore others."""
        if event["event"] == "found":
            first = self._open.get(_place(event), event)
            self._open[_place(event)] = {**first, "state": {**event["state"], **first["state"]}}
        elif event["event"] in ("put_back", "forgotten"):
            self._open.pop(_place(event), None)

    @property
    def unfinished(self) -> tuple[Event, ...]:
        """An event for each setting, oldest first, with the state before its first change."""
        return tuple(self._open.values())


def _place(event: Mapping[str, Any]) -> tuple[str, str, str]:
    return event["role"], event["interface"], event["setting"]


class History:
    """The state of attempts, settings and hosts that results from a section of the journal.

    `attempts` are in the order of their starts. `repeated` is True if the section has events of an
    attempt that was already closed, or whose start is missing. Such an attempt may also be counted
    in another section, so that the sections' counts must not be added.
    """

    def __init__(self, before: PartFooter | None = None) -> None:
        """Start at the journal's first line, or after the part `before`."""
        self.attempts: dict[Attempt, Outcome] = {}
        self.configurations: dict[int, str] = {}
        self.changes = OpenChanges(before["unfinished"] if before else ())
        self.reconnected: Counter[str] = Counter()
        self.extended: list[Event] = []
        self.opened: float | None = None
        self.repeated = False
        self.lines = 0
        self._open: dict[Attempt, Event] = {}
        for start in before["going"] if before else ():
            self.add({**start})

    def add(self, event: Event) -> None:
        name = event["event"]
        if name in ("start", "end", "parsed"):
            self._add_attempt(event)
        elif name == "opened":
            self.opened = float(event["at"]) if decoding.has(event.get("at"), float) else None
            self.close(include_running=True)  # the process that measured them was killed
        elif name == "imported":
            for row in event["rows"]:
                self._add_attempt({"event": "end", "block": 1, "started": None, **row})
        elif name == "reconnected":
            self.reconnected[event["role"]] += 1
        elif name == "extended":
            self.extended.append(event)
        else:
            self.changes.add(event)

    def _add_attempt(self, event: Event) -> None:
        key = event["run"], event["attempt"]
        self.configurations[event["run"]] = event["config"]
        if event["event"] == "start":
            self.attempts[key] = Outcome("interrupted", CUT_OFF, disturbed=False)
            self._open[key] = event
            return
        disturbed = event["status"] == "ok" and bool(event["figures"].get("disturbed_pct"))
        self.attempts[key] = Outcome(event["status"], event["reason"], disturbed)
        self.repeated |= key not in self._open
        # an event without interim results must not keep those of the attempt's previous event
        self._open[key] = {**self._open.get(key, {}), "interim": (), **event}
        while self._open and "status" in next(iter(self._open.values())):
            self._close(next(iter(self._open)))

    def close(self, *, include_running: bool) -> None:
        """Close all attempts that have ended; with `include_running` also close all others."""
        for key in [
            key for key, event in self._open.items() if include_running or "status" in event
        ]:
            self._close(key)

    def _close(self, key: Attempt) -> None:
        self.keep(self._open.pop(key))

    def keep(self, event: Event) -> None:
        """Process the merged events of a closed attempt; subclasses override it."""

    @property
    def running(self) -> dict[Attempt, Event]:
        """The `start` events without an `end`, of the process that opened the campaign last."""
        return {key: event for key, event in self._open.items() if "status" not in event}

    @property
    def outcomes(self) -> dict[int, str]:
        return {
            run: outcome.status
            for (run, _), outcome in self.attempts.items()
            if outcome.status != "interrupted"
        }


FOLDER = "parts"
ATTEMPTS = 4096
"""Attempts per part, which ends after twice as many lines: a `start` and an `end` each."""

SIZE = 32 * 2**20
"""Bytes of the journal after which a part ends even with fewer attempts."""

_NAME = re.compile(r"(\d{6,9})\.json")


@dataclass(frozen=True, slots=True)
class Part:
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
        stem = f"{FOLDER}/{self.number:06d}"
        return f"{stem}.parquet", f"{stem}-interim.parquet"

    @property
    def files(self) -> tuple[PartFile | None, PartFile | None]:
        return self.about["attempts"], self.about["interim"]


def json_name(number: int) -> str:
    return f"{FOLDER}/{number:06d}.json"


def each(journal: Journal) -> Iterator[Part]:
    """Yield the parts in order, up to the first that is invalid or does not match the journal."""
    end = Head()
    with suppress(OSError), journal.folder.reader(NAME) as file:
        for number in itertools.count(1):
            part = _part(journal.folder, number)
            if part is None or part.begin != end or not part.end.is_in(file):
                return
            end = part.end
            yield part


def newest(folder: Folder) -> Part | None:
    """Return the valid part with the highest number, even if the journal lacks its lines."""
    newest_first = (_part(folder, n) for n in sorted(_numbers(folder), reverse=True))
    return next(filter(None, newest_first), None)


def before(folder: Folder, part: Part) -> PartFooter | None:
    """Return the footer of the previous part, None if it is missing or damaged."""
    previous = _part(folder, part.number - 1)
    return previous.about if previous else None


def can_be_added(parts: Sequence[Part], tail: History) -> bool:
    """Return True if the counts of the parts and of the lines after them can be added."""
    outcomes = tail.outcomes
    ranges = [tuple(part.about["runs"]) for part in parts if part.about["runs"]]
    ranges += [(min(outcomes), max(outcomes))] if outcomes else []
    ranges.sort()
    overlap = any(low <= high for (_, high), (low, _) in itertools.pairwise(ranges))
    return not (overlap or tail.repeated or any(part.about["repeated"] for part in parts))


def counts(history: History) -> dict[str, Any]:
    outcomes, running = history.outcomes, history.running
    return {
        "runs": [min(outcomes), max(outcomes)] if outcomes else None,
        "highest": max((run for run, _ in history.attempts), default=0),
        "repeated": history.repeated,
        **counts_of(history.attempts, running),
        "reconnected": history.reconnected,
        "opened": history.opened,
        "extended": history.extended,
        "unfinished": history.changes.unfinished,
        "going": [*running.values()],
    }


def counts_of(attempts: Mapping[Attempt, Outcome], without: Container[Attempt]) -> dict[str, Any]:
    """Return counts of the attempts that are not in `without`.

    `outcomes` counts each run once, by its last outcome. All other counts are of attempts.
    """
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
    about = formats.checked_json(folder, json_name(number), PartFooter)
    return Part(number, about) if about else None
