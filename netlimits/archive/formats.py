"""The format of each file of a results folder, validated when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar, cast

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
"""Maximum bytes of campaign.json, and of a host's facts."""

Kind = TypeVar("Kind")

Number = float
"""An integer or a fraction that a float can hold."""

Count = Annotated[int, Meta(gt=0, lt=2**53)]
"""A number counted from 1, as runs and attempts are."""

Instant = Annotated[float, Meta(gt=-1e9, lt=9e9)]
"""A time in epoch seconds."""

Figures = dict[str, str | float | bool | None]
"""Figures by name; `event` checks the names."""

Values = dict[Annotated[str, Meta(min_length=1)], str | int | float | bool | None]
"""Factor -> value."""

Digests = dict[str, Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]]
"""Name of a file -> SHA-256 in hex."""


class ImportedFile(TypedDict):
    file: str
    kept: str
    format: str
    sha256: str
    bytes: int
    runs: int
    repaired: int
    values: NotRequired[Scalars]


class ImportedFiles(TypedDict):
    """All imported files, the labels of their runs, and the options of `netlimits import`."""

    files: list[ImportedFile]
    factors: list[str]
    columns: list[str]
    selectors: Scalars
    factors_given: Scalars
    name: NotRequired[str]
    limit: NotRequired[int | None]


class CreatedEvent(TypedDict):
    """The first line: the checksums of all files that never change."""

    files: Digests


class FoundEvent(Place):
    """A setting's state before its first change; open until `put_back` or `forgotten`."""

    state: dict[str, Any]


class ComparedEvent(TypedDict):
    """Differences of the hosts' network state that remained after the last restore, in words.

    `ours` has those that the campaign caused, by role; `others` has all other differences.
    """

    ours: dict[Name, list[str]]
    others: list[str]


class ExtendedEvent(TypedDict):
    """Runs added to the plan: `replicates` of each configuration, ordered by this seed."""

    replicates: Count
    seed: Annotated[int, Meta(ge=0, lt=2**53)]
    configurations: NotRequired[list[Count]]


class StartEvent(TypedDict):
    run: Count
    attempt: Count
    started: Instant
    block: Number
    config: str
    values: Values
    profiled: NotRequired[bool]


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
    file: NotRequired[str]
    profiled: NotRequired[bool]
    config: str
    values: Values


class ImportedEvent(TypedDict):
    """The runs of an imported file; the last event of a file counts."""

    rows: list[AttemptFields]
    added: NotRequired[ImportedFiles]


class EndEvent(AttemptFields):
    block: Number


class ReconnectedEvent(TypedDict):
    """A lost connection was restored: the reason, and the number of tries and seconds it took."""

    role: Name
    reason: str
    tries: int
    seconds: Number


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
"""Event of the journal -> its format. `opened`, `closed` and all other events are not validated.

opened     a process starts or resumes the campaign
put_back   the setting was restored
forgotten  the setting was not restored and will not be (`restore --forget`)
compared   the differences of the hosts' network state after the last restore
parsed     an attempt was parsed again from its raw output; the last event counts
closed     the process ended normally
"""


def event(line: bytes) -> dict[str, Any] | None:
    """Parse a line of the journal; return None if it is no valid event."""
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
    """Return True if no name of a figure contains a surrogate, since names become columns."""
    for figures in (outcome["figures"], *outcome.get("interim", ())):
        names = "".join(figures)
        if not names.isascii() and any("\ud800" <= letter < "\ue000" for letter in names):
            return False
    return True


class RawLine(TypedDict):
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


class BoundMachine(TypedDict):
    ssh: LoginName | None
    interface: InterfaceName | None
    address: IpAddress | None
    ssh_config: FilePath | None
    others: NotRequired[list[IpAddress]]
    group: NotRequired[str]


class SecondSide(TypedDict):
    """The experiment of `run --against`: its file, `--set`, both sides' names, its roles."""

    file: str
    overrides: list[tuple[str, str]]
    sides: Annotated[list[Name], Meta(min_length=2, max_length=2)]
    roles: dict[Name, Name]


class ClockOffset(TypedDict):
    """The offset of a host's clock from the controller's when the campaign began, in seconds."""

    offset_s: float
    bound_s: float


class CampaignFile(TypedDict):
    id: Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    netlimits: NotRequired[str]
    experiment: NotRequired[str]
    created: str
    overrides: list[tuple[str, str]]
    machines: dict[Name, BoundMachine]
    shared_kernel: bool | None
    skipped: NotRequired[dict[str, str]]
    clocks: NotRequired[dict[Name, ClockOffset]]
    features: NotRequired[dict[str, Any]]
    file: NotRequired[str]
    imported: NotRequired[ImportedFiles | None]
    against: NotRequired[SecondSide | None]


def is_campaign_file(value: Any) -> bool:
    """Return True for a valid campaign.json: with machines and a seed, or imported."""
    if not has(value, CampaignFile):
        return False
    if value.get("imported"):
        return value.get("seed") is None
    return bool(value["machines"]) and has(value.get("seed"), int)


class ResultsSources(TypedDict):
    """results.json: the sources of the tables and the number of the journal's lines."""

    netlimits: str
    lines: int
    files: Digests
    sha256: str


class PartFile(TypedDict):
    """A Parquet file of a part: its bytes, their CRC-32, its rows, each column's kind."""

    size: Annotated[int, Meta(ge=0, lt=2**53)]
    crc: int
    rows: Annotated[int, Meta(ge=0, lt=2**53)]
    kinds: dict[str, str]


class PartFooter(TypedDict):
    """parts/NUMBER.json: the lines of the journal that a part covers, and their counts."""

    netlimits: str
    begin: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)], int, int]
    end: tuple[Count, Count, int, int]
    attempts: PartFile | None
    interim: PartFile | None
    outcomes: dict[Status, Count]
    runs: tuple[Count, Count] | None
    highest: Annotated[int, Meta(ge=0, lt=2**53)]
    repeated: bool
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
    frames: list[PackFrame]


class LinkValue(TypedDict):
    """The keys of a host's `link` fact that netlimits reads."""

    address: NotRequired[str]
    addresses: NotRequired[list[str]]


class LinkFact(TypedDict):
    value: NotRequired[LinkValue | None]


def is_facts_file(value: Any) -> bool:
    """Return True for a valid hosts/ROLE.json. Only `link` is checked: no other fact is used."""
    return has(value, dict[str, dict[str, Any]]) and has(value.get("link", {}), LinkFact)


def digest(contents: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON file's contents; the file stores it under the key `sha256`."""
    return sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def checked_json(folder: Folder, name: str, kind: type[Kind]) -> Kind | None:
    """Return the contents of a JSON file with a checksum, None if it is missing or damaged."""
    try:
        contents = json_of(folder, name)
    except (OSError, ValueError):
        return None
    if not has(contents, kind):
        return None
    others = {key: value for key, value in contents.items() if key != "sha256"}
    return cast(Kind, contents) if contents["sha256"] == digest(others) else None


def json_of(folder: Folder, name: str) -> Any:
    """Parse a file's JSON. Raises OSError, and ValueError if it is invalid or too large."""
    return parsed(folder.read(name, FILE_LIMIT))
