"""Results that people already have, read into runs: one small pure parser a format.

`read` chooses the parser and never raises anything but DataError, which names file and line. To add
a format: one file with `claims` and `read`, one line in IMPORTERS, outputs under tests/captures.
`folder` makes a results folder of what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from netlimits.importers import base, iperf3, netperf_text, turin
from netlimits.importers.base import Given, Imported, SourceText


class Importer(NamedTuple):
    """A format: whether a text is of it, and the runs that it tells of."""

    name: str
    claims: Callable[[SourceText], bool]
    read: Callable[[SourceText, Given], list[Imported]]


IMPORTERS: tuple[Importer, ...] = (
    Importer("iperf3 JSON", iperf3.claims, iperf3.read),
    Importer("Turin script", turin.claims, turin.read),
    # Last, since any other text is held to be netperf's until a line shows that it is not.
    Importer("netperf", lambda source: True, netperf_text.read),
)
"""The first one that claims a file reads it."""


def read(name: str, data: bytes, given: Given | None = None) -> tuple[str, list[Imported]]:
    """The format and the runs of a file's bytes; `name` is what errors call it.

    Raises DataError naming file and line for what cannot be made sense of.
    """
    source = base.source(name, data)
    importer = next(importer for importer in IMPORTERS if importer.claims(source))
    runs = importer.read(source, given or Given())
    if not runs:
        source.refuse(1, "holds no run")
    return importer.name, runs
