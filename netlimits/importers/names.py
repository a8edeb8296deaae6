"""Factors in the names of files and folders: a pattern with `{factor}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


@dataclass(frozen=True)
class NamePattern:
    """A pattern of paths, such as `bbr_buf{buffer}/{delay}ms_{replicate}.json`."""

    text: str

    @property
    def factors(self) -> tuple[str, ...]:
        names = (match[1] for match in _PLACEHOLDER.finditer(self.text))
        return tuple(name for name in names if name not in (REPLICATE, ""))

    def check(self) -> None:
        """Raise InputError for a pattern without factor, or with a name that cannot be one."""
        names = [match[1] for match in _PLACEHOLDER.finditer(self.text)]
        for name in names:
            if name in RESERVED:
                raise InputError(
                    f"--name {self.text}: {name} is a column of every result; choose another "
                    f"name, or {{{REPLICATE}}} for the number of a repetition"
                )
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
                raise InputError(f"--name {self.text}: {{{name}}} is no name of a factor")
            if names.count(name) > 1:
                raise InputError(f"--name {self.text}: {{{name}}} occurs twice")
        if not names or re.search(r"[{}]", _PLACEHOLDER.sub("", self.text)):
            raise InputError(f"--name {self.text}: write {{FACTOR}} where names differ")

    def values(self, path: str) -> dict[str, Scalar] | None:
        parts = self.text.strip("/").split("/")
        last = "/".join(PurePath(path).parts[-len(parts) :])
        pieces = []
        for place, piece in enumerate(_PLACEHOLDER.split(self.text.strip("/"))):
            if place % 2:
                pieces.append(f"(?P<{piece}>[^/]+?)")
            else:
                pieces.append("[^/]*".join(map(re.escape, piece.split("*"))))
        match = re.fullmatch("".join(pieces) + _COMPRESSED, last)
        if match is None:
            return None
        return {name: scalar(match[name]) for name in self.factors}


def conflict(of_name: Mapping[str, Scalar], of_file: Mapping[str, Scalar]) -> str:
    """Return how a file's content contradicts its name, or ""."""
    for name, value in of_name.items():
        if name in of_file and of_file[name] != value and str(of_file[name]) != str(value):
            return f"{name} is {value} by its name and {of_file[name]} by its content"
    return ""
