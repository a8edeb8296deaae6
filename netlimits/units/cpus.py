"""Lists of CPUs as the kernel and taskset write them: `0`, `0-3`, `0,2-3`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CPU_LIST: Mapping[str, Any] = {
    "description": "CPUs, such as 0, 0-3 or 0,2-3.",
    "type": ["integer", "string"],
    "minimum": 0,
    "maximum": 9999,
    "pattern": r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,99}$(?!\n)",
}
"""JSON Schema of a CPU list. It accepts descending ranges, which `members` rejects."""


def members(cpus: int | str) -> frozenset[int]:
    """Return the CPU numbers in a list. Raises ValueError for a descending range."""
    numbers: set[int] = set()
    for part in str(cpus).split(","):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if not span:
            raise ValueError(f"{part} is a descending range of CPUs; write the lower number first")
        numbers.update(span)
    return frozenset(numbers)


def mask(cpus: frozenset[int]) -> str:
    """Return CPUs as a mask for sysfs: hexadecimal digits with a comma every 32 bits."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    groups = [digits[max(0, end - 8) : end] for end in range(len(digits), 0, -8)]
    return ",".join(reversed(groups))


def from_mask(bits: str) -> frozenset[int]:
    """Return the CPUs in a mask from sysfs. Raises ValueError for a text that is no mask."""
    number = int(bits.replace(",", ""), 16)
    return frozenset(cpu for cpu in range(number.bit_length()) if number >> cpu & 1)


def formatted(cpus: frozenset[int]) -> str:
    """Return CPUs as a list such as `0,2-3`."""
    ordered, parts = sorted(cpus), []
    for at, cpu in enumerate(ordered):
        if not at or ordered[at - 1] != cpu - 1:
            parts.append([cpu, cpu])
        parts[-1][1] = cpu
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
