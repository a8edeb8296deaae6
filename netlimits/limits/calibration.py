"""How often the classes that undetermined verdicts name are right (benchmarks/calibration.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netlimits.limits.verdicts import UNDETERMINED, Verdict

FILE = Path(__file__).with_name("calibration.json")
NAMED = 2
"""Maximum number of classes that an undetermined verdict names."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A class that an undetermined verdict names, and how often such a class is the true one.

    `score` is the strength of the evidence for the class (`Verdict.scores`). `labelled` is the
    number of labelled runs that named a class at the same place with a similar score. In `right`
    of these runs, the named class was the true one.
    """

    name: str
    score: float
    right: int
    labelled: int

    def __str__(self) -> str:
        if not self.labelled:
            return f"{self.name} (score {self.score:.2f})"
        return (
            f"{self.name} (score {self.score:.2f}; right for {self.right} of {self.labelled} "
            "labelled runs with such a score)"
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Labelled runs that named a class at the same place (1: likeliest) with a similar score.

    `least` is the lowest score of the bin. The bins of a place are in descending order of `least`.
    """

    place: int
    least: float
    right: int
    labelled: int


@cache
def bins() -> tuple[Bin, ...]:
    return tuple(Bin(**each) for each in json.loads(FILE.read_text("utf-8"))["bins"])


def likelihoods(verdict: Verdict) -> Iterator[Likelihood]:
    """Yield the likeliest classes of an undetermined verdict; yield nothing for other verdicts."""
    likely = verdict.likely[:NAMED] if verdict.limit == UNDETERMINED else ()
    for place, name in enumerate(likely, 1):
        score = verdict.scores.get(name, 0.0)
        at = next((b for b in bins() if b.place == place and score >= b.least), None)
        right, labelled = (at.right, at.labelled) if at else (0, 0)
        yield Likelihood(name, score, right, labelled)
