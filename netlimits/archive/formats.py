"""What must stand in each file of a results folder.

A folder may come from somebody else, or from a disk that failed. What it holds is checked where it
is read, so that nothing further up meets a key that is missing or a text for a number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from netlimits.model import ControllerCost, Status
from netlimits.model.decoding import (
    FilePath,
    InterfaceName,
    IpAddress,
    LoginName,
    Name,
    Place,
    Scalars,
    has,
    parsed,
)
from netlimits.model.folder import Folder

FILE_LIMIT = 64 * 2**20
"""Bytes of campaign.json, and of a host's facts."""

Number = float
"""Of any kind, as long as a float can be it."""

Count = Annotated[int, Meta(gt=0, lt=2**53)]
"""What counts something from 1, as runs and their attempts do."""

Instant = Annotated[float, Meta(gt=-1e9, lt=9e9)]
"""A time in epoch seconds that a clock can show."""

Figures = dict[str, str | float | bool | None]
"""Scalars that a column of numbers can hold; `event` looks at their names."""

Values = dict[Annotated[str, Meta(min_length=1)], str | int | float | bool | None]
"""Factors and their values."""

Digests = dict[str, Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]]
"""SHA-256 in hex, by the name of a file."""


class CreatedEvent(TypedDict):
    """The first line: the checksums of the files that are never written again."""

    files: Digests


class FoundEvent(Place):
    """A setting's state before the first change; undone until `put_back` (`forgotten`) says so."""

    state: dict[str, Any]


class ComparedEvent(TypedDict):
    """The differences in hosts' network state: ours by role, and those of others, in words."""

    ours: dict[Name, list[str]]
    others: list[str]


class ExtendedEvent(TypedDict):
    """Runs were added after the plan's: so many of each configuration, ordered by this seed."""

    replicates: Count
    seed: Annotated[int, Meta(ge=0, lt=2**53)]


class StartEvent(TypedDict):
    """An attempt at a run, with the run's configuration."""

    run: Count
    attempt: Count
    started: Instant
    block: Number
    config: str
    values: Values


class AttemptFields(TypedDict):
    """The outcome of an attempt or of an imported run, with its configuration."""

    run: Count
    attempt: Count
    status: Status
    reason: str
    figures: Figures
    duration_s: Number | None
    interim: NotRequired[list[dict[str, Number]]]
    raw: NotRequired[str]
    started: NotRequired[Instant | None]
    controller: NotRequired[ControllerCost]
    config: str
    values: Values


class EndEvent(AttemptFields):
    """An attempt's outcome, and the run's configuration again."""

    block: Number


class ReconnectedEvent(TypedDict):
    """A lost connection was made again: why it was lost, after how many tries and seconds."""

    role: Name
    reason: str
    tries: int
    seconds: Number


class ImportedEvent(TypedDict):
    """Runs read from a file that was there before, all in one event; the last reading counts."""

    rows: list[AttemptFields]


EVENTS: Mapping[str, Any] = {
    "created": CreatedEvent,
    "found": FoundEvent,
    "put_back": Place,
    "forgotten": Place,
    "compared": ComparedEvent,
    "extended": ExtendedEvent,
    "start": StartEvent,
    "end": EndEvent,
    "parsed": EndEvent,
    "reconnected": ReconnectedEvent,
    "imported": ImportedEvent,
}
"""Event of the journal -> what it must hold; others may hold anything.

opened    a process starts or goes on with the campaign
put_back  it is as it was found again
forgotten it is not, and nobody is to restore it any more
compared  what hosts' whole network state differed in after the last put-back, if in anything
parsed    the same attempt, read again from raw output; the last one counts
closed    the process left in good order
"""


def event(line: bytes) -> dict[str, Any] | None:
    """The event in a line of the journal; None when it is none."""
    try:
        entry: dict[str, Any] = parsed(line)
        kind = EVENTS.get(entry["event"])
        if kind is None:
            return entry if isinstance(entry, dict) else None
        if not has(entry, kind):
            return None
        rows = entry["rows"] if kind is ImportedEvent else [entry] if kind is EndEvent else ()
        return entry if all(map(_writable, rows)) else None
    except (ValueError, KeyError, TypeError):
        return None


def _writable(outcome: Mapping[str, Any]) -> bool:
    """Whether UTF-8 can encode the names of its figures, which become names of columns.

    It cannot encode half of a pair of surrogates.
    """
    for figures in (outcome["figures"], *outcome.get("interim", ())):
        names = "".join(figures)
        if not names.isascii() and any("\ud800" <= letter < "\ue000" for letter in names):
            return False
    return True


class RawLine(TypedDict):
    """One command of raw output."""

    step: str
    host: str
    argv: list[str]
    sudo: bool
    deadline: Number
    status: int
    seconds: Number
    timed_out: bool
    truncated: bool
    stdout: str
    stderr: str


class ImportedFile(TypedDict):
    """A file that results were imported from."""

    file: str
    kept: str
    format: str
    sha256: str
    bytes: int
    runs: int
    repaired: int


class ImportedFiles(TypedDict):
    """All of them, and what their runs are labelled with."""

    files: list[ImportedFile]
    factors: list[str]
    columns: list[str]
    selectors: Scalars
    factors_given: Scalars


class BoundMachine(TypedDict):
    """The machine that a role is bound to."""

    ssh: LoginName | None
    interface: InterfaceName | None
    address: IpAddress | None
    ssh_config: FilePath | None
    others: NotRequired[list[IpAddress]]
    group: NotRequired[str]


class SecondSide(TypedDict):
    """The second side of a duet: its file, what was changed, the sides' names, its own roles."""

    file: str
    overrides: list[tuple[str, str]]
    sides: Annotated[list[Name], Meta(min_length=2, max_length=2)]
    roles: dict[Name, Name]


class CampaignFile(TypedDict):
    """campaign.json."""

    id: Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    netlimits: NotRequired[str]
    experiment: NotRequired[str]
    created: str
    overrides: list[tuple[str, str]]
    machines: dict[Name, BoundMachine]
    shared_kernel: bool | None
    skipped: NotRequired[dict[str, str]]
    features: NotRequired[dict[str, Any]]
    file: NotRequired[str]
    imported: NotRequired[ImportedFiles | None]
    against: NotRequired[SecondSide | None]


def meta(value: Any) -> bool:
    """Whether it is the campaign.json of a campaign that we ran: with machines and a seed."""
    if not has(value, CampaignFile):
        return False
    if value.get("imported"):
        return value.get("seed") is None
    return bool(value["machines"]) and has(value.get("seed"), int)


class MadeOf(TypedDict):
    """results.json."""

    netlimits: str
    lines: int
    files: Digests
    sha256: str


class PartFile(TypedDict):
    """A Parquet file of a part: bytes, rows, CRC-32 of its footer and of each column's bytes."""

    size: Annotated[int, Meta(ge=0, lt=2**53)]
    rows: Annotated[int, Meta(ge=0, lt=2**53)]
    footer: tuple[Annotated[int, Meta(ge=0, lt=2**53)], int]
    columns: dict[str, tuple[str, Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)], int]]


class PartFooter(TypedDict):
    """parts/NUMBER.json: which lines of the journal a part is of, and what they say, counted."""

    netlimits: str
    begin: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)], int, int]
    end: tuple[Count, Count, int, int]
    chain: tuple[Annotated[str, Meta(pattern=r"\A(?:[0-9a-f]{64})?\Z")], int]
    attempts: PartFile | None
    interim: PartFile | None
    outcomes: dict[Status, Count]
    runs: tuple[Count, Count] | None
    highest: Annotated[int, Meta(ge=0, lt=2**53)]
    again: bool
    interrupted: int
    disturbed: int
    reasons: dict[str, Count]
    reconnected: dict[Name, Count]
    opened: Instant | None
    extended: list[ExtendedEvent]
    unfinished: list[FoundEvent]
    going: list[StartEvent]
    sha256: str


class PackFrame(TypedDict):
    """A frame of a pack: its bytes, their CRC-32, each attempt's (run, attempt, bytes)."""

    size: Annotated[int, Meta(gt=0, lt=2**53)]
    crc: int
    attempts: list[tuple[Count, Count, Annotated[int, Meta(ge=0, lt=2**53)]]]


class PackIndex(TypedDict):
    """What stands at the end of a pack."""

    frames: list[PackFrame]


class LinkValue(TypedDict):
    """The parts of a host's link that code reads."""

    address: NotRequired[str]
    addresses: NotRequired[list[str]]


class LinkFact(TypedDict):
    """The fact `link`."""

    value: NotRequired[LinkValue | None]


def facts(value: Any) -> bool:
    """Whether it is a hosts/ROLE.json: a mapping for each fact; code looks into `link` alone."""
    return has(value, dict[str, dict[str, Any]]) and has(value.get("link", {}), LinkFact)


def digest(contents: Mapping[str, Any]) -> str:
    """Return the checksum of a file's JSON, which the file holds as `sha256`."""
    return sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def json_of(folder: Folder, name: str) -> Any:
    """A file's JSON. Raises OSError, and ValueError, also for one that is too large."""
    return parsed(folder.read(name, FILE_LIMIT))
