"""`${name}` in the options of settings and tools: looked up, never computed.

A text that is nothing but `${name}` becomes the value itself, with its type; inside a longer
text the value is written as YAML would write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from netlimits.document import KeyPath
from netlimits.errors import InputError
from netlimits.model import Scalar, Values

PATTERN = r"^.*\$\{[A-Za-z_][A-Za-z0-9_]*\}.*$"
"""What a JSON Schema asks of a text that holds a `${name}`."""

_ANY = re.compile(r"\$\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def is_template(value: Any) -> bool:
    """Whether the value is a text with a `${` in it."""
    return isinstance(value, str) and "${" in value


def names(text: str) -> tuple[str, ...]:
    """The names that a text looks up. Raises InputError for a `${` without a name and `}`."""
    found = []
    for match in _ANY.finditer(text):
        if not match[0].endswith("}") or not _NAME.fullmatch(match[1]):
            raise InputError(
                f"{match[0][:40]} is no lookup: write ${{name}}, with one factor's or derived name"
                "; arithmetic belongs into derive"
            )
        found.append(match[1])
    return tuple(found)


def leaves(options: Any, key: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every text in the options that holds a `${`, with its place."""
    if isinstance(options, dict):
        for name, inner in options.items():
            yield from leaves(inner, (*key, name))
    elif isinstance(options, list):
        for index, inner in enumerate(options):
            yield from leaves(inner, (*key, index))
    elif is_template(options):
        yield key, options


def resolve(options: Any, values: Values) -> Any:
    """The options with every `${name}` replaced; names must have been checked before."""
    if isinstance(options, dict):
        return {name: resolve(inner, values) for name, inner in options.items()}
    if isinstance(options, list):
        return [resolve(inner, values) for inner in options]
    if not is_template(options):
        return options
    whole = _ANY.fullmatch(options)
    if whole:
        return values[whole[1]]
    return _ANY.sub(lambda match: written(values[match[1]]), options)


def written(value: Scalar) -> str:
    """A value as YAML writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def used(options: Any) -> frozenset[str]:
    """Every name that the options look up."""
    return frozenset(name for _, text in leaves(options) for name in names(text))
