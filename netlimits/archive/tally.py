"""What a section of a journal says of its campaign, counted: what `status` tells.

The tallies of sections that follow one another are added up. An attempt that goes on at the end of
one, as those of a mesh may, is counted in the next one. That is exact as long as no attempt is told
of again (`again`), and no two sections have an outcome of the same run (`runs`): so it is of every
campaign of two hosts that was not parsed again. Else the columns are asked (archive.rolled).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.archive.formats import PartFooter
from netlimits.model import decoding


@dataclass(slots=True)
class OpenChanges:
    """The `found` events that no `put_back` or `forgotten` has answered yet."""

    open: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    def add(self, event: Mapping[str, Any]) -> None:
        """Take note of an event; those of other kinds change nothing."""
        if event["event"] not in ("found", "put_back", "forgotten"):
            return
        place = (event["role"], event["interface"], event["setting"])
        if event["event"] == "found":
            first = self.open.get(place, event)
            self.open[place] = {**first, "state": {**event["state"], **first["state"]}}
        else:
            self.open.pop(place, None)

    @property
    def unfinished(self) -> tuple[dict[str, Any], ...]:
        """One event for each place, in the order of the first; each part as it was found first."""
        return tuple(self.open.values())

    @classmethod
    def of(cls, unfinished: Iterable[Mapping[str, Any]]) -> OpenChanges:
        """Those that were open before."""
        return cls({(e["role"], e["interface"], e["setting"]): {**e} for e in unfinished})


@dataclass(slots=True)
class Tally:
    """The counts of one section; `open` are changes that were open before it, too."""

    changes: OpenChanges = field(default_factory=OpenChanges)
    attempts: dict[tuple[int, int], tuple[str, str, bool]] = field(default_factory=dict)
    """(run, attempt) -> status, reason and whether it was disturbed, in the order of starts."""
    configurations: dict[int, str] = field(default_factory=dict)
    """Run -> its configuration."""
    reconnected: list[str] = field(default_factory=list)
    extended: list[dict[str, Any]] = field(default_factory=list)
    opened: float | None = None
    again: bool = False
    going: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    """(run, attempt) -> the `start` of each attempt without an end, of the process at work."""

    @classmethod
    def after(cls, footer: PartFooter | None) -> Tally:
        """An empty one, but for what was open at the end of a part (formats.PartFooter)."""
        if footer is None:
            return cls()
        tally = cls(OpenChanges.of(footer["unfinished"]))
        for start in footer["going"]:
            tally.add(start)
        return tally

    def add(self, event: Mapping[str, Any]) -> None:
        """Count an event."""
        name = event["event"]
        self.changes.add(event)
        if name == "opened":
            self.opened = float(event["at"]) if decoding.has(event.get("at"), float) else None
            self.going = {}
        elif name == "reconnected":
            self.reconnected.append(event["role"])
        elif name == "extended":
            self.extended.append(dict(event))
        elif name == "start":
            self.attempts[event["run"], event["attempt"]] = ("interrupted", CUT_OFF, False)
            self.going[event["run"], event["attempt"]] = {**event}
            self.configurations[event["run"]] = event["config"]
        elif name in ("end", "parsed"):
            key = (event["run"], event["attempt"])
            self.going.pop(key, None)
            self.again |= key not in self.attempts
            self.configurations[event["run"]] = event["config"]
            ok = event["status"] == "ok"
            disturbed = ok and bool(event["figures"].get("disturbed_pct"))
            self.attempts[key] = (event["status"], event["reason"], disturbed)

    @property
    def outcomes(self) -> dict[int, str]:
        """The outcome of each run that has one here."""
        return {
            run: status
            for (run, _), (status, _, _) in self.attempts.items()
            if status != "interrupted"
        }


CUT_OFF = "the process ended before the run did"
"""The reason of an attempt that has no end."""
