"""Fold the journal's events into the attempts and changes that they describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from netlimits.archive.formats import PartFooter
from netlimits.model import decoding

Attempt = tuple[int, int]
"""(run, attempt)."""

Event = dict[str, Any]

CUT_OFF = "the process ended before the run did"
"""The reason of an attempt without an end."""


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
    """A section of the journal, folded.

    `repeated` is True if the section has events of an attempt that was already closed, or whose
    start is missing: counts of several sections must not be added then. `attempts` are in the order
    of their starts.
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
            self.close(include_running=True)  # the process that made them was killed
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
        # an attempt that was parsed again may have no interim results any more
        self._open[key] = {**self._open.get(key, {}), "interim": (), **event}
        while self._open and "status" in next(iter(self._open.values())):
            self._close(next(iter(self._open)))

    def close(self, *, include_running: bool) -> None:
        """Close all attempts with an end and, with `include_running`, those without one."""
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
        """The `start` of each attempt of the last process that has no end."""
        return {key: event for key, event in self._open.items() if "status" not in event}

    @property
    def outcomes(self) -> dict[int, str]:
        """Run -> its outcome in this section."""
        return {
            run: outcome.status
            for (run, _), outcome in self.attempts.items()
            if outcome.status != "interrupted"
        }
