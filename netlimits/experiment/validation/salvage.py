"""An experiment's data without its parts of invalid shape, so that the rest can be checked."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netlimits.errors import DocumentError, nearest
from netlimits.experiment import schema
from netlimits.experiment.around_schema import AROUND
from netlimits.experiment.document import KeyPath
from netlimits.experiment.overrides import Source
from netlimits.experiment.validation.shape import shape_errors
from netlimits.experiment.violations import MISSPELT

_NAMES = ("factors", "zip", "derive")
_LISTS = ("exclude", "include", "settings", "report")
_WRONG = float("nan")
"""Replaces an invalid value; as a NaN, it equals nothing."""
MORE = float("nan")
"""Appended to a factor that has one value instead of a list, since other values may be missing."""


@dataclass(frozen=True, slots=True)
class Salvage:
    """The data without its invalid parts; `cuts` are the keys that were removed."""

    data: dict[str, Any]
    cuts: tuple[KeyPath, ...]
    names: tuple[str, ...]  # factors and derived values of the whole file, in order
    factors: tuple[str, ...]
    brought: frozenset[str]  # names that removed parts may have defined
    used: frozenset[str]  # words in the removed parts; some may be names, which are then not unused
    any_name: bool
    lacking: frozenset[KeyPath] = frozenset()  # sections that are kept although a key is missing

    def follows(self, error: DocumentError) -> bool:
        """Return True if an error may follow from a cut: its key is in the cut or contains it."""
        with_content = [cut for cut in self.cuts if cut not in self.lacking]
        return error.steps in self.lacking or follows(error, with_content)


def follows(error: DocumentError, cuts: Iterable[KeyPath]) -> bool:
    """Return True if an error's key is in one of the cuts or contains one."""
    steps = error.steps
    return any(cut[: len(steps)] == steps[: len(cut)] for cut in cuts)


def words(data: Any) -> Iterator[str]:
    """Yield all words in keys and texts, each of which may be a name."""
    if isinstance(data, dict):
        for key, inner in data.items():
            yield from words(key)
            yield from words(inner)
    elif isinstance(data, list):
        for inner in data:
            yield from words(inner)
    elif isinstance(data, str):
        yield from re.findall(r"[A-Za-z_][A-Za-z0-9_-]*", data)


def renamed(
    data: dict[str, Any], where: Source
) -> tuple[dict[str, Any], Source, list[DocumentError]]:
    """Return the data and its lines with misspelt names corrected, and an error for each."""
    sections = schema.structure()["properties"]
    misspelt = []
    for section in [name for name in data if name not in sections]:
        meant = nearest(section, sections)
        if not meant or meant in data:
            continue
        trial = _under(data, section, meant)
        if any(error.steps == (meant,) for error in shape_errors(trial, where)):
            continue
        data = trial
        misspelt.append(where.error(f"{MISSPELT} {meant}?", section))
        where = _moved(where, (section,), (meant,))
    tools = sections["measure"]["properties"]
    measure = data.get("measure")
    rest = {*words({key: part for key, part in data.items() if key != "measure"})}
    for name in list(measure) if isinstance(measure, dict) else ():
        meant = nearest(name, tools) if isinstance(name, str) and name not in tools else ""
        known = data["measure"]
        if not meant or meant in known or name in rest or not isinstance(known[name], dict):
            continue
        data = {**data, "measure": _under(known, name, meant)}
        misspelt.append(where.error(f"{MISSPELT} {meant}?", "measure", name))
        where = _moved(where, ("measure", name), ("measure", meant))
    return data, where, misspelt


def _under(mapping: Mapping[str, Any], name: str, meant: str) -> dict[str, Any]:
    return {meant if key == name else key: part for key, part in mapping.items()}


def _moved(where: Source, place: KeyPath, new: KeyPath) -> Source:
    """Return the source, with the lines of `place` and of the keys in it moved to `new`."""
    count = len(place)
    lines = {
        (*new, *key[count:]) if key[:count] == place else key: line
        for key, line in where.lines.items()
    }
    return dataclasses.replace(where, lines=lines)


def salvage(
    data: Mapping[str, Any], errors: Iterable[DocumentError], lost: Iterable[Any] = ()
) -> Salvage:
    """Return the data without the parts that errors concern.

    `lost` are the earlier values of duplicate keys, which may have defined names.
    """
    left: dict[str, Any] = copy.deepcopy(dict(data))
    sections = schema.structure()["properties"]
    cuts = tuple(dict.fromkeys(error.steps for error in errors if error.steps))
    brought, used = set(words([*lost])), set(words([*lost]))
    any_name = False
    lacking: set[KeyPath] = set()
    for cut in cuts:
        section, inner = str(cut[0]), cut[1:]
        part = _at(data, cut)
        used |= set(words(part))
        if section not in sections or section in _NAMES:
            brought |= set(words(part))
            flat = isinstance(part, dict) and not any(isinstance(v, dict) for v in part.values())
            any_name |= section not in _NAMES and flat  # an unknown key may be a misspelt `factors`
        if section in AROUND and not inner and isinstance(part, dict):
            lacking.add(cut)
            continue  # a key is missing; the other keys can be checked
        fine = section in (*_NAMES, *_LISTS, "measure", *AROUND)
        if not fine or not inner or not _cut(section, left.get(section), inner):
            left.pop(section, None)
            any_name |= section in _NAMES
        elif section in _NAMES and isinstance(cut[-1], str):
            any_name |= not _is_name(cut[-1])
    return Salvage(
        left,
        cuts,
        tuple(_names_of(data, _NAMES)),
        tuple(_names_of(data, ("factors", "zip"))),
        frozenset(brought),
        frozenset(used),
        any_name,
        frozenset(lacking),
    )


def _at(data: Any, cut: KeyPath) -> Any:
    try:
        for step in cut:
            data = data[step]
    except (KeyError, IndexError, TypeError):
        return None
    return data


def _names_of(data: Mapping[str, Any], sections: Iterable[str]) -> Iterator[str]:
    """Yield the names that sections define, even if the sections have errors."""
    for section in sections:
        block = data.get(section)
        for group in block if isinstance(block, list) else [block]:
            yield from group if isinstance(group, dict) else ()


def _cut(section: str, part: Any, cut: KeyPath) -> bool:
    """Remove the part at `cut` from a section; return False if all of it must be removed."""
    listed = section in _LISTS or (section == "zip" and isinstance(part, list))
    if section not in AROUND and not isinstance(part, list if listed else dict):
        return False
    if section == "exclude":
        part[int(cut[0])] = "false"
        return True
    if listed:
        number, cut = int(cut[0]), cut[1:]
        if not cut or not isinstance(part[number], dict):
            part[number] = {}
        part = part[number]
    if section in _NAMES:
        _cut_values(part, cut, may_be_value=section == "factors")
    elif section != "measure" or len(cut) > 1 or not isinstance(part.get(cut[0]), dict):
        cut_option(part, cut)  # an unknown tool stays: its lookups are checked
    if section == "settings":  # without roles, the entry has no effect
        part.setdefault("roles", [])
    return True


def _cut_values(lists: dict[Any, Any], cut: KeyPath, *, may_be_value: bool) -> None:
    """Remove a list or one of its values; with `may_be_value` the key may hold a single value."""
    if not cut:
        return
    name, *row = cut
    values = lists.get(name)
    if row and isinstance(values, list):
        values[int(row[0])] = _WRONG
    elif may_be_value and not row and _is_name(name) and not isinstance(values, list | dict | None):
        lists[name] = [values, MORE]
    else:
        lists.pop(name, None)


def _is_name(name: Any) -> bool:
    return re.fullmatch(schema.NAME, str(name)) is not None


def cut_option(options: Any, cut: KeyPath) -> None:
    """Remove the innermost mapping key on the path to an error."""
    steps = list(cut)
    while steps and not isinstance(steps[-1], str):
        steps.pop()
    if not steps:
        return
    *way, last = steps
    try:
        for step in way:
            options = options[step]
        del options[last]
    except (KeyError, IndexError, TypeError):
        pass  # another cut has removed it
