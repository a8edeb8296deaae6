"""Overrides (`--set KEY=VALUE`) of an experiment file, applied before it is checked."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlimits.errors import DocumentError, did_you_mean
from netlimits.experiment import document
from netlimits.experiment.document import Data, Document, KeyPath, dotted
from netlimits.experiment.expressions import shown

Overrides = tuple[tuple[str, str], ...]
_NAMES = {("factors",): "factor", ("derive",): "derived value", ("zip",): "factor"}
"""Keys whose members the user names; `--set` changes a member but adds none."""
_LISTS = (("settings",), ("report",), ("exclude",))
"""Keys whose values are lists of entries."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an experiment's keys come from: lines of a file, or `--set`."""

    path: Path
    lines: Mapping[KeyPath, int]
    overrides: Overrides = ()

    def line(self, key: KeyPath) -> int | None:
        """Return the line of a key or of the nearest key above it; None if `--set` made it."""
        if self.override(key):
            return None
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def override(self, key: KeyPath) -> str:
        """Return the KEY of the `--set` that this key comes from, or ""."""
        parts = tuple(str(part) for part in key)
        for text, _ in reversed(self.overrides):
            changed = tuple(text.split("."))
            made_on_the_way = key not in self.lines and changed[: len(parts)] == parts
            if parts[: len(changed)] == changed or (parts and made_on_the_way):
                return text
        return ""

    def error(self, problem: str, *key: str | int) -> DocumentError:
        named = dotted(key)
        text = self.override(key)
        if text:
            named = f"--set {text}" if text.startswith(named) else f"--set {text}: {named}"
        return DocumentError(problem, path=self.path, line=self.line(key), key=named, steps=key)


def apply(read: Document, overrides: Sequence[tuple[str, str]]) -> tuple[Data, Source]:
    """Return the document's data with the overrides in it, and where its keys come from."""
    data = copy.deepcopy(read.data)
    lines = dict(read.lines)
    for text, written in overrides:
        try:
            value = document.value(written, read.path)
        except DocumentError as error:
            raise _error(read.path, text, f"{error.problem} ({shown(written)})") from None
        key = _put(data, text, value, read.path)
        for inner in [k for k in lines if k[: len(key)] == key]:
            del lines[inner]
    return data, Source(read.path, lines, tuple(overrides))


def _put(data: Data, text: str, value: Data, path: Path) -> KeyPath:
    """Set the value at a dotted path, creating missing mappings. Return the path as keys."""
    here: Any = data
    key: KeyPath = ()
    *way, last = text.split(".")
    if len(way) >= document.DEPTH_LIMIT:
        raise _error(path, text[:40], f"KEY is nested more than {document.DEPTH_LIMIT} deep")
    for part, following in itertools.pairwise((*way, last)):
        step = _step(here, part, key, path, text)
        if isinstance(here, dict) and here.get(step) is None:
            if (*key, step) in _LISTS and following.isdigit():
                raise _error(
                    path, text, f"the file has no {part}; add an entry: --set '{part}=[{{…}}]'"
                )
            here[step] = {}
        here, key = here[step], (*key, step)
    step = _step(here, last, key, path, text)
    here[step] = value
    return (*key, step)


def _step(here: Any, part: str, key: KeyPath, path: Path, text: str) -> Any:
    """Return the key or index in `here` that `part` names. Raises DocumentError otherwise."""
    where = f"in {dotted(key)}" if key else "in the file"
    if isinstance(here, list):
        if not (part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(here)):
            last = len(here) - 1
            count = "no items" if not here else f"items 0 to {last}" if last else "one item, 0"
            raise _error(path, text, f"no item {shown(part)} {where}, which has {count}")
        return int(part)
    if not isinstance(here, dict):
        raise _error(path, text, f"nothing can be set {where}: it is {shown(here)}")
    if not part:
        raise _error(path, text, "an empty name in KEY; write it as measure.netperf.seconds=1")
    if key in _NAMES and part not in here:
        what = f"no {_NAMES[key]} is called {shown(part)}"
        raise _error(path, text, f"{what}{did_you_mean(part, here)}")
    return part


def _error(path: Path, text: str, problem: str) -> DocumentError:
    return DocumentError(problem, path=path, key=f"--set {text}")
