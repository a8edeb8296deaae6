"""A folder of version 2 made of one of version 1 (archive.versions), which stays as it is.

    .NAME.version-2   beside NAME: the new folder, until all that it tells was held against the old
    NAME.version-1    the old folder, once the new one has its place

The new one has a journal of its own, and the old one's other files under second names (hard links),
or copies where the file system has no links. A process that is killed leaves the old folder in its
place and the new one half made, which the next call makes anew; or, between two renames, none in
its place, which the next call puts there.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlimits import __version__
from netlimits.archive import creation, reader
from netlimits.archive.journal import Head, Journal
from netlimits.archive.reader import Campaign
from netlimits.archive.records import run_fields
from netlimits.archive.versions import VERSION
from netlimits.errors import ArchiveError, one_line
from netlimits.model import Run
from netlimits.model.folder import Folder

ANEW = {"journal.jsonl", "campaign.json", "results.csv", "results.parquet", "results.json"}
"""Files that the new folder has of its own."""

_LEFT = re.compile(r"\.\d+\..+")
"""What a killed process left of a file that it was writing (model.folder)."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What came of it: the folder, of which version it was, where the old one is."""

    path: Path
    version: int
    old: Path | None
    events: int


def upgraded(path: Path) -> Upgrade:
    """Make a folder one of this version. Raises ArchiveError; then it is as it was."""
    place = Path(os.path.realpath(path))
    new = place.with_name(f".{place.name}.version-{VERSION}")
    old = place.with_name(f"{place.name}.version-1")
    try:
        if not place.exists() and old.is_dir() and new.is_dir():
            events = sum(1 for _ in reader.open(new).archive.events())
            _rename(new, place)
            return Upgrade(path, 1, old, events)
        campaign = reader.open(path)
        if campaign.archive.journal.sealed:
            return Upgrade(path, VERSION, None, 0)
        if old.exists():
            raise ArchiveError(f"{old}: is there already; move it away, the old folder goes there")
        with _held(campaign.archive.journal):
            if new.exists():
                shutil.rmtree(new)
            try:
                events = _built(reader.open(place), new)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
            _rename(place, old)
            _rename(new, place)
    except OSError as error:
        raise ArchiveError(f"{error.filename or path}: {one_line(error)}") from None
    return Upgrade(path, 1, old, events)


@contextmanager
def _held(journal: Journal) -> Iterator[None]:
    """Nobody runs the campaign meanwhile. Raises ArchiveError where somebody does."""
    with journal.folder.reader("journal.jsonl") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ArchiveError(
                f"{journal.folder.path}: another netlimits is running this campaign; wait for it "
                "or end it"
            ) from None
        yield


def _built(campaign: Campaign, new: Path) -> int:
    """Build the new folder, and hold it against the old one; how many events there are."""
    new.mkdir(mode=0o700)
    folder = Folder(new)
    _take_along(campaign.path, new)
    meta = {k: v for k, v in campaign.archive.meta.items() if k not in ("version", "id")}
    origin = {"from": 1, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "netlimits": __version__}
    about = {"version": VERSION, "id": secrets.token_hex(16), **meta, "upgraded": origin}
    folder.write("campaign.json", creation.pretty(about))
    names = ["campaign.json", "experiment.yaml", creation.AGAINST, "plan.csv"]
    hosts = new / "hosts"
    names += [f"hosts/{file.name}" for file in sorted(hosts.glob("*.json"))]
    first = creation.created({name: folder.digest(name) for name in names if (new / name).exists()})
    runs = campaign.runs
    head = Head()
    with folder.whole("journal.jsonl") as file:
        for event in itertools.chain([first], _events(campaign, runs)):
            body = json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace")
            line = head.sealed(body)
            head.add(line)
            file.write(line)
    _verify(campaign, runs, new)
    _tables(reader.open(new))
    for sub in ("raw", "hosts"):
        if (new / sub).is_dir():
            folder.sync(sub)
    return head.lines


def _events(campaign: Campaign, runs: Mapping[int, Run]) -> Iterator[dict[str, Any]]:
    """The old journal's events, those of a run with its configuration."""
    for number, event in campaign.archive.numbered():
        added = {}
        if event["event"] in ("start", "end", "parsed"):
            if event["run"] not in runs:
                raise ArchiveError(
                    f"{campaign.archive.journal.path}:{number}: tells of run {event['run']}, "
                    "which the plan does not have"
                )
            added = run_fields(runs[event["run"]])
        yield {key: event[key] for key in event if key not in ("n", "crc")} | added


def _verify(campaign: Campaign, runs: Mapping[int, Run], new: Path) -> None:
    """Hold the new folder against the old one, from its disk. Raises ArchiveError."""
    archive = reader.open(new).archive
    events = archive.events()
    archive.check(*next(events)["files"])
    for number, pair in enumerate(itertools.zip_longest(_events(campaign, runs), events), 2):
        before, after = map(_text, pair)
        if before != after:
            raise ArchiveError(f"{archive.journal.path}:{number}: is not what the old journal says")
    for file in _files(campaign.path):
        name = file.relative_to(campaign.path).as_posix()
        if not os.path.samestat(file.stat(), (new / name).stat()) and (
            Folder(campaign.path).digest(name) != archive.folder.digest(name)
        ):
            raise ArchiveError(f"{new / name}: is not what {file} is")


def _text(event: Mapping[str, Any] | None) -> str:
    """An event as text: a NaN is no equal of itself."""
    return json.dumps({k: event[k] for k in event if k not in ("n", "crc")} if event else None)


def _tables(campaign: Campaign) -> None:
    """Make its tables, or its parts, as the end of a run does. Raises ArchiveError."""
    campaign.archive.lock()
    try:
        campaign.archive.roll_all()
    finally:
        campaign.archive.close()
    if problem := campaign.archive.roller.problem:
        raise ArchiveError(f"{campaign.path}: its parts cannot be written: {problem}")
    campaign.write_results()


def _take_along(source: Path, new: Path) -> None:
    """Have the other files in the new folder, too. Raises ArchiveError for a link or a device."""
    for file in _files(source):
        target = new / file.relative_to(source)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.link(file, target, follow_symlinks=False)
        except OSError:  # of a file system without links
            name = file.relative_to(source).as_posix()
            with Folder(new).whole(name) as copy, Folder(source).reader(name) as original:
                shutil.copyfileobj(original, copy)
        if not stat.S_ISREG(target.lstat().st_mode):
            raise ArchiveError(f"{file}: is no regular file")


def _files(source: Path) -> Iterator[Path]:
    """Every file of the old folder that the new one is to have, in an order."""
    for folder, folders, names in os.walk(source):
        for name in sorted({*folders, *names}):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise ArchiveError(
                    f"{path}: is a link or no file, and is not taken along; move it out of the "
                    "folder"
                )
            known = Path(folder) == source and name in ANEW
            if stat.S_ISREG(mode) and not known and not _LEFT.fullmatch(name):
                yield path
        folders.sort()


def _rename(path: Path, to: Path) -> None:
    """Rename a folder, on disk when this returns."""
    path.rename(to)
    parent = os.open(to.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)
