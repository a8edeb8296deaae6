"""Lists of CPUs as the kernel and taskset write them: `0`, `0-3`, `0,2-3`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CPU_LIST: Mapping[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 0,
    "maximum": 9999,
    "pattern": r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,99}$(?!\n)",
}
"""JSON Schema of such a list; a range that runs backward is found by `members`."""


def members(cpus: int | str) -> frozenset[int]:
    """The numbers in a list. Raises ValueError for a range that runs backward."""
    numbers: set[int] = set()
    for part in str(cpus).split(","):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if not span:
            raise ValueError(f"{part} runs backward; a range of CPUs goes from low to high")
        numbers.update(span)
    return frozenset(numbers)


def mask(cpus: frozenset[int]) -> str:
    """CPUs as sysfs takes them in masks: hexadecimal, a comma each 32 bits; `0` for none."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    groups = [digits[max(0, end - 8) : end] for end in range(len(digits), 0, -8)]
    return ",".join(reversed(groups))


def of_mask(bits: str) -> frozenset[int]:
    """The CPUs in such a mask. Raises ValueError for what is none."""
    number = int(bits.replace(",", ""), 16)
    return frozenset(cpu for cpu in range(number.bit_length()) if number >> cpu & 1)


def written(cpus: frozenset[int]) -> str:
    """CPUs as a list: `0,2-3`."""
    ordered, parts = sorted(cpus), []
    for at, cpu in enumerate(ordered):
        if not at or ordered[at - 1] != cpu - 1:
            parts.append([cpu, cpu])
        parts[-1][1] = cpu
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
