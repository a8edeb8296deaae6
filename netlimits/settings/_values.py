"""Settings that are values by name: which differ, and which are numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]


def differing(wanted: Values, now: Values) -> dict[str, Any]:
    """Return the values in `wanted` that differ now."""
    return {name: value for name, value in wanted.items() if now.get(name) != value}


def unmet(wanted: Values, now: Values) -> tuple[str, ...]:
    """Return the unmet values in words."""
    return tuple(
        f"{name} is {now.get(name, 'not there')}, not {value}"
        for name, value in differing(wanted, now).items()
    )


def differences(original: Values, now: Values) -> tuple[str, ...]:
    """Return the values that are not restored, in words."""
    return tuple(
        f"{name} is {now.get(name, 'gone')}, was {value}"
        for name, value in differing(original, now).items()
    )


def is_number(value: Any, below: int = 2**32) -> bool:
    """Return True for a whole number of at least 0, below a bound."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
