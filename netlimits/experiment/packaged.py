"""The experiments that are installed with netlimits, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netlimits.errors import InputError, did_you_mean
from netlimits.experiment import document

_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class Packaged:
    name: str
    question: str
    path: Path


@cache
def files() -> Mapping[str, Path]:
    folder = Path(__file__).parents[1] / "experiments"
    return {path.stem: path for path in sorted(folder.glob(f"*{_SUFFIX}"))}


def experiments() -> tuple[Packaged, ...]:
    """Return all installed experiments, `quickstart` first."""
    every = [
        Packaged(name, str(document.load(path).data.get("question", "")), path)
        for name, path in files().items()
    ]
    return tuple(sorted(every, key=lambda each: each.name != "quickstart"))


def named(written: str) -> Path | None:
    """Return the file of an installed experiment, None for a path or an unknown name."""
    return files().get(written)


def text(name: str) -> str:
    """Return the file of an experiment as text. Raises InputError for an unknown name."""
    if not (path := named(name)):
        raise InputError(f"no experiment is called {name}{did_you_mean(name, files())}")
    return path.read_text("utf-8")
