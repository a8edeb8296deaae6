"""Write a campaign's figures for other programs: one file for each format.

To add a format: a module with a function from `Runs` to lines, and its line in FORMATS, and one in
BESIDE if its consumer needs a second file. A format imports neither pandas nor `base` at run time,
since `netlimits export --help` reads FORMATS.
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

BESIDE: Mapping[str, tuple[str, Callable[[Runs, str], Iterator[str]]]] = {
    "otava": (".yaml", otava_config),
    "opensearch": (".template.json", opensearch_template),
}
"""Format -> suffix and lines of the file that `--out` writes beside, from the runs and its path."""

OF_PROFILES = ("folded", "speedscope")
"""Formats of profiles' stacks, `Runs.stacks`."""

__all__ = ["BESIDE", "FORMATS", "OF_PROFILES"]
