"""A campaign's figures for other programs: one file for each format, pure.

To add a format: a module with a function from `Runs` to lines, and its line in FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from netlimits.export.base import Runs
from netlimits.export.influx import influx
from netlimits.export.openmetrics import openmetrics
from netlimits.export.rows import csv
from netlimits.export.tree import tree

FORMATS: Mapping[str, Callable[[Runs], Iterator[str]]] = {
    "openmetrics": openmetrics,
    "influx": influx,
    "json": tree,
    "csv": csv,
}
"""Name on the command line -> what makes the lines, each with its line feed."""

__all__ = ["FORMATS", "Runs"]
