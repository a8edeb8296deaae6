"""Write a campaign's figures for other programs: one file for each format.

To add a format, write a module with a function from `Runs` to lines, and add a line to FORMATS. If
the consumer needs a second file, add one to SECOND_FILES. A format imports neither pandas nor
`base` at run time, since `netlimits export --help` reads FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from netlimits.export.folded import folded
from netlimits.export.influx import influx
from netlimits.export.openmetrics import openmetrics
from netlimits.export.opensearch import opensearch, opensearch_template
from netlimits.export.otava import otava, otava_config
from netlimits.export.speedscope import speedscope
from netlimits.export.tree import tree

if TYPE_CHECKING:
    from netlimits.export.base import Runs

FORMATS: Mapping[str, Callable[[Runs], Iterator[str]]] = {
    "openmetrics": openmetrics,
    "influx": influx,
    "json": tree,
    "csv": lambda runs: runs.csv(),
    "otava": otava,
    "opensearch": opensearch,
    "folded": folded,
    "speedscope": speedscope,
}
"""Name on the command line -> function that yields the lines, each with its line feed."""

SECOND_FILES: Mapping[str, tuple[str, Callable[[Runs, str], Iterator[str]]]] = {
    "otava": (".yaml", otava_config),
    "opensearch": (".template.json", opensearch_template),
}
"""Format -> suffix of a second file that `--out` writes, and the function that yields its lines.

The function takes the runs and the path of the first file.
"""

OF_PROFILES = ("folded", "speedscope")
"""Formats that write the profiles in `Runs.stacks` instead of metrics."""

__all__ = ["FORMATS", "OF_PROFILES", "SECOND_FILES"]
