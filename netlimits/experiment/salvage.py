"""What is left of an experiment's data without what is wrong with it.

So every error of a file can be told at once: what is looked at later (names, then conditions,
then options of each configuration) is looked at in what is left. Nothing is told that may only
follow from an error told already.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netlimits.errors import DocumentError, nearest
from netlimits.experiment import schema
from netlimits.experiment.document import KeyPath


@dataclass(frozen=True, slots=True)
class Salvage:
    """Data without what is wrong: `cuts` are the keys that went.

    Of settings, tools' options and reports, single options go. Any other section with an error in
    it is `damaged` as a whole; it stands in `data` as it was, for the names that it brings.
    """

    data: dict[str, Any]
    damaged: frozenset[str]
    cuts: tuple[KeyPath, ...]

    def follows(self, error: DocumentError) -> bool:
        """Whether an error may follow from a cut: it is about what is in it or around it."""
        steps = error.steps
        return any(cut[: len(steps)] == steps[: len(cut)] for cut in self.cuts)


def salvage(data: Mapping[str, Any], errors: Iterable[DocumentError]) -> Salvage:
    """The data without the parts that the errors are about."""
    left, damaged = copy.deepcopy(dict(data)), set()
    sections = schema.structure()["properties"]
    cuts = tuple(dict.fromkeys(error.steps for error in errors if error.steps))
    for cut in cuts:
        section = str(cut[0])
        if section not in sections:
            meant = nearest(section, sections)
            if meant and meant not in left and section in left:
                left[meant] = left.pop(section)
                damaged.add(meant)
            left.pop(section, None)
        elif section not in _FINE or not _FINE[section](left.get(section), cut[1:]):
            damaged.add(section)
    return Salvage(left, frozenset(damaged), cuts)


def _cut_settings(entries: Any, cut: KeyPath) -> bool:
    """Part of an entry; one without roles sets nothing, and is not about any name."""
    if not _cut_entry(entries, cut):
        return False
    entries[int(cut[0])].setdefault("roles", [])
    return True


def _cut_measure(tools: Any, cut: KeyPath) -> bool:
    """An option of a tool; which tools there are must be known."""
    return isinstance(tools, dict) and len(cut) > 1 and _cut(tools, cut)


def _cut_entry(entries: Any, cut: KeyPath) -> bool:
    """Part of an entry of a list, or all that is in it."""
    if not isinstance(entries, list) or not cut:
        return False
    number, inner = int(cut[0]), cut[1:]
    if not inner or not isinstance(entries[number], dict):
        entries[number] = {}
    return _cut(entries[number], inner)


def _cut(options: Any, cut: KeyPath) -> bool:
    """Take out the innermost key on the way to a fault, whether there is something in its place."""
    steps = list(cut)
    while steps and not isinstance(steps[-1], str):
        steps.pop()
    if not steps:
        return True
    *way, last = steps
    try:
        for step in way:
            options = options[step]
        del options[last]
    except (KeyError, IndexError, TypeError):
        pass  # another cut took it along
    return True


_FINE = {"settings": _cut_settings, "measure": _cut_measure, "report": _cut_entry}
