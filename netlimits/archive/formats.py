"""What must stand in each file of a results folder.

A folder may come from somebody else, or from a disk that failed. What it holds is checked where it
is read, so that nothing further up meets a key that is missing or a text for a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from netlimits.archive.files import Folder
from netlimits.model import STATUSES
from netlimits.model.decoding import (
    NUMBER,
    PLACE,
    TEXT,
    WHOLE,
    address,
    has,
    interface,
    login,
    name,
    or_none,
    parsed,
    scalars,
    texts,
)

FILE_LIMIT = 64 * 2**20
"""Bytes of campaign.json, and of a host's facts."""


def figures(value: Any) -> bool:
    """Whether it maps texts to scalars that a column of numbers can hold."""
    return scalars(value) and all(map(_writable, value)) and not any(map(_endless, value.values()))


def _writable(name: str) -> bool:
    """Whether UTF-8 can hold it, as a column's name: half of a pair of surrogates it cannot."""
    return name.isascii() or max(name) < "\ud800" or not any("\ud800" <= c < "\ue000" for c in name)


def number(value: Any) -> bool:
    """Whether it is a number that a float can be."""
    return has(value, NUMBER) and not _endless(value)


def count(value: Any) -> bool:
    """Whether it counts something from 1, as runs and their attempts are."""
    return has(value, WHOLE) and 0 < value < 2**53


def _endless(value: Any) -> bool:
    """Whether it is an integer beyond what a float can be."""
    return isinstance(value, int) and value.bit_length() >= 1024


def numbers(value: Any) -> bool:
    """Whether it maps texts to numbers."""
    return figures(value) and all(has(figure, NUMBER) for figure in value.values())


def machines(value: Any) -> bool:
    """Whether it maps roles to machines."""
    return isinstance(value, dict) and all(name(r) and has(m, MACHINE) for r, m in value.items())


def instant(value: Any) -> bool:
    """Whether it is a time in epoch seconds that a clock can show."""
    return has(value, NUMBER) and -1e9 < value < 9e9


def values(value: Any) -> bool:
    """Whether it maps names of factors to values."""
    return scalars(value) and all(value)


def digests(value: Any) -> bool:
    """Whether it maps names of files to SHA-256 in hex."""
    return texts(value) and all(re.fullmatch("[0-9a-f]{64}", digest) for digest in value.values())


MACHINE = {
    "ssh": or_none(login), "interface": or_none(interface), "address": or_none(address),
    "ssh_config": or_none(lambda c: has(c, TEXT) and c and "\0" not in c), "others?": [address],
}  # fmt: skip

_STATUS = frozenset(STATUSES)


_RUN = {"run": count, "block?": number, "config?": TEXT, "values?": values}

_OUTCOME = {
    **_RUN, "attempt": count, "status": _STATUS, "reason": TEXT, "figures": figures,
    "duration_s": or_none(number), "interim?": [numbers], "started": or_none(instant),
}  # fmt: skip

_ROW = _OUTCOME | {"values": values, "config": TEXT}

EVENTS: Mapping[str, Any] = {
    "created": {"files": digests},
    "found": PLACE | {"state": (dict,)},
    "put_back": PLACE,
    "start": {**_RUN, "attempt": count, "started": instant},
    "end": _OUTCOME,
    "parsed": _OUTCOME,
    "reconnected": {"role": name, "reason": TEXT, "tries": WHOLE, "seconds": number},
    "imported": {"rows": [_ROW]},
}
"""Event of the journal -> what it must hold; others may hold anything.

created   the first line: the checksums of the files that are never written again
opened    a process starts or goes on with the campaign
found     a setting's state before the first change; undone until `put_back` says so
put_back  it is as it was found again
start     an attempt at a run, with the run's configuration
end       its outcome: status, reason, figures, and the configuration again
parsed    the same attempt, read again from raw output; the last one counts
reconnected  a lost connection was made again: why it was lost, after how many tries and seconds
imported  runs read from a file that was there before, all in one event; the last reading counts
closed    the process left in good order
"""


def event(line: bytes) -> dict[str, Any] | None:
    """The event in a line of the journal; None when it is none."""
    try:
        entry: dict[str, Any] = json.loads(line)
        return entry if has(entry, EVENTS.get(entry["event"], {})) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


ENTRY: Mapping[str, Any] = {
    "step": TEXT, "host": TEXT, "argv": [TEXT], "sudo": (bool,), "deadline": number,
    "status": WHOLE, "seconds": number, "timed_out": (bool,), "truncated": (bool,),
    "stdout": TEXT, "stderr": TEXT,
}  # fmt: skip
"""One command of raw output."""

_FILE = {
    "file": TEXT, "kept": TEXT, "format": TEXT, "sha256": TEXT, "bytes": WHOLE, "runs": WHOLE,
    "repaired": WHOLE,
}  # fmt: skip

_IMPORTED = {
    "files": [_FILE], "factors": [TEXT], "columns": [TEXT], "selectors": scalars,
    "factors_given": scalars,
}  # fmt: skip

_META = {
    "id?": lambda value: has(value, TEXT) and bool(re.fullmatch("[0-9a-f]{32}", value)),
    "netlimits?": TEXT, "experiment?": TEXT, "created": TEXT,
    "overrides": [lambda pair: has(pair, [TEXT]) and len(pair) == 2],
    "machines": machines,
    "shared_kernel": (bool, type(None)),
    "skipped?": texts,
    "imported?": or_none(_IMPORTED),
}  # fmt: skip


def meta(value: Any) -> bool:
    """Whether it is a campaign.json: of a campaign of ours, which has machines and a seed."""
    if not has(value, _META):
        return False
    if value.get("imported"):
        return value.get("seed") is None
    return bool(value["machines"]) and has(value.get("seed"), WHOLE)


MADE: Mapping[str, Any] = {"netlimits": TEXT, "lines": WHOLE, "files": digests, "sha256": TEXT}
"""results.json."""

_LINK = {"value?": or_none({"address?": TEXT, "addresses?": [TEXT]})}


def facts(value: Any) -> bool:
    """Whether it is a hosts/ROLE.json: a mapping for each fact; code looks into `link` alone."""
    return isinstance(value, dict) and all(
        has(fact, _LINK if name == "link" else (dict,)) for name, fact in value.items()
    )


def json_of(folder: Folder, name: str) -> Any:
    """A file's JSON. Raises OSError, and ValueError, also for one that is too large."""
    return parsed(folder.read(name, FILE_LIMIT))
