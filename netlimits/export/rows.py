"""CSV: a row for each attempt, as in results.csv."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.export.base import Runs


def csv(runs: Runs) -> Iterator[str]:
    """Yield the column names and a line for each attempt."""
    yield from runs.csv()
