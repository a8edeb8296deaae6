"""The interface of a class of limits: required columns, sign, intervention and labelled runs.

A class is pure: it sees the figures of one run and nothing else. A sign has premises. The
strength of a premise is its evidence divided by its threshold. A premise holds if its strength
is at least 1. The weakest premise decides the strength of the sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from netlimits.limits.figures import RunFigures

PROVEN, REFUTED, OPEN = "proven", "refuted", "open"
"""Results of an intervention for a class, from the ratio of throughput with the change to that
without it. The ratio's interval is within the expected range (proven), outside it (refuted), or
across an edge (open). Exception: with more streams, an interval below the range and 1 is open."""

SAME_SUM = (0.85, 1.05)
"""Expected ratio of throughput with twice the streams to that without the change, if all streams
share the limit. In a short run it may be below 1: streams begin and end at different times."""

BY_HAND = "by hand"
"""Marks a change in `decide` that no setting can make, so `explain --next` does not plan it."""

LEAST_SIGN = 0.5
"""Minimum strength of a sign for its class to be a runner-up, or to be tested by an intervention.
If no class fires, the runner-up is the nearest class, even below this strength."""


@dataclass(frozen=True, slots=True)
class Premise:
    """A condition of a sign.

    `strength` is its evidence over its threshold. `short` says why it fails, as a clause that
    continues "it is not this class, because".
    """

    strength: float
    short: str

    @classmethod
    def reached(cls, value: float, threshold: float, short: str) -> Premise:
        """Return the premise that a value is at least `threshold`.

        Args:
            value: The evidence.
            threshold: The value from which on the premise holds, in the same unit.
            short: Why the premise fails, as a clause.

        Returns:
            The premise with strength `value` / `threshold`.
        """
        return cls(value / threshold, short)

    @classmethod
    def below(cls, value: float, threshold: float, short: str) -> Premise:
        """Return the premise that a value is at most `threshold`.

        Args:
            value: The evidence.
            threshold: The value up to which the premise holds, in the same unit.
            short: Why the premise fails, as a clause.

        Returns:
            The premise with strength `threshold` / `value`; 2 if the value is 0.
        """
        return cls(threshold / value if value > 0 else 2.0, short)


@dataclass(frozen=True, slots=True)
class Sign:
    """A class's evidence in one run: premises, figures, and the sentence to print if all hold.

    `decide`, unless empty, replaces the description of the class's intervention.
    """

    premises: tuple[Premise, ...]
    sentence: str
    figures: Mapping[str, float] = field(default_factory=dict)
    decide: str = ""

    @property
    def weakest(self) -> Premise:
        """The premise with the least strength."""
        return min(self.premises, key=lambda premise: premise.strength)

    @property
    def strength(self) -> float:
        """Strength of the weakest premise."""
        return self.weakest.strength

    @property
    def fires(self) -> bool:
        """True if every premise holds."""
        return self.strength >= 1


@dataclass(frozen=True, slots=True)
class Intervention:
    """The change that proves or refutes a class, and its expected effect.

    `change` describes it in words. `what` names it in `changes.CHANGES`, or is empty if the change
    is made by hand. `times` is the factor by which the change multiplies a resource, such as the
    number of streams. The class is proven if the interval of the ratio (throughput with the change
    over throughput without it, in the same blocks) is within `least` and `most`. A `specific`
    change affects hardly any other class, so it proves its class even if counters do not suggest
    the class.
    """

    change: str
    what: str = ""
    times: float = 1.0
    least: float = 0.0
    most: float = math.inf
    specific: bool = True

    @property
    def level(self) -> str:
        """The level of the factor `intervention` (`streams-x2`); "" for a change by hand."""
        return f"{self.what.replace('_', '-')}-x{self.times:g}" if self.what else ""

    @property
    def decisive(self) -> bool:
        """True if the ratio of throughput can refute a class: `least` or `most` is set."""
        return bool(self.least) or not math.isinf(self.most)

    @property
    def expectation(self) -> str:
        """The expected throughput with the change, in words."""
        if math.isinf(self.most):
            return f"at least {self.least:g} times the throughput"
        if not self.least:
            return f"at most {self.most:g} times the throughput"
        return f"{self.least:g} to {self.most:g} times the throughput"

    def decides(self, name: str) -> str:
        """Return the change and the throughput that proves a class, in words.

        Args:
            name: The name of the class.

        Returns:
            A sentence without a full stop. Changes that no setting can make are marked with
            BY_HAND.
        """
        by_hand = "" if self.what else f" ({BY_HAND})"
        return f"{self.change.partition(':')[0]}{by_hand}; {self.expectation} proves {name}"

    def state(self, low: float, high: float) -> str:
        """Return the result of the intervention.

        Args:
            low: Lower end of the interval of the ratio of throughput with the change to that
                without it.
            high: Upper end of this interval.

        Returns:
            `proven`, `refuted` or `open`.
        """
        if self.least <= low and high <= self.most:
            return PROVEN
        if self.what == "streams" and high < min(1.0, self.least):
            return OPEN  # streams hinder one another: a lower sum proves nothing
        return REFUTED if high < self.least or low > self.most else OPEN


@dataclass(frozen=True, slots=True)
class Label:
    """An experiment that a known class limits; `benchmarks/verdicts.py` tests verdicts with it.

    `experiment` is the text of an experiment file without its name and `repeat`. `lab` are the
    options of `netlimits lab up` that build its hosts, and `link` those of `netlimits lab link`
    that shape the link between them.
    """

    experiment: str
    lab: str = "--machines"
    link: str = ""


class LimitClass(Protocol):
    """A class of limits. A new class is one file and one line in CLASSES."""

    @property
    def name(self) -> str:
        """Name in verdicts."""

    @property
    def title(self) -> str:
        """Title shown to users."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that `sign` requires, without the prefix `local_` or `remote_`."""

    @property
    def intervention(self) -> Intervention:
        """Change that proves the class."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """Experiments that this class limits: 8 runs or more, at different rates and sizes."""

    def sign(self, run: RunFigures) -> Sign | None:
        """Return the evidence for the class in a run.

        Args:
            run: The figures of the run.

        Returns:
            Premises, figures and a sentence; None if figures in `needs` are missing.
        """
        ...
