"""Parse sizes and rates of experiments: a number, with or without K, M or G."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIZE: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 1,
    "pattern": r"^[0-9]+[KMGkmg]?$(?!\n)",
}
"""JSON Schema of a size in bytes."""

RATE: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 0,
    "pattern": r"^[0-9]+(\.[0-9]+)?[KMGkmg]?$(?!\n)",
}
"""JSON Schema of a rate in bit/s."""

TIMESTAMPS = 12
"""Bytes that the timestamp option takes up in each TCP segment."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


def binary_bytes(size: int | str) -> int:
    """Return a size in bytes. K and k both mean 1024: "64K" and "64k" are 65536."""
    number, power = _parts(size)
    return int(number * 1024**power)


def netperf_bytes(size: int | str) -> int:
    """Return a size in bytes by netperf's rule: "1K" is 1024, "1k" is 1000."""
    number, power = _parts(size)
    return int(number * (1000 if str(size)[-1:].islower() else 1024) ** power)


def decimal_bits(rate: int | str) -> float:
    """Return a rate in bit/s: 1000000000, "1000M" and "1G" are the same rate."""
    number, power = _parts(rate)
    return float(number * 1000**power)


def _parts(text: int | str) -> tuple[float, int]:
    number = str(text)
    suffix = number[-1:].lower() if number[-1:].isalpha() else ""
    return float(number[:-1] if suffix else number), _POWERS[suffix]
