"""JSON from elsewhere, checked where it is read: what a value has to look like.

It may come from a host, from somebody else's folder, or from a disk that failed. Nothing further
up is to meet a key that is missing or a text for a number.
A shape is a tuple of types, a set of texts, a list of one shape (of its items), a mapping of names
to shapes (`?` after a name: it may be missing), or a function that says yes or no. JSON Schema
would do as well, but a journal holds a million events.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from typing import Any

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
    return isinstance(value, dict) and all(isinstance(scalar, SCALARS) for scalar in value.values())


def texts(value: Any) -> bool:
    """Whether it maps texts to texts."""
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def has(value: Any, shape: Any) -> bool:
    """Whether a value has a shape. True and false are no numbers."""
    if isinstance(shape, tuple):
        return isinstance(value, shape) and (bool in shape or not isinstance(value, bool))
    if isinstance(shape, frozenset):
        return isinstance(value, str) and value in shape
    if isinstance(shape, list):
        return isinstance(value, list) and all(has(entry, shape[0]) for entry in value)
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            has(value[key.rstrip("?")], part) if key.rstrip("?") in value else key.endswith("?")
            for key, part in shape.items()
        )
    return bool(shape(value))


def login(value: Any) -> bool:
    """Whether it can be a name that ssh knows: not empty, no option, one word."""
    return isinstance(value, str) and bool(value) and value[0] != "-" and value.split() == [value]


def address(value: Any) -> bool:
    """Whether it is an IP address."""
    try:
        return isinstance(value, str) and bool(ipaddress.ip_address(value))
    except ValueError:
        return False


def or_none(shape: Any) -> Any:
    """The shape that also None has."""
    return lambda value: value is None or has(value, shape)


def parsed(data: bytes) -> Any:
    """The JSON in a file's bytes. Raises ValueError."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


PLACE = {"role": name, "interface": interface, "setting": TEXT}
"""One setting on one interface of one role's host."""
