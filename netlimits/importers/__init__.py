"""Parse results that people already have into runs: one pure parser for each format.

To add a format: one file with `claims` and `read`, one line in IMPORTERS, and outputs under
tests/captures. `folder` writes a results folder from the runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from netlimits.importers import base, iperf3, netperf_text, turin
from netlimits.importers.base import Given, ImportedRun, SourceText


class Importer(NamedTuple):
    """A format: `claims` recognizes a file's text, `read` parses its runs."""

    name: str
    claims: Callable[[SourceText], bool]
    read: Callable[[SourceText, Given], list[ImportedRun]]


IMPORTERS: tuple[Importer, ...] = (
    Importer("iperf3 JSON", iperf3.claims, iperf3.read),
    Importer("Turin script", turin.claims, turin.read),
    # Last, because it claims every text.
    Importer("netperf", lambda source: True, netperf_text.read),
)
"""The first importer that claims a file reads it."""


def read(name: str, data: bytes, given: Given | None = None) -> tuple[str, list[ImportedRun]]:
    """Parse a file of any known format.

    Args:
        name: What errors call the file.
        data: The file's bytes.
        given: What the user states because the file does not.

    Returns:
        The name of the format, and the runs in the file's order.

    Raises:
        DataError: The file cannot be parsed; the message names the file and the line.
    """
    source = base.source(name, data)
    importer = next(importer for importer in IMPORTERS if importer.claims(source))
    runs = importer.read(source, given or Given())
    if not runs:
        source.refuse(1, "contains no run")
    return importer.name, runs
