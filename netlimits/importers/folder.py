"""Write a results folder from files, as `run` would leave it, as far as the files can tell.

The folder is built next to its final place and renamed when complete, so an interrupted import
leaves nothing behind. The files are kept in raw/imported, where `reparse` reads them again. A file
that cannot be parsed is reported, and the others are imported.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlimits import __version__, importers
from netlimits.archive import reader, store
from netlimits.archive.formats import ImportedFile
from netlimits.archive.logbook import Logbook
from netlimits.errors import ArchiveError, ArchiveUnwritable, DataError, one_line
from netlimits.experiment.configurations import identity
from netlimits.importers.base import FACTORS, FILE_LIMIT, Given, ImportedRun, clean
from netlimits.model import STATUSES
from netlimits.model.named_file import read_at_most

KEPT = Path("raw") / "imported"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    Attributes:
        path: The results folder.
        files: The imported files.
        refused: (file, reason) of the others.
        outcomes: Status -> number of runs.
        reasons: Reason -> number of runs that are not ok for it.
        written: Paths of the tables.
    """

    path: Path
    files: Sequence[ImportedFile]
    refused: Sequence[tuple[str, str]]
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    written: Sequence[Path] = field(default=())


def import_files(paths: Sequence[Path], out: Path, given: Given | None = None) -> ImportReport:
    """Parse files and write their runs to the results folder `out`.

    Without a file that can be parsed no folder is written, and `files` of the report is empty.

    Raises:
        ArchiveError: `out` is not empty or cannot be written.
    """
    given = given or Given()
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ArchiveError(f"{out}: the folder is not empty; name another one with --out")
    files: list[ImportedFile] = []
    refused: list[tuple[str, str]] = []
    runs_of_files: list[tuple[str, list[ImportedRun]]] = []
    places: list[Path] = []
    names = _names(paths)
    for path, name in zip(paths, names, strict=True):
        try:
            data = _bytes(path, name)
            digest = hashlib.sha256(data).hexdigest()
            if twin := next((file["file"] for file in files if file["sha256"] == digest), None):
                raise DataError(
                    f"{name}: has the same content as {twin}; its runs would count twice"
                )
            kind, runs = importers.read(name, data, given)
        except DataError as error:
            refused.append((name, clean(str(error))))
            continue
        kept = f"{len(files) + 1:03d}-{_safe(path.name)}"
        repaired = sum(run.repaired for run in runs)
        files.append(
            ImportedFile(
                file=name,
                kept=kept,
                format=kind,
                sha256=digest,
                bytes=len(data),
                runs=len(runs),
                repaired=repaired,
            )
        )
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
    """Parse the kept files again; the journal must be locked.

    Returns:
        How many runs were read, and how many of them changed.

    Raises:
        ArchiveError: A kept file is corrupted, or contains another number of runs than before.
    """
    about = imported.imported
    assert about is not None
    given = Given(tuple(about["columns"]), about["selectors"], about["factors_given"])
    events = (event for event in imported.archive.events() if event["event"] == "imported")
    before = {row["run"]: row for event in events for row in event["rows"]}
    read = changed = 0
    for file in about["files"]:
        path = imported.path / KEPT / _safe(file["kept"])
        try:
            data = imported.archive.folder.read(f"{KEPT}/{_safe(file['kept'])}", FILE_LIMIT)
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
        rows = _rows(file["file"], runs, given, read + 1)
        changed += sum(before.get(row["run"]) != row for row in rows)
        if any(before.get(row["run"]) != row for row in rows):
            imported.archive.append("imported", file=file["file"], rows=rows)
        read += len(rows)
    return read, changed


def _build(
    out: Path,
    files: Sequence[ImportedFile],
    places: Sequence[Path],
    runs_of_files: Sequence[tuple[str, list[ImportedRun]]],
    given: Given,
) -> tuple[Path, ...]:
    """Write the folder completely or not at all; return the paths of its tables."""
    stage = out.parent / f".{out.name}.{os.getpid()}"
    meta = _meta(files, (runs for _, runs in runs_of_files), given)
    try:
        archive = store.Archive.create(stage, meta)
        archive.folder.make(f"{KEPT}")
        for file, place in zip(files, places, strict=True):
            data = _bytes(place, file["file"])
            if hashlib.sha256(data).hexdigest() != file["sha256"]:
                raise ArchiveError(f"{file['file']}: changed during the import; import it again")
            archive.folder.write(f"{KEPT}/{file['kept']}", data)
        archive.lock()
        first = 1
        for name, runs in runs_of_files:
            archive.append("imported", file=name, rows=_rows(name, runs, given, first))
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


def _meta(
    files: Sequence[ImportedFile], runs_of_files: Iterable[list[ImportedRun]], given: Given
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
            "files": [*files],
            "factors": [*factors, *(name for name in given.factors if name not in factors)],
            "columns": list(given.columns),
            "selectors": dict(given.selectors),
            "factors_given": dict(given.factors),
        },
    }


def _rows(name: str, runs: Sequence[ImportedRun], given: Given, first: int) -> list[dict[str, Any]]:
    """Return the journal's rows for the runs of one file, numbered from `first`."""
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
    """Return the files' names for tables: the path's last part, or the whole path if ambiguous."""
    count = Counter(path.name for path in paths)
    return [clean(path.name if count[path.name] == 1 else str(path)) for path in paths]


def _bytes(path: Path, name: str) -> bytes:
    """Return a file's bytes. Raises DataError; never blocks on a pipe or device."""
    try:
        if path.is_dir():
            raise DataError(f"{name}: is a folder; name the files in it")
        if (size := path.stat().st_size) > FILE_LIMIT:
            raise DataError(
                f"{name}: is larger than {FILE_LIMIT >> 20} MiB ({size / 2**20:.0f} MiB); split it"
            )
        return read_at_most(path, FILE_LIMIT)
    except (OSError, ValueError) as error:
        raise DataError(f"{name}: {one_line(error)}") from None


def _safe(name: str) -> str:
    """Return a safe file name: no separators, no control codes, no leading dot."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[-80:].lstrip(".") or "file"
