"""A campaign's folder: everything needed to believe it, repeat it, resume it and undo it.

    campaign.json      what this folder is: version, id, name, overrides, seed, machines
    experiment.yaml    the experiment, to the letter (none where results were imported)
    against.yaml       of a duet the experiment of its second side, to the letter
    plan.csv           the plan as it began, one row a run; the journal tells what `extend` added
    hosts/ROLE.json    each host's facts, parsed and as printed
    state/ROLE.json    each host's network state before the first change, until it was compared
    journal.jsonl      what happened, one event a line; the only file that grows, never rewritten
    raw/RUN-ATTEMPT.jsonl   every command of an attempt with all that it printed
    raw/NUMBER.runs-LOW-HIGH.zst  the same of many attempts, in their place (archive.packs)
    raw/imported/      the files that results were imported from
    results.csv, results.parquet   one row an attempt; made from the journal, may be deleted
    results.json       of what they were made: checksums, and how far the journal went
    parts/             of a large campaign in their place: the journal in columns (archive.parts)

The journal is appended to with one write an event, then fsynced: at once, but for a run's start and
end, which are on disk before anything is measured after them. A process killed in the middle
leaves at most a torn last line, which is cut off when the journal is opened again; a run that
started and has no end was interrupted. Raw output is on disk before anything parses it.

Nothing in the folder is opened through a link (model.folder), and what was changed or lost in
it is told: the journal's lines are numbered and chained (archive.journal), the first of them has
the checksums of what is never written again, each run's events have its configuration. That the
last lines are gone is told by raw output of runs that the others do not know, and by results.json.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from netlimits.archive import creation, formats, parts, registry, rolling, witnesses
from netlimits.archive.formats import json_of
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import Part
from netlimits.archive.raw import RawEntry
from netlimits.archive.raw_output import RawOutput
from netlimits.archive.roller import Roller
from netlimits.archive.tally import Tally
from netlimits.errors import ArchiveError, one_line
from netlimits.model import Machine
from netlimits.model.folder import Folder


class Archive:
    """One campaign's folder, open for reading, and for appending while `lock` is held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = Folder(path)
        self.journal = Journal(self.folder)
        self._turn = Lock()
        self._bound: Mapping[str, Machine] | None = None
        self.raw = RawOutput(self.folder)
        self.roller = Roller(self)

    @classmethod
    def create(
        cls,
        path: Path,
        meta: Mapping[str, Any],
        text: str = "",
        hosts: Mapping[str, Any] | None = None,
        write_plan: Callable[[TextIO], object] | None = None,
        register: Callable[[Folder, registry.Registration], None] | None = None,
        against: str = "",
    ) -> Archive:
        """A new folder with everything but runs (archive.creation). Raises ArchiveError."""
        creation.create(path, meta, text, hosts, write_plan, register, against)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Archive:
        """The campaign in a folder. Raises ArchiveError when it holds none or another version's."""
        try:
            meta = json_of(Folder(path), "campaign.json")
            version = meta["version"]
        except FileNotFoundError:
            what = "holds no campaign (no campaign.json)" if path.is_dir() else "is not there"
            raise ArchiveError(f"{path}: {what}") from None
        except NotADirectoryError:
            raise ArchiveError(f"{path}: is a file, not a campaign's folder") from None
        except OSError as error:
            raise ArchiveError(f"{_at(path, error)}: {one_line(error)}") from None
        except (ValueError, KeyError, TypeError):
            raise ArchiveError(f"{path / 'campaign.json'}: is no campaign's description") from None
        if version != creation.VERSION:
            raise ArchiveError(
                f"{path / 'campaign.json'}: is of version {version} of the archive, this netlimits "
                f"reads version {creation.VERSION}; use the netlimits that made it "
                f"({meta.get('netlimits', '?')})"
            )
        return cls(path)

    @property
    def meta(self) -> dict[str, Any]:
        """What `campaign.json` says. Raises ArchiveError where it cannot be read."""
        try:
            meta: dict[str, Any] = json_of(self.folder, "campaign.json")
        except (OSError, ValueError) as error:
            path = self.path / "campaign.json"
            raise ArchiveError(f"{path}: cannot be read: {one_line(error)}") from None
        return meta

    @cached_property
    def identity(self) -> str:
        """The campaign's unique id."""
        return str(self.meta.get("id", ""))

    @property
    def machines(self) -> dict[str, Machine]:
        """Role -> Machine, as the campaign was bound, or as `bind` says."""
        if self._bound is not None:
            return dict(self._bound)
        return {
            role: Machine(
                role=role,
                ssh=m["ssh"],
                interface=m["interface"],
                address=m["address"],
                ssh_config=Path(m["ssh_config"]) if m["ssh_config"] else None,
                others=tuple(m.get("others", ())),
                group=m.get("group", ""),
            )
            for role, m in self.meta["machines"].items()
        }

    def bind(self, machines: Mapping[str, Machine]) -> None:
        """Say where the roles are: whoever restores or resumes somebody else's campaign does."""
        self._bound = machines

    def facts(self, role: str) -> dict[str, Any]:
        """A host's facts as they were read when the campaign began.

        Raises ArchiveError where they cannot be read, or were changed since.
        """
        name = f"hosts/{role}.json"
        path = self.path / name
        try:
            facts: dict[str, Any] = json_of(self.folder, name)
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: cannot be read: {one_line(error)}") from None
        if not formats.facts(facts):
            raise ArchiveError(f"{path}: is damaged")
        self.check(name)
        return facts

    def check(self, *names: str) -> None:
        """Raise ArchiveError for a file that is not what it was when the campaign began."""
        for name in names:
            if name not in self._created:
                continue
            try:
                digest = self.folder.digest(name)
            except OSError as error:
                raise ArchiveError(f"{self.path / name}: {one_line(error)}") from None
            if digest != self._created[name]:
                raise ArchiveError(
                    f"{self.path / name}: was changed since the campaign began; restore it, or "
                    "start a new campaign"
                )

    @cached_property
    def _created(self) -> Mapping[str, str]:
        """The checksums in the journal's first line."""
        first = next((event for _, event in self.journal.events()), None)
        if first is None or first["event"] != "created":
            raise ArchiveError(f"{self.journal.path}:1: is lost, or was changed")
        return dict(first["files"])

    # -- the journal ------------------------------------------------------------------------

    def lock(self) -> None:
        """Open the journal for appending, for this process alone; cut off a torn last line.

        Raises ArchiveError when another process holds it, it cannot be written, or is damaged.
        """
        known = witnesses.of(self.journal, self.identity)
        last = next(iter(deque(self.each_part(), maxlen=1)), None)
        self.roller.last = last
        if last:
            self.journal.lock(last.end, last.block)
        else:
            self.journal.lock()
        try:
            witnesses.hold(self.journal, known, self.journal.head.lines)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the journal."""
        self.journal.close()

    def append(self, event: str, **fields: Any) -> None:
        """Add one event, in one write, and have it on disk when this returns.

        Several threads may: each in its turn.
        """
        with self._turn:
            self.journal.append({"event": event, "at": time.time(), **fields})

    def add(self, event: str, **fields: Any) -> None:
        """Add one event, in one write; it is on disk with the next one, or after `sync`."""
        with self._turn:
            self.journal.append({"event": event, "at": time.time(), **fields}, durable=False)

    def sync(self) -> int:
        """Have all that was appended on disk when this returns; how many bytes that is."""
        with self._turn:
            self.journal.sync()
            return self.journal.head.size

    def events(self) -> Iterator[dict[str, Any]]:
        """The journal's events in order, a torn last line left out.

        Raises ArchiveError naming the line that is damaged, changed or lost, and when it is known
        that it had more.
        """
        return (event for _, event in self.numbered())

    def numbered(self, begin: Head | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """The same, each with its line; those after a place that is known, where it is given."""
        # before the journal, which may grow meanwhile
        known = witnesses.of(self.journal, self.identity)
        line = begin.lines if begin else 0
        for line, event in self.journal.events(begin):
            yield line, event
        witnesses.hold(self.journal, known, line)

    def parts(self) -> tuple[Part, ...]:
        """The parts that are of this journal, in order (archive.parts)."""
        return parts.of_journal(parts.written(self.folder), self.journal)

    def tally(self, after: Iterable[Part]) -> Tally:
        """What the journal tells after these parts, counted. Raises as `events` does."""
        last, highest = None, 0
        for last in after:
            highest = max(highest, last.about["highest"])
        tally = Tally.after(last.about if last else None)
        kept = self.raw.attempts(above=highest)  # before the journal, which may grow meanwhile
        self.take_tail(tally, last)
        self.raw.refuse_lost(kept - tally.attempts.keys())
        return tally

    def take_tail(self, told: Tally | rolling.Stretch, last: Part | None) -> None:
        """Add what the journal tells after a part. Raises ArchiveError as `events` does."""
        known = witnesses.of(self.journal, self.identity)
        begin = last.end if last else Head()
        witnesses.hold(self.journal, known, rolling.take_in(told, self.journal, begin))

    def each_part(self) -> Iterator[Part]:
        """The same, one after another: none is kept."""
        return parts.each(self.folder, self.journal)

    def own_part(self) -> Part | None:
        """The last one that this user is known to have written here.

        What is restored on hosts goes by no others: a folder may have got parts from elsewhere.
        """
        entry = registry.entry(self.identity)
        own = (p for p in self.each_part() if entry and p.about["sha256"] == entry.part)
        return next(own, None)

    def extensions(self) -> list[dict[str, Any]]:
        """Each `extended` event, by which runs were added to the plan."""
        added, end = [], Head()
        for part in self.each_part():
            added += [{**event} for event in part.about["extended"]]
            end = part.end
        return [*added, *self.journal.extensions(end)]

    def roll(self) -> bool:
        """Write what is due of parts and packs; whether a part was. The lock is held."""
        return self.roller.roll()

    def roll_all(self) -> None:
        """Write all that is due, and those parts again whose files are lost or damaged."""
        self.roller.roll_all()

    def extent(self) -> tuple[int, int, str]:
        """How far the journal goes, as whoever holds its lock knows: lines, bytes, SHA-256."""
        head = self.journal.head
        return head.lines, head.size, self.journal.digest.hexdigest()

    # -- raw output (archive.raw_output) ------------------------------------------------------

    def raw_path(self, run: int, attempt: int) -> Path:
        """Where an attempt's commands and their output are written."""
        return self.raw.path(run, attempt)

    def write_raw(self, run: int, attempt: int, entries: Iterable[RawEntry]) -> str:
        """Keep what an attempt's commands printed; its SHA-256. Raises ArchiveUnwritable."""
        return self.raw.write(run, attempt, entries)

    def read_raw(self, run: int, attempt: int, sha256: str = "") -> list[RawEntry]:
        """What an attempt's commands printed. Raises ArchiveError as RawOutput.read does."""
        return self.raw.read(run, attempt, sha256)

    def raw_attempts(self) -> set[tuple[int, int]]:
        """The attempts of which raw output is kept. Raises ArchiveError as RawOutput.attempts."""
        return self.raw.attempts()


def _at(path: Path, error: OSError) -> Path:
    """The path that an error is about, where it is a file in the folder."""
    return path / "campaign.json" if error.errno in (errno.ELOOP, errno.EINVAL) else path
