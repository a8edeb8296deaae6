"""What must stand in the JSON of a results folder, as shapes that a value has or has not.

A results folder may come from somebody else, or from a disk that failed. What it holds is checked
where it is read, so that nothing further up meets a key that is missing or a text for a number.
A shape is a tuple of types, a set of texts, a list of one shape (of its items), a mapping of names
to shapes (`?` after a name: it may be missing), or a function that says yes or no. JSON Schema
would do as well, but a journal holds a million events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlimits.model import STATUSES

FILE_LIMIT = 64 * 2**20
"""Bytes of campaign.json, and of a host's facts."""

NUMBER = (int, float)
MAYBE_NUMBER = (int, float, type(None))
TEXT = (str,)
MAYBE_TEXT = (str, type(None))
WHOLE = (int,)
SCALARS = (str, int, float, bool, type(None))


def name(value: Any) -> bool:
    """Whether it can name a role, which names files too."""
    return isinstance(value, str) and bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", value))


def interface(value: Any) -> bool:
    """Whether it can name a network interface: as the kernel has it, and never an option."""
    return (
        isinstance(value, str)
        and 0 < len(value.encode("utf-8", "replace")) < 16
        and not value.startswith("-")
        and value not in (".", "..")
        and value.isprintable()
        and not set(value) & set(" /")
    )


def scalars(value: Any) -> bool:
    """Whether it maps texts to scalars."""
    return isinstance(value, dict) and all(isinstance(one, SCALARS) for one in value.values())


def texts(value: Any) -> bool:
    """Whether it maps texts to texts."""
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def numbers(value: Any) -> bool:
    """Whether it maps texts to numbers."""
    return isinstance(value, dict) and all(has(one, NUMBER) for one in value.values())


def machines(value: Any) -> bool:
    """Whether it maps roles to machines."""
    return isinstance(value, dict) and all(name(r) and has(m, MACHINE) for r, m in value.items())


def has(value: Any, shape: Any) -> bool:
    """Whether a value has a shape. True and false are no numbers."""
    if isinstance(shape, tuple):
        return isinstance(value, shape) and (bool in shape or not isinstance(value, bool))
    if isinstance(shape, frozenset):
        return isinstance(value, str) and value in shape
    if isinstance(shape, list):
        return isinstance(value, list) and all(has(one, shape[0]) for one in value)
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            has(value[key.rstrip("?")], part) if key.rstrip("?") in value else key.endswith("?")
            for key, part in shape.items()
        )
    return bool(shape(value))


MACHINE = {
    "ssh": MAYBE_TEXT, "interface": lambda i: i is None or interface(i), "address": MAYBE_TEXT,
    "ssh_config": MAYBE_TEXT,
}  # fmt: skip
_STATUS = frozenset(STATUSES)
_PLACE = {"role": name, "interface": interface, "setting": TEXT}
_OUTCOME = {
    "run": WHOLE, "attempt": WHOLE, "status": _STATUS, "reason": TEXT, "figures": scalars,
    "duration_s": MAYBE_NUMBER, "interim?": [numbers],
}  # fmt: skip
_ROW = _OUTCOME | {"started": MAYBE_NUMBER, "values": scalars, "config": TEXT}

NOTE: Mapping[str, Any] = _PLACE | {"state": (dict,), "link_address": TEXT, "order?": WHOLE}
"""What a host's note says of a setting that was changed."""

EVENTS: Mapping[str, Any] = {
    "found": _PLACE | {"state": (dict,)},
    "put_back": _PLACE,
    "start": {"run": WHOLE, "attempt": WHOLE, "started": NUMBER},
    "end": _OUTCOME | {"started": MAYBE_NUMBER},
    "parsed": _OUTCOME | {"started": MAYBE_NUMBER},
    "reconnected": {"role": name, "reason": TEXT, "tries": WHOLE, "seconds": NUMBER},
    "imported": {"rows": [_ROW]},
}
"""Event of the journal -> what it must hold; others may hold anything."""


def event(line: bytes) -> dict[str, Any] | None:
    """The event in a line of the journal; None when it is none."""
    try:
        found: dict[str, Any] = json.loads(line)
        return found if has(found, EVENTS.get(found["event"], {})) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def load(path: Path) -> Any:
    """A file's JSON. Raises OSError, and ValueError, also for one that is too large."""
    with path.open("rb") as file:
        data = file.read(FILE_LIMIT + 1)
    if len(data) > FILE_LIMIT:
        raise ValueError(f"is larger than {FILE_LIMIT >> 20} MiB")
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


ENTRY: Mapping[str, Any] = {
    "step": TEXT, "host": TEXT, "argv": [TEXT], "sudo": (bool,), "deadline": NUMBER,
    "status": WHOLE, "seconds": NUMBER, "timed_out": (bool,), "truncated": (bool,),
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
_PAIR = [TEXT]

META: Mapping[str, Any] = {
    "experiment?": TEXT,
    "overrides": [lambda pair: has(pair, _PAIR) and len(pair) == 2],
    "seed": (int, type(None)),
    "machines": machines,
    "shared_kernel": (bool, type(None)),
    "skipped?": texts,
    "imported?": lambda value: value is None or has(value, _IMPORTED),
}
"""campaign.json."""
