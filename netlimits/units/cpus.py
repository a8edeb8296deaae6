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
