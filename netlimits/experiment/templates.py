"""`${name}` in the options of settings and tools: looked up, never computed.

A text that is nothing but `${name}` becomes the value itself, with its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from netlimits.errors import InputError
from netlimits.experiment.document import KeyPath
from netlimits.model import Scalar, Values

PATTERN = r"^.*\$\{[A-Za-z_][A-Za-z0-9_]*\}.*$"
"""JSON Schema pattern of a text that contains a `${name}`."""
WHOLE = r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$(?!\n)"
"""JSON Schema pattern of a text that is a single `${name}`."""

_ANY = re.compile(r"\$\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def is_template(value: Any) -> bool:
    """Return True for a text that contains `${`."""
    return isinstance(value, str) and "${" in value


def names(text: str) -> tuple[str, ...]:
    """Return the names that a text looks up. Raises InputError for a malformed `${`."""
    lookups = []
    for match in _ANY.finditer(text):
        if not match[0].endswith("}") or not _NAME.fullmatch(match[1]):
            raise InputError(
                f"{match[0][:40]} is not valid: write ${{name}}, with the name of one factor or "
                "derived value; arithmetic belongs in `derive`"
            )
        lookups.append(match[1])
    return tuple(lookups)


def leaves(options: Any, key: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield the key and the text of every text in the options that contains `${`."""
    if isinstance(options, dict):
        for name, inner in options.items():
            yield from leaves(inner, (*key, name))
    elif isinstance(options, list):
        for index, inner in enumerate(options):
            yield from leaves(inner, (*key, index))
    elif is_template(options):
        yield key, options


def resolve(options: Any, values: Values) -> Any:
    """Return the options with every `${name}` replaced; options that become null are left out."""
    if isinstance(options, dict):
        each = {name: (inner, resolve(inner, values)) for name, inner in options.items()}
        return {name: value for name, (inner, value) in each.items() if not left_out(inner, value)}
    if isinstance(options, list):
        return [resolve(inner, values) for inner in options]
    if not is_template(options):
        return options
    lookup = _ANY.fullmatch(options)
    if lookup:
        return values[lookup[1]]
    return _ANY.sub(lambda match: written(values[match[1]]), options)


def left_out(options: Any, resolved: Any) -> bool:
    """Return True if the options became null, or lost all their keys, when they were resolved."""
    return (resolved is None and is_template(options)) or (resolved == {} and options != {})


def written(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def used(options: Any) -> frozenset[str]:
    return frozenset(name for _, text in leaves(options) for name in names(text))
