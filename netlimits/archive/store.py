"""A campaign's folder: everything needed to believe it, repeat it, resume it and undo it.

    campaign.json      what this folder is: version, id, name, overrides, seed, machines
    experiment.yaml    the experiment, to the letter (none where results were imported)
    against.yaml       of a duet the experiment of its second side, to the letter
    plan.csv           the plan as it began, one row a run; the journal tells what `extend` added
    hosts/ROLE.json    each host's facts, parsed and as printed
    journal.jsonl      what happened, one event a line; the only file that grows, never rewritten
    raw/RUN-ATTEMPT.jsonl   every command of an attempt with all that it printed
    raw/imported/      the files that results were imported from
    results.csv, results.parquet   one row an attempt; made from the journal, may be deleted
    results.json       of what they were made: checksums, and how far the journal went
    parts/             of a large campaign in their place: the journal in columns (archive.parts)

The journal is appended to with one write an event, then fsynced. A process killed in the middle
leaves at most a torn last line, which is cut off when the journal is opened again; a run that
started and has no end was interrupted. Raw output is on disk before anything parses it.

Nothing in the folder is opened through a link (model.folder), and what was changed or lost in
it is told: the journal's lines are numbered and chained (archive.journal), the first of them has
the checksums of what is never written again, each run's events have its configuration. That the
last lines are gone is told by raw output of runs that the others do not know, and by results.json.

Version 1: the first.
Version 2: `id` in campaign.json; the journal's lines are numbered and chained, the first is
    `created`; `start`, `end` and `parsed` have `block`, `config` and `values`. Version 1 is still
    read and continued, as version 1. `end` may have `controller`, what the attempt cost here;
    before, the raw output had that as a command of no host. `parts` came later, and an older
    netlimits, which does not know them, reads the journal as before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from netlimits.archive import formats, parts, raw, registry, rolling
from netlimits.archive.checksums import made_of
from netlimits.archive.formats import json_of
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import Part
from netlimits.archive.tally import Tally
from netlimits.errors import ArchiveError, ArchiveUnwritable, one_line
from netlimits.model import Machine
from netlimits.model.folder import Folder

VERSION = 2
READ = (1, VERSION)
"""The versions that are read and continued."""

AGAINST = "against.yaml"
_RAW = re.compile(r"(\d{6,})-(\d+)\.jsonl")


class Archive:
    """One campaign's folder, open for reading, and for appending while `lock` is held."""

    def __init__(self, path: Path, version: int = VERSION) -> None:
        self.path = path
        self.folder = Folder(path)
        self.journal = Journal(self.folder, sealed=version > 1)
        self._turn = Lock()
        self._bound: Mapping[str, Machine] | None = None
        self._parts: tuple[Part, ...] = ()
        self._rolling = True
        self.on_part: Callable[[str], None] = lambda _: None
        """Told of the checksum of each part that is written."""

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
        """A new folder with everything but runs; `campaign.json`, which makes it one, comes last.

        Just before that `register` is told of it, but for its logins. What is imported has
        neither experiment nor hosts nor plan. Raises ArchiveError when the
        folder exists and is not empty, or cannot be written; then nothing of it is left.
        """
        archive = cls(path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise ArchiveError(f"{path}: is not empty; name another folder with --out")
            try:
                about = {"version": VERSION, "id": secrets.token_hex(16), **meta}
                texts = {"experiment.yaml": text, AGAINST: against}
                archive._fill(about, texts, hosts or {}, write_plan, register)
            except BaseException:
                archive._empty(hosts or {})
                raise
        except OSError as error:
            why = one_line(error)
            raise ArchiveError(f"{path}: {why}; choose a folder with --out") from None
        return archive

    def _fill(
        self,
        meta: Mapping[str, Any],
        texts: Mapping[str, str],
        hosts: Mapping[str, Any],
        write_plan: Callable[[TextIO], object] | None,
        register: Callable[[Folder, registry.Registration], None] | None,
    ) -> None:
        folder, about = self.folder, _pretty(meta).encode("utf-8", "backslashreplace")
        digests = {"campaign.json": sha256(about).hexdigest()}
        for name in ("raw", "hosts"):
            folder.make(name)
        for name, content in {
            **{name: text for name, text in texts.items() if text},
            **{f"hosts/{role}.json": _pretty(facts) for role, facts in hosts.items()},
        }.items():
            folder.write(name, content)
            digests[name] = folder.digest(name)
        if write_plan:
            with folder.whole("plan.csv") as file:
                plan = TextIOWrapper(file, "utf-8", newline="", write_through=False)
                write_plan(plan)
                plan.flush()
                plan.detach()
            digests["plan.csv"] = folder.digest("plan.csv")
        first = {"event": "created", "at": time.time(), "files": digests}
        line = Head().sealed(json.dumps(first).encode())
        folder.write("journal.jsonl", line)
        if register:
            extent = (1, len(line), sha256(line).hexdigest())
            campaign = digests["campaign.json"]
            register(folder, registry.begun(meta["id"], folder, campaign, extent))
        folder.write("campaign.json", about)

    def _empty(self, hosts: Mapping[str, Any]) -> None:
        """Remove what was created in a folder that was empty before."""
        names = ("experiment.yaml", AGAINST, "plan.csv", "journal.jsonl", "campaign.json")
        for name in (*names, *(f"hosts/{role}.json" for role in hosts)):
            try:
                self.folder.remove(name)
            except OSError:
                continue
        for name in ("raw", "hosts", "."):
            try:
                (self.path / name).rmdir()
            except OSError:
                continue

    @classmethod
    def open(cls, path: Path) -> Archive:
        """The campaign in a folder. Raises ArchiveError when it holds none or another version's."""
        try:
            meta = json_of(Folder(path), "campaign.json")
            version = meta["version"]
        except FileNotFoundError:
            raise ArchiveError(f"{path}: holds no campaign (no campaign.json)") from None
        except NotADirectoryError:
            raise ArchiveError(f"{path}: is a file, not a campaign's folder") from None
        except OSError as error:
            raise ArchiveError(f"{_at(path, error)}: {one_line(error)}") from None
        except (ValueError, KeyError, TypeError):
            raise ArchiveError(f"{path / 'campaign.json'}: is no campaign's description") from None
        if version not in READ or isinstance(version, bool):
            raise ArchiveError(
                f"{path / 'campaign.json'}: is of version {version} of the archive, this netlimits "
                f"reads versions 1 to {VERSION}; use the netlimits that made it "
                f"({meta.get('netlimits', '?')})"
            )
        return cls(path, version)

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
        """The campaign's unique id; "" for an archive of version 1."""
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
        """Raise ArchiveError for a file that is not what it was when the campaign began.

        Version 1 knows nothing of that.
        """
        for name in names:
            if name not in self._created:
                continue
            try:
                digest = self.folder.digest(name)
            except OSError as error:
                raise ArchiveError(f"{self.path / name}: {one_line(error)}") from None
            if digest != self._created[name]:
                raise ArchiveError(
                    f"{self.path / name}: was changed since the campaign began; put it back, or "
                    "start a new campaign"
                )

    @cached_property
    def _created(self) -> Mapping[str, str]:
        """The checksums in the journal's first line; none in version 1."""
        if not self.journal.sealed:
            return {}
        first = next((event for _, event in self.journal.events()), None)
        if first is None or first["event"] != "created":
            raise ArchiveError(f"{self.journal.path}:1: is lost, or was changed")
        return dict(first["files"])

    # -- the journal ------------------------------------------------------------------------

    def lock(self) -> None:
        """Open the journal for appending, for this process alone; cut off a torn last line.

        Raises ArchiveError when another process holds it, it cannot be written, or is damaged.
        """
        witnesses = self._witnesses()
        self._parts = self.parts()
        if self._parts:
            self.journal.lock(self._parts[-1].end, self._parts[-1].block)
        else:
            self.journal.lock()
        try:
            self._hold_to(witnesses, self.journal.head.lines)
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

    def events(self) -> Iterator[dict[str, Any]]:
        """The journal's events in order, a torn last line left out.

        Raises ArchiveError naming the line that is damaged, changed or lost, and when it is known
        that it had more.
        """
        return (event for _, event in self.numbered())

    def numbered(self, begin: Head | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """The same, each with its line; those after a place that is known, where it is given."""
        witnesses = self._witnesses()  # before the journal, which may grow meanwhile
        line = begin.lines if begin else 0
        for line, event in self.journal.events(begin):
            yield line, event
        self._hold_to(witnesses, line)

    def parts(self) -> tuple[Part, ...]:
        """The parts that are of this journal, in order (archive.parts)."""
        return parts.of_journal(parts.written(self.folder), self.journal)

    def tally(self, after: Sequence[Part]) -> Tally:
        """What the journal tells after these parts, counted. Raises as `events` does."""
        tally = Tally.after(after[-1].about if after else None)
        kept = self.raw_attempts()  # before the journal, which may grow meanwhile
        self.take_tail(tally, after)
        highest = max((part.about["highest"] for part in after), default=0)
        self.refuse_lost(a for a in kept - tally.attempts.keys() if a[0] > highest)
        return tally

    def take_tail(self, told: Tally | rolling.Stretch, after: Sequence[Part]) -> None:
        """Add what the journal tells after these parts. Raises ArchiveError as `events` does."""
        witnesses = self._witnesses()
        begin = after[-1].end if after else Head()
        self._hold_to(witnesses, rolling.take_in(told, self.journal, begin))

    def own_parts(self) -> tuple[Part, ...]:
        """Those up to the last one that this user is known to have written here.

        What is put back on hosts goes by no others: a folder may have got parts from elsewhere.
        """
        entry = registry.entry(self.identity) if self.identity else None
        parts = self.parts()
        own = [n for n, part in enumerate(parts, 1) if entry and part.about["sha256"] == entry.part]
        return parts[: own[0]] if own else ()

    def extensions(self) -> list[dict[str, Any]]:
        """Each `extended` event, by which runs were added to the plan."""
        parts = self.parts()
        added = ({**event} for part in parts for event in part.about["extended"])
        return [*added, *self.journal.extensions(parts[-1].end if parts else None)]

    def roll(self) -> bool:
        """Write the next part, where there is enough for one; whether it was. The lock is held.

        It is for readers' sake alone: where it cannot be written, nothing is lost.
        """
        if not self._rolling:
            return False
        try:
            part = rolling.next_part(self.journal, self._parts)
        except (OSError, ArchiveError):  # whoever reads the journal is told of the latter
            self._rolling = False
            return False
        if part:
            self._parts = (*self._parts, part)
            self.on_part(part.about["sha256"])
        return part is not None

    def roll_all(self) -> None:
        """Write every part that is due, and those again whose files are lost or damaged."""
        from netlimits.archive import chunks

        sound = next((n for n, p in enumerate(self._parts) if not chunks.whole(self, p)), None)
        self._parts = self._parts[:sound]
        while self.roll():
            pass

    def extent(self) -> tuple[int, int, str]:
        """How far the journal goes, as whoever holds its lock knows: lines, bytes, SHA-256."""
        head = self.journal.head
        return head.lines, head.size, self.journal.digest.hexdigest()

    def _witnesses(self) -> tuple[tuple[int, str], ...]:
        """(lines, when) of each earlier time at which the journal's number of lines is known."""
        witnesses = []
        if sources := made_of(self.folder):
            witnesses.append((sources["lines"], "when results.csv was made of it"))
        if written := parts.written(self.folder):
            last = written[-1].about["end"][0]
            witnesses.append((last, f"when {parts.json_name(written[-1].number)} was made of it"))
        try:
            entry = registry.entry(self.identity) if self.identity else None
            with self.folder.reader("journal.jsonl") as journal:
                if entry and os.fstat(journal.fileno()).st_ino == entry.inode:
                    witnesses.append((entry.lines, "when it was last written to"))
        except OSError:
            pass  # the journal's reader says what is wrong with it
        return tuple(witnesses)

    def _hold_to(self, witnesses: tuple[tuple[int, str], ...], lines: int) -> None:
        for recorded, when in witnesses:
            if lines < recorded:
                raise ArchiveError(
                    f"{self.journal.path}:{lines + 1}: is lost, and all after it: it had "
                    f"{recorded} lines {when}; put it back from a copy"
                )

    # -- raw output -------------------------------------------------------------------------

    def raw_path(self, run: int, attempt: int) -> Path:
        """Where an attempt's commands and their output are kept."""
        return self.path / _raw_name(run, attempt)

    def write_raw(self, run: int, attempt: int, entries: Iterable[raw.RawEntry]) -> str:
        """Keep what an attempt's commands printed, on disk when this returns; its SHA-256.

        Raises ArchiveUnwritable where the disk does not take it.
        """
        data = "".join(map(raw.line, entries)).encode("utf-8", "backslashreplace")
        try:
            self.folder.write(_raw_name(run, attempt), data)
        except OSError as error:
            path = self.raw_path(run, attempt)
            raise ArchiveUnwritable(f"{path}: {one_line(error)}") from None
        return hashlib.sha256(data).hexdigest()

    def read_raw(self, run: int, attempt: int, sha256: str = "") -> list[raw.RawEntry]:
        """What an attempt's commands printed, in order.

        Raises ArchiveError when it is not kept, and when it has not the checksum that is known.
        """
        path = self.raw_path(run, attempt)
        try:
            with self.folder.reader(_raw_name(run, attempt)) as file:
                data = file.read()
            if sha256 and hashlib.sha256(data).hexdigest() != sha256:
                raise ArchiveError(
                    f"{path}: is not what was written when the run ended; put it back from a copy"
                )
            return raw.entries(data.decode("utf-8"))
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: cannot be read: {one_line(error)}") from None

    def refuse_lost(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Raise ArchiveError where there are attempts that the journal does not know of."""
        if lost := sorted(attempts):
            run, attempt = lost[0]
            raise ArchiveError(
                f"{self.journal.path}: its last lines are lost: it does not know of attempt "
                f"{attempt} at run {run}, whose output is {self.raw_path(run, attempt)}; put it "
                "back from a copy"
            )

    def raw_attempts(self) -> set[tuple[int, int]]:
        """The attempts, as (run, attempt), of which raw output is kept.

        Raises ArchiveError where `raw` cannot be listed.
        """
        try:
            names = self.folder.names("raw")
        except FileNotFoundError:  # an archive that was made small: figures without raw output
            return set()
        except OSError as error:
            raise ArchiveError(f"{self.path / 'raw'}: {one_line(error)}") from None
        return {(int(m[1]), int(m[2])) for m in map(_RAW.fullmatch, names) if m}


# -- records: what the events say about runs ------------------------------------------------


def _at(path: Path, error: OSError) -> Path:
    """The path that an error is about, where it is a file in the folder."""
    return path / "campaign.json" if error.errno in (errno.ELOOP, errno.EINVAL) else path


def _raw_name(run: int, attempt: int) -> str:
    return f"raw/{run:06d}-{attempt}.jsonl"


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
