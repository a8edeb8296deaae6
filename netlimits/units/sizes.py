"""Sizes and rates as experiments write them: a number, or a number with K, M or G.

For iperf3 and nuttcp alike the suffixes of a size are powers of 1024 and those of a rate powers of
1000. netperf tells K from k.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIZE: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 1,
    "pattern": r"^[0-9]+[KMGkmg]?$",
}
"""JSON Schema of a size in bytes."""

RATE: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 0,
    "pattern": r"^[0-9]+(\.[0-9]+)?[KMGkmg]?$",
}
"""JSON Schema of a rate in bit/s."""

TIMESTAMPS = 12
"""Bytes that TCP timestamps take of each segment."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


def binary_bytes(size: int | str) -> int:
    """Bytes: 65536, "64K" and "64k" are the same."""
    number, power = _parts(size)
    return int(number * 1024**power)


def netperf_bytes(size: int | str) -> int:
    """Bytes as netperf reads them: "1K" is 1024, "1k" is 1000."""
    number, power = _parts(size)
    return int(number * (1000 if str(size)[-1:].islower() else 1024) ** power)


def decimal_bits(rate: int | str) -> float:
    """bit/s: 1000000000, "1000M" and "1G" are the same."""
    number, power = _parts(rate)
    return float(number * 1000**power)


def _parts(text: int | str) -> tuple[float, int]:
    written = str(text)
    suffix = written[-1:].lower() if written[-1:].isalpha() else ""
    return float(written.removesuffix(written[-1:]) if suffix else written), _POWERS[suffix]
