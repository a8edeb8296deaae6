"""The RSS table of a NIC, from `ethtool -x`, and the words of `ethtool -X` that set it again.

A change of the number of queues may replace the table by the driver's default.
"""

from __future__ import annotations

import re
from collections import Counter

READ = r"""ethtool -x "$1" 2>/dev/null | sed -n 's/^ *[0-9][0-9]*: *\([0-9 ]*\)$/rss \1/p'
"""
"""A script that prints the rows of the table; nothing where the driver has none."""

TABLE = re.compile(r"(\d{1,5}( \d{1,5}){0,4095})?", re.ASCII)

_ROW = re.compile(r"^rss (?P<queues>[0-9 ]+)$", re.MULTILINE)


def table(printed: str) -> str:
    """Return the queue of each entry, separated by blanks; "" where there is no table."""
    return " ".join(" ".join(match["queues"] for match in _ROW.finditer(printed)).split())


def words(table: str) -> tuple[str, ...]:
    """Return the words of `ethtool -X` that make a table; none if there are none."""
    queues = [int(queue) for queue in table.split()]
    if not queues:
        return ()
    if _in_turn(queues):
        first = min(queues)
        start = ("start", str(first)) if first else ()
        return ("equal", str(max(queues) - first + 1), *start)
    if queues == sorted(queues):
        count = Counter(queues)
        return ("weight", *(str(count[queue]) for queue in range(max(queues) + 1)))
    return ()


def _in_turn(queues: list[int]) -> bool:
    first, last = min(queues), max(queues)
    return all(queue == first + at % (last - first + 1) for at, queue in enumerate(queues))
