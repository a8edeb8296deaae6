"""Write the runs in tools' output files to a results folder, in the format of `netlimits run`.

The folder is built next to its final place and renamed when complete. The files are kept in
raw/imported, where `reparse` reads them again. Files that cannot be parsed are reported.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netlimits import __version__, importers
from netlimits.archive import reader, store
from netlimits.archive.formats import ImportedFile, ImportedFiles
from netlimits.archive.logbook import Logbook
from netlimits.errors import ArchiveError, ArchiveUnwritable, DataError, InputError, one_line
from netlimits.experiment.configurations import identity
from netlimits.importers import names
from netlimits.importers.base import FACTORS, FILE_LIMIT, Given, ImportedRun, clean, too_large
from netlimits.model import STATUSES, Scalar
from netlimits.model.named_file import read_at_most

KEPT = Path("raw") / "imported"
MOST_FILES = 100_000
"""Maximum number of files of one import."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import: runs by status and by reason, with `file:line` of failures."""

    path: Path
    files: Sequence[ImportedFile]
    refused: Sequence[tuple[str, str]]  # (file, reason)
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    written: Sequence[Path]
    places: Mapping[str, Sequence[str]]
    offered: str  # the pattern for `--name` that the files' names suggest, or ""


@dataclass(frozen=True, slots=True)
class _Read:
    about: ImportedFile
    path: Path
    runs: list[ImportedRun]


def import_files(paths: Sequence[Path], out: Path, given: Given | None = None) -> ImportReport:
    """Parse files; write their runs to a new results folder, or add them to an imported one."""
    given = given or Given()
    before = _existing(out)
    if before is not None and not given.name:
        assert before.imported is not None
        given = replace(given, name=before.imported.get("name", ""))
    if given.name:
        names.NamePattern(given.name).check()
    known = before.imported["files"] if before is not None and before.imported else ()
    read: list[_Read] = []
    refused: list[tuple[str, str]] = []
    paths = _files(paths)
    for path, name in zip(paths, _names(paths), strict=True):
        try:
            read.append(_read(path, name, given, [*known, *(file.about for file in read)]))
        except DataError as error:
            refused.append((name, clean(str(error))))
    every = [run for file in read for run in file.runs]
    outcomes: dict[str, int] = {
        s: n for s in STATUSES if (n := sum(run.status == s for run in every))
    }
    reasons = dict(Counter(run.reason for run in every if run.reason).most_common())
    places: dict[str, list[str]] = {reason: [] for reason in reasons}
    for file in read:
        for run in file.runs:
            if run.reason:
                places[run.reason].append(f"{file.about['file']}:{run.line}")
    written: tuple[Path, ...] = ()
    if read:
        written = _build(out, read, given) if before is None else _add(before, read, given)
    guessed = None if given.name else names.guess([str(file.path.absolute()) for file in read])
    offered = guessed.text if guessed else ""
    abouts = [file.about for file in read]
    return ImportReport(out, abouts, refused, outcomes, reasons, written, places, offered)


def _existing(out: Path) -> Logbook | None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    if out.is_dir() and (out / "campaign.json").exists():
        before = reader.open(out)
        if before.imported:
            return before
    raise ArchiveError(
        f"{out}: the folder is not empty and holds no imported results; name another one with --out"
    )


def _read(path: Path, name: str, given: Given, known: Sequence[ImportedFile]) -> _Read:
    """Parse a file. Raises DataError, also if one of the `known` files has the same content."""
    data = _bytes(path, name, given.limit)
    digest = hashlib.sha256(data).hexdigest()
    if twin := next((file["file"] for file in known if file["sha256"] == digest), None):
        raise DataError(f"{name}: has the same content as {twin}; its runs would count twice")
    if re.search(rb"^experiment:", data, re.MULTILINE):
        raise DataError(f"{name}: is an experiment file; measure with `netlimits run`")
    values: dict[str, Scalar] | None = {}
    if given.name:
        values = names.NamePattern(given.name).values(str(path.absolute()))
    if values is None:
        raise DataError(f"{name}: its name does not match --name {given.name!r}")
    kind, runs = importers.read(name, data, given)
    for run in runs:
        if conflict := names.conflict(values, run.values):
            raise DataError(f"{name}:{run.line}: {conflict}; choose another name in --name")
    about = ImportedFile(
        file=name,
        kept=f"{len(known) + 1:03d}-{_safe(path.name)}",
        format=kind,
        sha256=digest,
        bytes=len(data),
        runs=len(runs),
        repaired=sum(run.repaired for run in runs),
    )
    if values:
        about["values"] = values
    return _Read(about, path, runs)


def reparse(imported: Logbook) -> tuple[int, int]:
    """Parse the kept files again; return the number of runs, and of changed runs.

    The caller holds the lock of the journal.
    """
    about = imported.imported
    assert about is not None
    events = (event for event in imported.archive.events() if event["event"] == "imported")
    before = {row["run"]: row for event in events for row in event["rows"]}
    read = changed = 0
    for file, given in ((file, _given(part)) for part in about["parts"] for file in part["files"]):
        path = imported.path / KEPT / _safe(file["kept"])
        try:
            data = imported.archive.folder.read(f"{KEPT}/{_safe(file['kept'])}", file["bytes"])
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: {one_line(error)}") from None
        if hashlib.sha256(data).hexdigest() != file["sha256"]:
            raise ArchiveError(f"{path}: was changed since the import; restore the original file")
        _, runs = importers.read(file["file"], data, given)
        if len(runs) != file["runs"]:
            raise ArchiveError(
                f"{path}: contained {file['runs']} runs when imported and {len(runs)} now; "
                "import it again"
            )
        rows = _rows(file, runs, given, read + 1)
        changed += sum(before.get(row["run"]) != row for row in rows)
        if any(before.get(row["run"]) != row for row in rows):
            imported.archive.append("imported", file=file["file"], rows=rows)
        read += len(rows)
    return read, changed


def _given(part: Mapping[str, Any]) -> Given:
    return Given(
        tuple(part["columns"]),
        part["selectors"],
        part["factors_given"],
        part.get("name", ""),
        part.get("limit") or FILE_LIMIT,
    )


def _build(out: Path, read: Sequence[_Read], given: Given) -> tuple[Path, ...]:
    """Write the folder completely or not at all; return the paths of its tables."""
    stage = out.parent / f".{out.name}.{os.getpid()}"
    meta: dict[str, Any] = {
        "netlimits": __version__,
        "experiment": "imported",
        "file": "",
        "overrides": [],
        "seed": None,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machines": {},
        "features": {},
        "shared_kernel": None,
        "imported": _sources(read, given),
    }
    try:
        archive = store.Archive.create(stage, meta)
        archive.folder.make(f"{KEPT}")
        for file in read:
            _keep(archive, file)
        archive.lock()
        first = 1
        for file in read:
            name, runs = file.about["file"], file.runs
            archive.append("imported", file=name, rows=_rows(file.about, runs, given, first))
            first += len(runs)
        archive.close()
        written = reader.open(stage).write_results()
        stage.replace(out)
    except ArchiveUnwritable as error:
        raise ArchiveError(f"{out}: {error}; choose a folder with --out") from None
    except OSError as error:
        raise ArchiveError(f"{out}: {error.strerror}; choose a folder with --out") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return tuple(out / path.name for path in written)


def _add(before: Logbook, read: Sequence[_Read], given: Given) -> tuple[Path, ...]:
    """Add files to imported results; return the tables' paths.

    After an error, files before it stay added. No file is added in part.
    """
    archive = before.archive
    archive.lock()
    try:
        first = len(before.records()) + 1
        for file in read:
            _keep(archive, file)
            rows = _rows(file.about, file.runs, given, first)
            added = _sources([file], given)
            archive.append("imported", file=file.about["file"], rows=rows, added=added)
            first += len(rows)
    except OSError as error:
        raise ArchiveError(f"{before.path}: {error.strerror}") from None
    finally:
        archive.close()
    return reader.open(before.path).write_results()


def _keep(archive: store.Archive, file: _Read) -> None:
    """Copy a file to raw/imported. Raises ArchiveError if it was changed meanwhile."""
    data = _bytes(file.path, file.about["file"], file.about["bytes"])
    if hashlib.sha256(data).hexdigest() != file.about["sha256"]:
        raise ArchiveError(f"{file.about['file']}: changed during the import; import it again")
    archive.folder.write(f"{KEPT}/{file.about['kept']}", data)


def _sources(read: Sequence[_Read], given: Given) -> ImportedFiles:
    """Return the entry of campaign.json. Factors from file names come first, then known factors."""
    named = dict.fromkeys(name for file in read for name in file.about.get("values", ()))
    stated = {name for file in read for run in file.runs for name in run.values}
    every = [*named, *(name for name in FACTORS if name in stated), *given.factors, *sorted(stated)]
    return ImportedFiles(
        files=[file.about for file in read],
        factors=[*dict.fromkeys(every)],
        columns=list(given.columns),
        selectors=dict(given.selectors),
        factors_given=dict(given.factors),
        name=given.name,
        limit=given.limit,
    )


def _rows(
    file: ImportedFile, runs: Sequence[ImportedRun], given: Given, first: int
) -> list[dict[str, Any]]:
    rows = []
    for number, run in enumerate(runs, first):
        values = {**given.factors, **file.get("values", {}), **run.values}
        row = {
            "run": number,
            "attempt": 1,
            "file": file["file"],
            "line": run.line,
            "config": identity(values),
            "values": values,
            "status": run.status,
            "reason": run.reason,
            "started": run.started,
            "duration_s": run.figures.get("elapsed_s"),
            "figures": dict(run.figures),
        }
        rows.append(row | ({"interim": [dict(r) for r in run.interim]} if run.interim else {}))
    return rows


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files without duplicates; a folder stands for its files that are not hidden."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        if (path / "campaign.json").is_file():
            raise InputError(f"{path}: is a results folder already; read it with `netlimits table`")
        for folder, below, inside in os.walk(path):
            below[:] = sorted(name for name in below if not name.startswith("."))
            files += (Path(folder, name) for name in sorted(inside) if not name.startswith("."))
            if len(files) > MOST_FILES:
                raise DataError(f"{path}: holds more than {MOST_FILES:,} files; name fewer")
    return list({file.absolute(): file for file in reversed(files)}.values())[::-1]


def _names(paths: Sequence[Path]) -> list[str]:
    count = Counter(path.name for path in paths)
    return [clean(path.name if count[path.name] == 1 else str(path)) for path in paths]


def _bytes(path: Path, name: str, limit: int) -> bytes:
    """Return a file's bytes. Raises DataError; never blocks on a pipe or device."""
    try:
        if (size := path.stat().st_size) > limit:
            raise DataError(f"{name}: {too_large(limit, size)}")
        return read_at_most(path, limit)
    except (OSError, ValueError) as error:
        raise DataError(f"{name}: {one_line(error)}") from None


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[-80:].lstrip(".") or "file"
