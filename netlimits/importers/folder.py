"""A results folder made of files: what `run` leaves, as far as files can tell it.

The folder is built beside its place and moved there when it is whole, so that nothing half made is
ever left. The files themselves are kept in raw/imported, and `reparse` reads them again. A file
that cannot be made sense of is reported and the others come in.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from netlimits import __version__, importers
from netlimits.archive import reader, store
from netlimits.archive.logbook import Logbook
from netlimits.errors import ArchiveError, ArchiveUnwritable, DataError, one_line
from netlimits.experiment.configurations import identity
from netlimits.importers.base import FACTORS, FILE_LIMIT, Given, Imported, clean
from netlimits.model import STATUSES
from netlimits.model.named_file import bounded

KEPT = Path("raw") / "imported"


@dataclass(frozen=True, slots=True)
class File:
    """A file that came in; `kept` is its name in the results folder."""

    file: str
    kept: str
    format: str
    sha256: str
    bytes: int
    runs: int
    repaired: int


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What came in and what did not; `refused` are (file, reason)."""

    path: Path
    files: Sequence[File]
    refused: Sequence[tuple[str, str]]
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    written: Sequence[Path] = field(default=())


def import_files(paths: Sequence[Path], out: Path, given: Given | None = None) -> ImportReport:
    """Read files and make the results folder `out` of their runs.

    Raises ArchiveError when `out` is in use or cannot be written. When no file can be read there
    is no folder, and `files` is empty.
    """
    given = given or Given()
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ArchiveError(f"{out}: is not empty; name another folder with --out")
    files: list[File] = []
    refused: list[tuple[str, str]] = []
    runs_of_files: list[tuple[str, list[Imported]]] = []
    places: list[Path] = []
    names = _names(paths)
    for path, name in zip(paths, names, strict=True):
        try:
            data = _bytes(path, name)
            digest = hashlib.sha256(data).hexdigest()
            if twin := next((file.file for file in files if file.sha256 == digest), None):
                raise DataError(f"{name}: is {twin} again; its runs would count twice")
            kind, runs = importers.read(name, data, given)
        except DataError as error:
            refused.append((name, clean(str(error))))
            continue
        kept = f"{len(files) + 1:03d}-{_safe(path.name)}"
        repaired = sum(run.repaired for run in runs)
        files.append(File(name, kept, kind, digest, len(data), len(runs), repaired))
        runs_of_files.append((name, runs))
        places.append(path)
    every = [run for _, runs in runs_of_files for run in runs]
    outcomes: dict[str, int] = {
        s: n for s in STATUSES if (n := sum(run.status == s for run in every))
    }
    reasons = dict(Counter(run.reason for run in every if run.reason).most_common())
    written: tuple[Path, ...] = ()
    if files:
        written = _build(out, files, places, runs_of_files, given)
    return ImportReport(out, files, refused, outcomes, reasons, written)


def reparse(imported: Logbook) -> tuple[int, int]:
    """Read the kept files again; returns how many runs were read and how many changed.

    The journal must be locked. Raises ArchiveError for a kept file that is not what it was, and
    for one that now tells of another number of runs.
    """
    about = imported.imported
    assert about is not None
    given = Given(tuple(about["columns"]), about["selectors"], about["factors_given"])
    events = (event for event in imported.archive.events() if event["event"] == "imported")
    before = {row["run"]: row for event in events for row in event["rows"]}
    read = changed = 0
    for file in (File(**fields) for fields in about["files"]):
        path = imported.path / KEPT / _safe(file.kept)
        try:
            data = imported.archive.folder.read(f"{KEPT}/{_safe(file.kept)}", FILE_LIMIT)
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: {one_line(error)}") from None
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise ArchiveError(f"{path}: is not the file that was imported")
        _, runs = importers.read(file.file, data, given)
        if len(runs) != file.runs:
            raise ArchiveError(
                f"{path}: was read as {file.runs} runs and is now read as {len(runs)}; "
                "import it again"
            )
        rows = _rows(file.file, runs, given, read + 1)
        changed += sum(before.get(row["run"]) != row for row in rows)
        if any(before.get(row["run"]) != row for row in rows):
            imported.archive.append("imported", file=file.file, rows=rows)
        read += len(rows)
    return read, changed


def _build(
    out: Path,
    files: Sequence[File],
    places: Sequence[Path],
    runs_of_files: Sequence[tuple[str, list[Imported]]],
    given: Given,
) -> tuple[Path, ...]:
    """The folder, whole or not at all; returns the paths of its tables."""
    stage = out.parent / f".{out.name}.{os.getpid()}"
    meta = _meta(files, (runs for _, runs in runs_of_files), given)
    try:
        archive = store.Archive.create(stage, meta)
        archive.folder.make(f"{KEPT}")
        for file, place in zip(files, places, strict=True):
            data = _bytes(place, file.file)
            if hashlib.sha256(data).hexdigest() != file.sha256:
                raise ArchiveError(f"{file.file}: changed while it was read")
            archive.folder.write(f"{KEPT}/{file.kept}", data)
        archive.lock()
        first = 1
        for name, runs in runs_of_files:
            archive.append("imported", file=name, rows=_rows(name, runs, given, first))
            first += len(runs)
        archive.close()
        written = reader.open(stage).write_results()
        stage.replace(out)
    except ArchiveUnwritable as error:  # nothing was touched, and nothing of it is left
        raise ArchiveError(f"{out}: {error}; choose a folder with --out") from None
    except OSError as error:
        raise ArchiveError(f"{out}: {error.strerror}; choose a folder with --out") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return tuple(out / path.name for path in written)


def _meta(
    files: Sequence[File], runs_of_files: Iterable[list[Imported]], given: Given
) -> dict[str, Any]:
    names = {name for runs in runs_of_files for run in runs for name in run.values} | {"file"}
    factors = [name for name in FACTORS if name in names]
    return {
        "netlimits": __version__,
        "experiment": "imported",
        "file": "",
        "overrides": [],
        "seed": None,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machines": {},
        "features": {},
        "shared_kernel": None,
        "imported": {
            "files": [asdict(file) for file in files],
            "factors": [*factors, *(name for name in given.factors if name not in factors)],
            "columns": list(given.columns),
            "selectors": dict(given.selectors),
            "factors_given": dict(given.factors),
        },
    }


def _rows(name: str, runs: Sequence[Imported], given: Given, first: int) -> list[dict[str, Any]]:
    """The runs of one file as the journal keeps them, numbered from `first`."""
    rows = []
    for number, run in enumerate(runs, first):
        values = {"file": name, **given.factors, **run.values}
        row = {
            "run": number,
            "attempt": 1,
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


def _names(paths: Sequence[Path]) -> list[str]:
    """What the files are called in tables: their last names, or more where those are alike."""
    count = Counter(path.name for path in paths)
    return [clean(path.name if count[path.name] == 1 else str(path)) for path in paths]


def _bytes(path: Path, name: str) -> bytes:
    """A file's bytes, within FILE_LIMIT. Raises DataError; never waits on a pipe or device."""
    try:
        if path.is_dir():
            raise DataError(f"{name}: is a folder; name the files in it")
        if (size := path.stat().st_size) > FILE_LIMIT:
            raise DataError(
                f"{name}: {size / 2**20:.0f} MiB are more than {FILE_LIMIT >> 20}; split it"
            )
        return bounded(path, FILE_LIMIT)
    except (OSError, ValueError) as error:
        raise DataError(f"{name}: {one_line(error)}") from None


def _safe(name: str) -> str:
    """A file name of our own making: no separators, no control codes, no leading dot."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[-80:].lstrip(".") or "file"
