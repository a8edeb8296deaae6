"""Raw output: the result of each command of an attempt, one JSON object per line.

    raw/RUN-ATTEMPT.jsonl         output of one attempt, on disk before anything parses it
    raw/NUMBER.runs-LOW-HIGH.zst  output of many attempts (archive.packs)

The output of an attempt is in one of these files. While a pack is written it is in both, and then
the attempt's own file counts.

`step` is the purpose of a command. These steps are parsed: `before` and `after` (/proc/stat of each
host) around `client` (the tool), `before NAME` and `after NAME` (evidence), `sample` (samples
during the run), `drops` (packets that the kernel dropped, by reason), `trace` (packets), `before
watch` and `after watch` (changes by others), `after setting` (each setting read back after the
run), `profile` (stacks of a profiled run), `guard` (whether a host's guard restored settings during
the run). The results of other steps are only stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from netlimits.archive import formats, packs
from netlimits.archive.packs import Contents, Pack
from netlimits.archive.parts import Attempt
from netlimits.errors import ArchiveError, ArchiveUnwritable, ToolFailure, one_line
from netlimits.model import Command, Completed, decoding
from netlimits.model.folder import Folder


@dataclass(frozen=True, slots=True)
class RawEntry:
    """A command of an attempt: its purpose (`step`) and its result."""

    step: str
    completed: Completed

    @property
    def host(self) -> str:
        return self.completed.host

    @property
    def stdout(self) -> str:
        return self.completed.stdout

    @property
    def argv(self) -> tuple[str, ...]:
        return self.completed.command.argv


def line(entry: RawEntry) -> bytes:
    """Return an entry as a line; bytes of arguments that are not UTF-8 are escaped."""
    completed = entry.completed
    fields = {
        "step": entry.step,
        "host": completed.host,
        "argv": list(completed.command.argv),
        "sudo": completed.command.sudo,
        "deadline": completed.command.deadline,
        "status": completed.status,
        "seconds": completed.seconds,
        "timed_out": completed.timed_out,
        "truncated": completed.truncated,
        "stdout": completed.stdout,
        "stderr": completed.stderr,
    }
    try:
        return msgspec.json.encode(fields) + b"\n"
    except UnicodeEncodeError:
        text = json.dumps(fields, ensure_ascii=False) + "\n"
        return text.encode("utf-8", "backslashreplace")


def parsed(text: str) -> list[RawEntry]:
    """Parse raw output into entries, without the commands' standard input. Raises ValueError."""
    # split at line feeds only: output may contain other line breaks of splitlines()
    lines = [decoding.parsed(ln) for ln in text.split("\n") if ln]
    if not decoding.has(lines, list[formats.RawLine]):
        raise ValueError("it is damaged")
    return [RawEntry(fields["step"], _completed(fields)) for fields in lines]


def _completed(fields: formats.RawLine) -> Completed:
    return Completed(
        host=fields["host"],
        command=Command(tuple(fields["argv"]), fields["sudo"], fields["deadline"]),
        status=fields["status"],
        stdout=fields["stdout"],
        stderr=fields["stderr"],
        seconds=fields["seconds"],
        timed_out=fields["timed_out"],
        truncated=fields["truncated"],
    )


BEFORE, CLIENT, AFTER, SAMPLE, TRACE = "before", "client", "after", "sample", "trace"

DROPS = "drops"

WATCH_BEFORE, WATCH_AFTER = f"{BEFORE} watch", f"{AFTER} watch"

SETTING_AFTER = f"{AFTER} setting"

GUARD, PROFILE = "guard", "profile"

_RAW = re.compile(r"(\d{6,})-(\d+)\.jsonl")


class RawOutput:
    """The raw output in a results folder, in files of single attempts and in packs."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._last: Contents | None = None

    def path(self, run: int, attempt: int) -> Path:
        return self.folder.path / _name(run, attempt)

    def write(self, run: int, attempt: int, entries: Iterable[RawEntry]) -> str:
        """Write an attempt's entries to disk; return their SHA-256. Raises ArchiveUnwritable."""
        data = b"".join(map(line, entries))
        try:
            self.folder.write(_name(run, attempt), data)
        except OSError as error:
            raise ArchiveUnwritable(f"{self.path(run, attempt)}: {one_line(error)}") from None
        return hashlib.sha256(data).hexdigest()

    def read(self, run: int, attempt: int, sha256: str = "") -> list[RawEntry]:
        path = self.path(run, attempt)
        try:
            try:
                with self.folder.reader(_name(run, attempt)) as file:
                    data = file.read()
            except FileNotFoundError:
                path, data = self._packed((run, attempt))
            if sha256 and hashlib.sha256(data).hexdigest() != sha256:
                raise ArchiveError(
                    f"{path}: is not what was written when the run ended; restore it from a copy"
                )
            return parsed(data.decode("utf-8"))
        except (OSError, ValueError) as error:
            raise ArchiveError(
                f"{path}: cannot be read: {one_line(error)}; restore it from a copy"
            ) from None

    def attempts(self, above: int = 0) -> set[Attempt]:
        """Return the attempts that have raw output and a run number larger than `above`."""
        names = self.names()
        kept = {attempt for attempt in files(names) if attempt[0] > above}
        for pack in packs.packs(names):
            if pack.high > above:
                with suppress(ArchiveError):
                    places = self._contents(pack).places
                    kept |= {attempt for attempt in places if attempt[0] > above}
        return kept

    def names(self) -> list[str]:
        """Return the names in the folder `raw`. Raises ArchiveError if it cannot be listed."""
        try:
            return self.folder.names("raw")
        except FileNotFoundError:  # an archive may be published without raw output
            return []
        except OSError as error:
            raise ArchiveError(f"{self.folder.path / 'raw'}: {one_line(error)}") from None

    def refuse_lost(self, attempts: Iterable[Attempt]) -> None:
        """Raise ArchiveError for `attempts` with raw output whose events are lost, if any."""
        if lost := sorted(attempts):
            run, attempt = lost[0]
            raise ArchiveError(
                f"{self.folder.path / 'journal.jsonl'}: its last lines are lost: it lacks attempt "
                f"{attempt} at run {run}, whose output is {self._place(run, attempt)}; restore it "
                "from a copy"
            )

    def pack(self, attempts: Iterable[Attempt]) -> bool:
        """Move these attempts from their files into a pack; return True if there were any.

        The pack is read back before the files are removed. Links and too large files are left out.
        If it raises OSError or ArchiveError, no file was removed.
        """
        names = self.names()
        kept = set(files(names))
        chosen = sorted(attempt for attempt in attempts if attempt in kept and self._fits(attempt))
        if not chosen:
            return False
        number = max((pack.number for pack in packs.packs(names)), default=0) + 1
        pack = Pack(number, chosen[0][0], chosen[-1][0])
        with self.folder.atomic(pack.name) as file:
            packs.write(file, self._bytes(chosen))
        self.folder.sync("raw")
        try:
            held = self._held(pack)
        except ArchiveError:
            held = []
        if held != chosen:
            self.folder.remove(pack.name)
            raise OSError(f"{pack.name}: does not read back")
        self._remove(chosen)
        return True

    def finish(self) -> None:
        """Complete the packing that a killed process began. Raises OSError, and ArchiveError."""
        names = self.names()
        for name in packs.left_over(names):
            self.folder.remove(name)
        runs = sorted(run for run, _ in files(names))
        for pack in packs.packs(names):
            after = bisect_left(runs, pack.low)
            if after < len(runs) and runs[after] <= pack.high:
                self._remove(self._held(pack))

    def _held(self, pack: Pack) -> list[Attempt]:
        """Return the attempts whose files are byte for byte in a pack."""
        contents, held = self._contents(pack), []
        kept = set(files(self.names()))
        for attempt in contents.places:
            if attempt in kept:
                ((_, data),) = self._bytes([attempt])
                held += [attempt] if self._inflated(contents, attempt) == data else []
        return held

    def _remove(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            self.folder.remove(_name(*attempt))

    def _fits(self, attempt: Attempt) -> bool:
        try:
            with self.folder.reader(_name(*attempt)) as file:
                return os.fstat(file.fileno()).st_size <= packs.ATTEMPT_LIMIT
        except OSError:  # for example, a symbolic link, which is not followed
            return False

    def _bytes(self, attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, bytes]]:
        for attempt in attempts:
            with self.folder.reader(_name(*attempt)) as file:
                yield attempt, file.read(packs.ATTEMPT_LIMIT)

    def _packed(self, attempt: Attempt) -> tuple[Path, bytes]:
        contents = self._last
        if contents is None or attempt not in contents.places:
            for pack in self._packs_of(attempt[0]):
                contents = self._contents(pack)
                if attempt in contents.places:
                    break
            else:
                raise FileNotFoundError(2, "No such file or directory", _name(*attempt))
        assert contents
        return self.folder.path / contents.pack.name, self._inflated(contents, attempt)

    def _packs_of(self, run: int) -> list[Pack]:
        return [pack for pack in packs.packs(self.names()) if pack.low <= run <= pack.high]

    def _place(self, run: int, attempt: int) -> Path:
        if not self.path(run, attempt).exists():
            for pack in self._packs_of(run):
                return self.folder.path / pack.name
        return self.path(run, attempt)

    def _contents(self, pack: Pack) -> Contents:
        """Return the content of a pack; the pack that was read last is cached."""
        if self._last is None or self._last.pack != pack:
            try:
                self._last = Contents(self.folder, pack)
            except (OSError, packs.DamagedPack) as error:
                raise self._lost(pack, error) from None
        return self._last

    def _inflated(self, contents: Contents, attempt: Attempt) -> bytes:
        try:
            return contents.read(attempt)
        except (OSError, packs.DamagedPack) as error:
            raise self._lost(contents.pack, error) from None

    def _lost(self, pack: Pack, error: Exception) -> ArchiveError:
        path = self.folder.path / pack.name
        return ArchiveError(f"{path}: {one_line(error)}; restore it from a copy")


def files(names: Iterable[str]) -> Iterator[Attempt]:
    """Yield the attempts that have files among these names."""
    return ((int(m[1]), int(m[2])) for m in map(_RAW.fullmatch, names) if m)


def _name(run: int, attempt: int) -> str:
    return f"raw/{run:06d}-{attempt}.jsonl"


def output(entries: Iterable[RawEntry], step: str, host: str) -> Completed:
    """Return the result of a step on a host. Raises ToolFailure if it is missing."""
    for entry in entries:
        if entry.step == step and entry.host == host:
            return entry.completed
    raise ToolFailure(f"the raw output has no {step!r} of {host}")
