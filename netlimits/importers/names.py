"""Factors in the names of files and folders: a pattern with `{factor}`, given or guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from netlimits.errors import InputError
from netlimits.experiment.validation.names import RESERVED
from netlimits.importers.base import scalar
from netlimits.model import Scalar

REPLICATE = "replicate"
"""Placeholder for the number of a repetition, which is no factor."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_COMPRESSED = r"(?:\.(?:gz|xz|zst|bz2))?"
_FIELDS = re.compile(r"([/_,;=+ -]|\.(?=[A-Za-z]))")
"""Separators of the fields of a name; a dot only before a letter, so that 1.5 is one field."""


@dataclass(frozen=True)
class NamePattern:
    """A pattern of paths, such as `bbr_buf{buffer}/{delay}ms_{replicate}.json`.

    `{factor}` matches a text without `/`, and `*` any text without `/` that is ignored. A pattern
    of N parts is matched against the last N parts of a path.
    """

    text: str

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors, in the pattern's order."""
        names = (match[1] for match in _PLACEHOLDER.finditer(self.text))
        return tuple(name for name in names if name not in (REPLICATE, ""))

    def check(self) -> None:
        """Raise InputError for a pattern without placeholder, or with an invalid factor name."""
        names = [match[1] for match in _PLACEHOLDER.finditer(self.text)]
        for name in names:
            if name in RESERVED:
                raise InputError(
                    f"--name {self.text}: {name} is a column of every result; choose another "
                    f"name, or {{{REPLICATE}}} for the number of a repetition"
                )
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
                raise InputError(f"--name {self.text}: {{{name}}} is not a factor name")
            if names.count(name) > 1:
                raise InputError(f"--name {self.text}: {{{name}}} occurs twice")
        if not names or re.search(r"[{}]", _PLACEHOLDER.sub("", self.text)):
            raise InputError(f"--name {self.text}: write {{FACTOR}} where names differ")

    def values(self, path: str) -> dict[str, Scalar] | None:
        """Return factor -> value, None for a path that does not match."""
        parts = self.text.strip("/").split("/")
        last = "/".join(PurePath(path).parts[-len(parts) :])
        match = self._expression.fullmatch(last)
        if match is None:
            return None
        return {name: scalar(match[name]) for name in self.factors}

    @property
    def _expression(self) -> re.Pattern[str]:
        pieces = []
        for place, piece in enumerate(_PLACEHOLDER.split(self.text.strip("/"))):
            if place % 2:
                pieces.append(f"(?P<{piece}>[^/]+?)")
            else:
                pieces.append("[^/]*".join(map(re.escape, piece.split("*"))))
        return re.compile("".join(pieces) + _COMPRESSED)


def guess(paths: Sequence[str]) -> NamePattern | None:
    """Return a pattern that matches all paths, with a factor for each field that differs.

    Return None for fewer than two paths. Return None also if the names have no common form, or if
    they differ only in the number of a repetition.
    """
    if len(paths) < 2:
        return None
    split = [PurePath(path).parts for path in paths]
    depth = _depth(split)
    rows = [_FIELDS.split("/".join(parts[-depth:])) for parts in split]
    if len({tuple(row[1::2]) for row in rows}) > 1:
        return None
    columns = list(zip(*rows, strict=True))
    varying = [place for place, values in enumerate(columns) if len(set(values)) > 1]
    repeated = _replicate(rows, varying)
    pieces, taken = [], set[str]()
    for place, values in enumerate(columns):
        if place not in varying:
            pieces.append(values[0])
            continue
        before, after = _common(values)
        name = REPLICATE if place == repeated else _free(before or after, taken)
        taken.add(name)
        pieces.append(f"{before}{{{name}}}{after}")
    pattern = NamePattern("".join(pieces))
    if not taken - {REPLICATE} or any(pattern.values(path) is None for path in paths):
        return None
    return pattern


def _depth(split: Sequence[Sequence[str]]) -> int:
    """Return the number of trailing parts that contain all differences between the paths."""
    common = min(len(parts) for parts in split)
    for depth in range(common, 1, -1):
        if len({parts[-depth] for parts in split}) > 1:
            return depth
    return 1


def _replicate(rows: Sequence[Sequence[str]], varying: Sequence[int]) -> int | None:
    """Return the index of the last differing field if it numbers repetitions, else None."""
    if not varying:
        return None
    last = varying[-1]
    before, after = _common([row[last] for row in rows])
    numbers = {row[last][len(before) : len(row[last]) - len(after)] for row in rows}
    if not all(number.isdigit() for number in numbers):
        return None
    ordered = sorted(map(int, numbers))
    others = Counter(tuple(row[:last]) + tuple(row[last + 1 :]) for row in rows)
    rising = ordered == list(range(ordered[0], ordered[0] + len(ordered))) and ordered[0] in (0, 1)
    return last if rising and min(others.values()) > 1 else None


def _common(values: Sequence[str]) -> tuple[str, str]:
    """Return the prefix and the suffix without digits that all values share."""
    before = _letters(values)
    rest = [value[len(before) :] for value in values]
    after = _letters([value[::-1] for value in rest])[::-1]
    return before, after


def _letters(values: Sequence[str]) -> str:
    """Return the text before the first digit, "" if it differs or if a value has no digit."""
    begins = {re.match(r"[^\d]*", value)[0] for value in values}  # type: ignore[index]
    (common, *others) = begins
    return common if not others and all(len(value) > len(common) for value in values) else ""


def _free(word: str, taken: set[str]) -> str:
    """Return an unused name for a factor: `word` without punctuation, or `factor`.

    A number is appended if the name is in `taken` or reserved.
    """
    base = re.sub(r"[^A-Za-z0-9]", "", word)
    name = base if re.match(r"[A-Za-z]", base) and base not in RESERVED else "factor"
    number, free = 2, name
    while free in taken or free in RESERVED:
        number, free = number + 1, f"{name}{number}"
    return free


def conflict(of_name: Mapping[str, Scalar], of_file: Mapping[str, Scalar]) -> str:
    """Return the factor on which a file's name and its content disagree, in words, or ""."""
    for name, value in of_name.items():
        if name in of_file and of_file[name] != value and str(of_file[name]) != str(value):
            return f"{name} is {value} by its name and {of_file[name]} by its content"
    return ""
