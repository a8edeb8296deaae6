"""A campaign's folder, for reading, and for appending while its journal is locked."""

from __future__ import annotations

import errno
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from threading import Lock
from typing import Any, TextIO, TypeVar

from netlimits.archive import formats, parts, registry
from netlimits.archive.compaction import Compaction
from netlimits.archive.formats import json_of
from netlimits.archive.journal import Head, Journal
from netlimits.archive.parts import History, Part
from netlimits.archive.raw import RawOutput
from netlimits.errors import ArchiveError, one_line
from netlimits.model import Machine
from netlimits.model.folder import Folder

AGAINST = "against.yaml"

VERSION = 2
"""The version of the folder in campaign.json; other versions are not read."""

Folded = TypeVar("Folded", bound=History)

Register = Callable[[Folder, registry.Registration], None]


class Archive:
    """A campaign's folder; `raw` is its raw output, `compaction` writes parts and packs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = Folder(path)
        self.journal = Journal(self.folder)
        self.raw = RawOutput(self.folder)
        self.compaction = Compaction(self.journal, self.raw, self.sync)
        self._turn = Lock()
        self._bound: Mapping[str, Machine] | None = None

    @classmethod
    def create(
        cls,
        path: Path,
        meta: Mapping[str, Any],
        text: str = "",
        hosts: Mapping[str, Any] | None = None,
        write_plan: Callable[[TextIO], object] | None = None,
        register: Register | None = None,
        against: str = "",
    ) -> Archive:
        """Create a campaign's folder without runs; `campaign.json` is written last.

        Raises ArchiveError if the folder is not empty or cannot be written.
        """
        files = {"experiment.yaml": text, AGAINST: against}
        files |= {f"hosts/{role}.json": _pretty(facts) for role, facts in (hosts or {}).items()}
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise ArchiveError(f"{path}: is not empty; name another folder with --out")
            try:
                about = {"version": VERSION, "id": secrets.token_hex(16), **meta}
                _fill(Folder(path), about, files, write_plan, register)
            except BaseException:
                _empty(Folder(path), files)
                raise
        except OSError as error:
            why = one_line(error)
            raise ArchiveError(f"{path}: {why}; choose a folder with --out") from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Archive:
        """Open the campaign in a folder. Raises ArchiveError if it is missing or incompatible."""
        try:
            meta = json_of(Folder(path), "campaign.json")
            version = meta["version"]
        except FileNotFoundError:
            problem = _no_campaign(path) if path.is_dir() else "does not exist"
            raise ArchiveError(f"{path}: {problem}") from None
        except NotADirectoryError:
            raise ArchiveError(f"{path}: is a file, not a campaign's folder") from None
        except OSError as error:
            raise ArchiveError(f"{_at(path, error)}: {one_line(error)}") from None
        except (ValueError, KeyError, TypeError):
            raise ArchiveError(
                f"{path / 'campaign.json'}: does not describe a campaign; restore the file from "
                "a copy"
            ) from None
        if version != VERSION:
            raise ArchiveError(
                f"{path / 'campaign.json'}: has version {version} of the archive, this netlimits "
                f"reads version {VERSION}; use the netlimits that wrote it "
                f"({meta.get('netlimits', '?')})"
            )
        return cls(path)

    @property
    def meta(self) -> dict[str, Any]:
        """The content of `campaign.json`. Raises ArchiveError if it cannot be read."""
        meta: dict[str, Any] = self._json("campaign.json")
        return meta

    @cached_property
    def identity(self) -> str:
        return str(self.meta.get("id", ""))

    @property
    def machines(self) -> dict[str, Machine]:
        """Role -> machine, from campaign.json unless `bind` has set it."""
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
        """Set the machines of the roles, to restore or resume another user's campaign."""
        self._bound = machines

    def facts(self, role: str) -> dict[str, Any]:
        name = f"hosts/{role}.json"
        facts: dict[str, Any] = self._json(name)
        if not formats.is_facts_file(facts):
            raise ArchiveError(f"{self.path / name}: is damaged; restore the file from a copy")
        self.check(name)
        return facts

    def _json(self, name: str) -> Any:
        try:
            return json_of(self.folder, name)
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{self.path / name}: cannot be read: {one_line(error)}") from None

    def check(self, *names: str) -> None:
        """Raise ArchiveError for a file that has changed since the campaign started."""
        for name in names:
            if name not in self._created:
                continue
            try:
                digest = self.folder.digest(name)
            except OSError as error:
                raise ArchiveError(
                    f"{self.path / name}: {one_line(error)}; restore the file from a copy"
                ) from None
            if digest != self._created[name]:
                raise ArchiveError(
                    f"{self.path / name}: was changed since the campaign started; undo the change, "
                    "or start a new campaign"
                )

    @cached_property
    def _created(self) -> Mapping[str, str]:
        """The checksums in the journal's first line."""
        first = next((event for _, event in self.journal.events()), None)
        if first is None or first["event"] != "created":
            raise ArchiveError(
                f"{self.journal.path}:1: is lost, or was changed; restore the file from a copy"
            )
        return dict(first["files"])

    # -- appending ----------------------------------------------------------------------------

    def lock(self) -> None:
        """Lock the journal. Raises ArchiveError if it is damaged, in use, or lacks last lines."""
        known = self._known_lengths()
        self.compaction.last = last = next(reversed(self.parts()), None)
        self.journal.lock(last.end if last else None)
        try:
            self._check_length(known, self.journal.head.lines)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.journal.close()

    def append(self, event: str, **fields: Any) -> None:
        """Append an event with one write; it is on disk when this returns. Thread-safe."""
        with self._turn:
            self.journal.append({"event": event, "at": time.time(), **fields})

    def add(self, event: str, **fields: Any) -> None:
        """Append an event; the next `append` or `sync` writes it to disk. Thread-safe."""
        with self._turn:
            self.journal.append({"event": event, "at": time.time(), **fields}, durable=False)

    def sync(self) -> int:
        """Write all appended events to disk; return the journal's size in bytes."""
        with self._turn:
            self.journal.sync()
            return self.journal.head.size

    def roll(self) -> bool:
        """Write parts and packs that are due; return True if it wrote a part. Requires the lock."""
        return self.compaction.roll()

    # -- reading ------------------------------------------------------------------------------

    def events(self) -> Iterator[dict[str, Any]]:
        return (event for _, event in self.numbered())

    def numbered(self, begin: Head | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (line number, event) after a known position.

        Raises ArchiveError if a line is damaged, or lines at the end are missing.
        """
        known = self._known_lengths()  # read this first, since the journal may grow
        line = begin.lines if begin else 0
        for line, event in self.journal.events(begin):
            yield line, event
        self._check_length(known, line)

    def fold(
        self, make: Callable[[formats.PartFooter | None], Folded], known_parts: Sequence[Part] = ()
    ) -> Folded:
        """Return the history of the lines after these parts; `make` takes the last part's footer.

        Raises ArchiveError as `numbered` does, and if there is raw output of an attempt that the
        journal lacks.
        """
        last = known_parts[-1] if known_parts else None
        highest = max((part.about["highest"] for part in known_parts), default=0)
        history = make(last.about if last else None)
        kept = self.raw.attempts(above=highest)  # read this first: the journal may grow
        for history.lines, event in self.numbered(last.end if last else None):
            history.add(event)
        self.raw.refuse_lost(kept - history.attempts.keys())
        return history

    def parts(self) -> tuple[Part, ...]:
        return tuple(parts.each(self.journal))

    def own_part(self) -> Part | None:
        """Return the last part that the registry knows as written by this user.

        Only this part is trusted to say what to restore: others may have been added by anyone.
        """
        entry = registry.entry(self.identity)
        own = (p for p in self.parts() if entry and p.about["sha256"] == entry.part)
        return next(own, None)

    def check_journal(self) -> None:
        """Raise ArchiveError if the journal after its last part is damaged or lacks lines."""
        last = next(reversed(self.parts()), None)
        for _ in self.numbered(last.end if last else None):
            pass

    def extensions(self) -> list[dict[str, Any]]:
        """Return all `extended` events, which added runs to the plan."""
        added, end = [], Head()
        for part in self.parts():
            added += [{**event} for event in part.about["extended"]]
            end = part.end
        events = self.journal.having(b'"extended"', end)
        return [*added, *(event for event in events if event["event"] == "extended")]

    # -- missing lines at the end -------------------------------------------------------------

    def _known_lengths(self) -> list[tuple[int, str]]:
        """Return earlier lengths of the journal, as (number of lines, time in words)."""
        known = []
        if sources := formats.checked_json(self.folder, "results.json", formats.ResultsSources):
            known.append((sources["lines"], "when results.csv was written"))
        if last := parts.newest(self.folder):
            when = f"when {parts.json_name(last.number)} was written"
            known.append((last.about["end"][0], when))
        try:
            entry = registry.entry(self.identity)
            with self.folder.reader("journal.jsonl") as file:
                if entry and os.fstat(file.fileno()).st_ino == entry.inode:
                    known.append((entry.lines, "when it was last written to"))
        except OSError:
            pass  # the journal's reader reports the error
        return known

    def _check_length(self, known: Sequence[tuple[int, str]], lines: int) -> None:
        for length, when in known:
            if lines < length:
                raise ArchiveError(
                    f"{self.journal.path}:{lines + 1}: this line and all after it are lost: it had "
                    f"{length} lines {when}; restore it from a copy"
                )


def written(machine: Machine) -> dict[str, Any]:
    """Return a machine as it is in campaign.json, from which `Archive.machines` reads it."""
    config = machine.ssh_config
    return {**asdict(machine), "ssh_config": None if config is None else str(config.absolute())}


def _no_campaign(path: Path) -> str:
    """Return what to do about a folder without a campaign."""
    if (path / "journal.jsonl").exists():
        return "its campaign.json is missing; restore the file from a copy"
    inside = sorted(file.parent.name for file in path.glob("*/campaign.json"))
    if inside:
        more = ", …" if len(inside) > 3 else ""
        return f"holds no campaign itself; name one of its folders: {', '.join(inside[:3])}{more}"
    return (
        "holds no campaign (no campaign.json); name the folder that `netlimits run` wrote, or read "
        "the output of other tools with `netlimits import`"
    )


def _fill(
    folder: Folder,
    meta: Mapping[str, Any],
    files: Mapping[str, str],
    write_plan: Callable[[TextIO], object] | None,
    register: Register | None,
) -> None:
    about = _pretty(meta).encode("utf-8", "backslashreplace")
    digests = {"campaign.json": sha256(about).hexdigest()}
    for name in ("raw", "hosts"):
        folder.make(name)
    for name, content in files.items():
        if content:
            folder.write(name, content)
            digests[name] = folder.digest(name)
    if write_plan:
        with folder.atomic("plan.csv") as file:
            plan = TextIOWrapper(file, "utf-8", newline="", write_through=False)
            write_plan(plan)
            plan.flush()
            plan.detach()
        digests["plan.csv"] = folder.digest("plan.csv")
    created = {"event": "created", "at": time.time(), "files": digests}
    line = Head().sealed(json.dumps(created).encode())
    folder.write("journal.jsonl", line)
    if register:
        register(folder, registry.begun(meta["id"], folder, digests["campaign.json"]))
    folder.write("campaign.json", about)


def _empty(folder: Folder, files: Mapping[str, str]) -> None:
    """Remove the files that `_fill` wrote, and folders that are empty then."""
    for name in (*files, "plan.csv", "journal.jsonl", "campaign.json"):
        with suppress(OSError):
            folder.remove(name)
    for name in ("raw", "hosts", "."):
        with suppress(OSError):
            (folder.path / name).rmdir()


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _at(path: Path, error: OSError) -> Path:
    """Return the path that an error of reading campaign.json concerns."""
    return path / "campaign.json" if error.errno in (errno.ELOOP, errno.EINVAL) else path
