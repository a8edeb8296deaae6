"""The category of each function of the kernel, by the shell patterns of `functions.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import resources

CALLER = "caller"
"""Mark of helpers, which have the category of their caller."""

UNSORTED = ""
"""The result for functions that no pattern matches; they count as `other`."""

_SUFFIX = re.compile(r"\.(?:isra|constprop|part|cold|llvm|lto_priv|localalias).*$")
_FILE = "functions.txt"


@dataclass(frozen=True, slots=True)
class Function:
    """A function on a stack. `module` is the kernel module, "" for the kernel itself."""

    function: str
    kernel: bool = False
    module: str = ""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of a file: whole names, beginnings of names, and all others."""

    names: Mapping[str, str]
    beginnings: Mapping[str, str]
    others: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Patterns:
        """Sort pairs of a pattern and its category; the first of equal patterns counts."""
        names: dict[str, str] = {}
        beginnings: dict[str, str] = {}
        others = []
        for pattern, category in pairs:
            if "*" not in pattern:
                names.setdefault(pattern, category)
            elif pattern.index("*") == len(pattern) - 1:
                beginnings.setdefault(pattern[:-1], category)
            else:
                others.append((pattern, category))
        return cls(names, beginnings, sorted(others, key=lambda p: -_size(p[0])))

    def find(self, name: str) -> str:
        """Return the category of the longest pattern that matches, UNSORTED if none does."""
        if name in self.names:
            return self.names[name]
        sizes = range(len(name), 0, -1)
        longest = next((size for size in sizes if name[:size] in self.beginnings), 0)
        for pattern, category in self.others:
            if _size(pattern) <= longest:
                break
            if fnmatchcase(name, pattern):
                return category
        return self.beginnings[name[:longest]] if longest else UNSORTED


def _size(pattern: str) -> int:
    return len(pattern) - pattern.count("*")


@cache
def _patterns() -> tuple[Patterns, Patterns]:
    """Return the patterns of functions and of modules."""
    text = resources.files(__package__).joinpath(_FILE).read_text("utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    pairs = [(pattern, category) for category, *patterns in lines for pattern in patterns]
    modules = ((p.strip("[]"), category) for p, category in pairs if p.startswith("["))
    return Patterns.of(p for p in pairs if not p[0].startswith("[")), Patterns.of(modules)


@lru_cache(maxsize=20_000)
def of_function(function: str, module: str = "") -> str:
    """Return the category of a kernel function: CALLER for a helper, UNSORTED if unknown."""
    functions, modules = _patterns()
    category = functions.find(_SUFFIX.sub("", function))
    if category in (UNSORTED, CALLER) and module:
        return modules.find(module) or category
    return category


def of_stack(stack: Sequence[Function], program: bool = False) -> str:
    """Return the category of a stack, innermost last; others' code is `other`, not `program`."""
    if not stack or not stack[-1].kernel:
        return "program" if program else "other"
    for frame in reversed(stack):
        if not frame.kernel:  # a helper that the program called directly
            return "socket"
        category = of_function(frame.function, frame.module)
        if category != CALLER:
            return category
    return "other"
