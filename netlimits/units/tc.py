"""Convert rates, sizes and times from the notation of tc (tc(8), "PARAMETERS")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_NUMBER = r"[0-9]{1,15}(\.[0-9]{1,6})?"
_TEXT = re.compile(rf"(?P<number>{_NUMBER})(?P<unit>[a-zA-Z]*)")

_RATES = {
    f"{prefix}{unit}": scale * bits
    for prefix, scale in [
        *((p, 1000**n) for n, p in enumerate(("", "k", "m", "g", "t"))),
        *((p, 1024**n) for n, p in enumerate(("ki", "mi", "gi", "ti"), 1)),
    ]
    for unit, bits in (("bit", 1), ("bps", 8))
} | {"": 1}
_SIZES = {"": 1, "b": 1} | {
    f"{p}{b}": 1024**n for n, p in enumerate("kmg", 1) for b in ("", "b")
}  # fmt: skip
_TIMES = {
    name: scale
    for names, scale in (
        (("", "us", "usec", "usecs"), 1),
        (("ms", "msec", "msecs"), 1000),
        (("s", "sec", "secs"), 1_000_000),
    )
    for name in names
}


def _pattern(units: Mapping[str, int]) -> str:
    letters = "|".join("".join(f"[{c}{c.upper()}]" for c in unit) for unit in sorted(units) if unit)
    return rf"^{_NUMBER}({letters})?$(?!\n)"  # Python's $ also matches before a newline at the end


def _schema(units: Mapping[str, int], description: str) -> dict[str, Any]:
    return {
        "description": description,
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 10**15 - 1},
            {"type": "string", "pattern": _pattern(units)},
        ],
    }


RATE = _schema(
    _RATES, "A rate in tc's units: 1gbit, 1000mbit, 125mbps (bytes); without a unit: bit/s."
)
SIZE = _schema(_SIZES, "A size in tc's units: 128kb, 1mb; without a unit: bytes.")
TIME = _schema(_TIMES, "A time in tc's units: 50ms, 100us; without a unit: µs.")
COUNT = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "Packets."}


def rate(value: Any) -> int:
    """Return a rate in bit/s, rounded down to whole bytes per second, as in the kernel."""
    return _integer(value, _RATES) // 8 * 8


def size(value: Any) -> int:
    """Return a size in bytes: "1kb" is 1024."""
    return _integer(value, _SIZES)


def time(value: Any) -> int:
    """Return a time in microseconds: "1ms" is 1000."""
    return _integer(value, _TIMES)


def _integer(value: Any, units: Mapping[str, int]) -> int:
    """Convert a value to its base unit. Raises ValueError for an invalid number or unit."""
    match = _TEXT.fullmatch(str(value))
    if not match or match["unit"].lower() not in units:
        raise ValueError(
            f"{value!r} is not a number with one of the units {', '.join(filter(None, units))}"
        )
    return int(Fraction(match["number"]) * units[match["unit"].lower()])
