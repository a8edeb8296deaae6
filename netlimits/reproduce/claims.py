"""What a report claims, held against measurements of ours.

A claim is a ratio that lies in a range. The unit is a block: the mean of its log ratios over all
conditions, so that many conditions make no more of few blocks. Its interval decides.

    holds           all of the interval lies in the claim's range
    does not hold   none of it does
    undecided       anything else: more blocks would decide
    too few blocks  of fewer than six blocks, or runs of a side without blocks, none decides
    cannot show it  the runs lack what the claim is about (a full link, the report's tool)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from netlimits.analysis import frames, wording
from netlimits.analysis.statistics import contrasts
from netlimits.analysis.statistics.intervals import ENOUGH

Verdict = Literal["holds", "does not hold", "undecided", "too few blocks", "cannot show it"]
INFINITE = float("inf")


class Sample(NamedTuple):
    """The logarithm of a ratio in each block, and the number of runs behind all of them.

    Of runs without blocks it has none, but the logarithms of both `sides`. `unfit` is why these
    runs cannot show the claim, where they cannot.
    """

    logs: np.ndarray
    runs: int
    unfit: str = ""
    sides: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """A statement of a report, in words, as a ratio from `low` to `high`.

    `statement` is its id where it is one of data/statements.csv; `experiment` measures it, and
    `measure` makes the sample of its runs.
    """

    words: str
    experiment: str
    measure: Callable[[pd.DataFrame], Sample]
    low: float = 0.0
    high: float = INFINITE
    statement: str = ""

    def judge(self, frame: pd.DataFrame) -> Judgement:
        """What these runs say of it."""
        sample = self.measure(frame)
        if sample.unfit or not (len(sample.logs) or sample.sides):
            return Judgement(
                self, np.nan, np.nan, np.nan, 0, sample.runs, sample.unfit or "no runs"
            )
        if sample.sides:
            interval, units = contrasts.welch(*sample.sides), min(map(len, sample.sides))
        else:
            interval, units = contrasts.paired(sample.logs)[0], len(sample.logs)
        value, low, high = (float(np.exp(x)) for x in interval[:3])
        blocked = sample.sides is None
        return Judgement(self, value, low, high, units, sample.runs, blocked=blocked)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The ratio with its 95 % interval, over so many blocks and runs.

    Where runs are not `blocked`, `units` are those of the side with fewer.
    """

    claim: Assertion
    value: float
    low: float
    high: float
    units: int
    runs: int
    unfit: str = ""
    blocked: bool = True

    @property
    def verdict(self) -> Verdict:
        """What the interval says of the claim."""
        if self.unfit:
            return "cannot show it"
        if self.units < ENOUGH:
            return "too few blocks"
        if self.claim.low <= self.low and self.high <= self.claim.high:
            return "holds"
        outside = self.high < self.claim.low or self.low > self.claim.high
        return "does not hold" if outside else "undecided"

    @property
    def figures(self) -> str:
        """The ratio and its interval: "1.12 [1.02, 1.22]"; why there is none."""
        if self.unfit:
            return self.unfit
        interval = "" if np.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.2f}{interval}"

    @property
    def basis(self) -> str:
        """The runs and blocks behind it: "96 runs, 6 blocks"."""
        if not self.blocked:
            return f"{self.runs} runs, no blocks"
        return f"{self.runs} runs, {self.units} block{'' if self.units == 1 else 's'}"

    def __str__(self) -> str:
        if self.unfit:
            return f"{self.verdict}: {self.unfit}"
        return f"{self.verdict}: {self.figures} over {self.basis}"


def ratio(
    of: str, factor: str, over: str, under: str, where: str = "", conditions: Sequence[str] = ()
) -> Callable[[pd.DataFrame], Sample]:
    """The metric at one value of a factor over that at another, in each block and condition."""

    def sample(frame: pd.DataFrame) -> Sample:
        logs = _logs(frame.query(where) if where else frame, of, factor, conditions)
        if not {over, under} <= {*logs.columns}:
            return _lacking(logs, factor, (over, under))
        if frames.blocks(frames.usable(frame)) is None:
            sides = tuple(
                _samples(frame.query(where) if where else frame, of, factor, (over, under))
            )
            return Sample(np.empty(0), sum(map(len, sides)), "", (sides[0], sides[1]))
        pairs = (logs[over] - logs[under]).dropna()
        return Sample(_of_blocks(pairs), 2 * len(pairs))

    return sample


def gain(
    of: str,
    factor: str,
    over: str,
    under: str,
    conditions: Sequence[str],
    first: str,
    second: str,
) -> Callable[[pd.DataFrame], Sample]:
    """How many times greater a ratio is among the runs of one query than among another's."""

    def sample(frame: pd.DataFrame) -> Sample:
        sides = []
        runs = 0
        for where in (first, second):
            logs = _logs(frame.query(where), of, factor, conditions)
            if not {over, under} <= {*logs.columns}:
                return _lacking(logs, factor, (over, under))
            pairs = (logs[over] - logs[under]).dropna()
            runs += 2 * len(pairs)
            sides.append(pairs.groupby("block").mean())
        return Sample((sides[0] - sides[1]).dropna().to_numpy(), runs)

    return sample


def between(
    of: str, first: str, second: str, conditions: Sequence[str] = ()
) -> Callable[[pd.DataFrame], Sample]:
    """The metric's geometric mean over the runs of one query, over that of another's."""

    def sample(frame: pd.DataFrame) -> Sample:
        column = _column(frame, of)
        sides = []
        runs = 0
        for where in (first, second):
            part = _runs(frame.query(where), column)
            runs += len(part)
            keys = ["block", *conditions]
            sides.append(np.log(part[column]).groupby([part[key] for key in keys]).mean())
        difference = (sides[0] - sides[1]).dropna()
        return Sample(_of_blocks(difference), runs)

    return sample


def not_shown(why: str) -> Callable[[pd.DataFrame], Sample]:
    """A claim that the experiment's runs cannot show, and why."""
    return lambda frame: Sample(np.empty(0), 0, why)


def _column(frame: pd.DataFrame, of: str) -> str:
    """The column of a metric, or that of this very name."""
    return of if of in frame.columns else frames.column(frame, of).column


def _runs(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The runs that are ok and have the metric, with their blocks."""
    runs = frames.usable(frame)
    blocks = frames.blocks(runs)
    runs = runs.assign(block=0 if blocks is None else blocks)
    return runs[runs[column] > 0]


def _samples(
    frame: pd.DataFrame, of: str, factor: str, values: Sequence[str]
) -> Iterator[np.ndarray]:
    """The metric's logarithms at each value, of runs without blocks."""
    column = _column(frame, of)
    runs = _runs(frame, column)
    for value in values:
        yield np.log(runs.loc[runs[factor].map(wording.text) == value, column].to_numpy(float))


def _logs(frame: pd.DataFrame, of: str, factor: str, conditions: Sequence[str]) -> pd.DataFrame:
    """The metric's logarithm, a row for each block and condition, a column for each value."""
    column = _column(frame, of)
    runs = _runs(frame, column)
    values = runs[factor].map(wording.text)
    keys = [runs[key] for key in ("block", *conditions)]
    means = np.log(runs[column]).groupby([*keys, values]).mean()
    return pd.DataFrame(means.unstack())


def _of_blocks(logs: pd.Series[float]) -> np.ndarray:
    """The mean of each block."""
    means: np.ndarray = logs.groupby("block").mean().to_numpy()
    return means


def _lacking(logs: pd.DataFrame, factor: str, values: Sequence[str]) -> Sample:
    absent = next(value for value in values if value not in logs.columns)
    return Sample(np.empty(0), 0, f"{factor} was never {absent}")
