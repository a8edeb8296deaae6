"""Write the metrics of runs for other programs, with a module for each format.

To add a format, write a module with a function that takes `Runs` and yields lines. Then add the
function to FORMATS. If the other program needs a second file, also add an entry to SECOND_FILES.
The modules of formats must import neither pandas nor `base` at run time. `netlimits export --help`
imports all of them, and would become slow.
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
"""Name on the command line -> function that yields the file's lines, each with its line feed."""

SECOND_FILES: Mapping[str, tuple[str, Callable[[Runs, str], Iterator[str]]]] = {
    "otava": (".yaml", otava_config),
    "opensearch": (".template.json", opensearch_template),
}
"""Format -> suffix of the second file, and the function that yields the lines of this file.

The function takes the runs and the path of the first file. Only `--out` writes second files.
"""

OF_PROFILES = ("folded", "speedscope")
"""Formats that contain profiles (`Runs.stacks`) instead of metrics."""

__all__ = ["FORMATS", "OF_PROFILES", "SECOND_FILES"]
