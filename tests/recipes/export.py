"""Toys: a word for each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.export.base import Runs


def toywords(runs: Runs) -> Iterator[str]:
    """The lines."""
    for run in runs.runs():
        yield f"toy {dict(run.labels)['send_size']} {run.figures['throughput_mbps']:g}\n"
