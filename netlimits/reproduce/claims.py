"""Check a report's claims with our own measurements.

A claim says that a ratio is within a range. Each block gives one value: the mean of its log ratios
over all conditions. The 95 % interval of the ratio decides the verdict:

    holds           the whole interval is within the claim's range
    does not hold   the whole interval is outside the claim's range
    undecided       the interval is partly within the range; more blocks would narrow it
    too few blocks  fewer than six blocks or, without blocks, fewer than six runs on a side
    cannot show it  the runs lack a condition of the claim (a full link, the report's tool)
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
Measure = Callable[[pd.DataFrame], "Sample"]
INFINITE = float("inf")
FULL = 0.95
"""A link counts as full from this share of the fastest configuration's rate."""


class Sample(NamedTuple):
    """The logarithm of a ratio in each block, and the number of runs used.

    If the runs have no blocks, `sides` has the logarithms of numerator and denominator instead. If
    the runs cannot show what the claim says, `unfit` is the reason.
    """

    logs: np.ndarray
    runs: int
    unfit: str = ""
    sides: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """A claim of a report: the ratio that `measure` returns is from `low` to `high`.

    `experiment` names the experiment whose runs are measured.
    """

    words: str
    experiment: str
    measure: Measure
    low: float = 0.0
    high: float = INFINITE
    statements: tuple[str, ...] = ()

    def judge(self, frame: pd.DataFrame) -> Judgement:
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
    """The ratio of a claim with its 95 % interval.

    `units` is the number of blocks or, without blocks, the number of runs of the smaller side.
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
        """The ratio and its interval, "1.12 [1.02, 1.22]", or the reason why there is none."""
        if self.unfit:
            return self.unfit
        interval = "" if np.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.2f}{interval}"

    @property
    def basis(self) -> str:
        """The numbers of runs and blocks: "96 runs, 6 blocks"."""
        if not self.blocked:
            return f"{self.runs} runs, no blocks"
        return f"{self.runs} runs, {self.units} block{'' if self.units == 1 else 's'}"

    def __str__(self) -> str:
        if self.unfit:
            return f"{self.verdict}: {self.unfit}"
        return f"{self.verdict}: {self.figures} over {self.basis}"


def ratio(
    of: str, factor: str, over: str, under: str, where: str = "", conditions: Sequence[str] = ()
) -> Measure:
    """Return a measure of a ratio: the metric `of` at `over`, divided by its value at `under`.

    `over` and `under` are values of `factor`. Runs are compared within blocks, if they have any.
    """

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
) -> Measure:
    """Return a measure of a ratio of ratios: that of query `first`, divided by that of `second`.

    For each query, the inner ratio is the metric `of` at `over`, divided by its value at `under`.
    """

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


def between(of: str, first: str, second: str, conditions: Sequence[str] = ()) -> Measure:
    """Return a measure of a ratio: the geometric mean of `first`, divided by that of `second`.

    `first` and `second` are queries that select runs.
    """

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


def of_blocks(
    figure: Callable[[pd.DataFrame], float],
    over: float | Callable[[pd.DataFrame], float],
    where: str,
) -> Measure:
    """Return a measure of a ratio: each block's `figure`, divided by `over`.

    `over` is another figure of the block, or a constant. `where` is a query that selects runs.
    """

    def sample(frame: pd.DataFrame) -> Sample:
        runs = frames.usable(frame.query(where))
        blocks = frames.blocks(runs)
        parts = [] if blocks is None else [part for _, part in runs.groupby(blocks)]
        ratios = np.array([figure(p) / (over(p) if callable(over) else over) for p in parts])
        return Sample(np.log(ratios[np.isfinite(ratios) & (ratios > 0)]), len(runs))

    return sample


def needs(condition: Callable[[pd.DataFrame], str], measure: Measure) -> Measure:
    """Return `measure`, but with a sample that is unfit if `condition` returns a reason."""

    def sample(frame: pd.DataFrame) -> Sample:
        lacking = condition(frame)
        return Sample(np.empty(0), 0, lacking) if lacking else measure(frame)

    return sample


def full_link(
    by: Sequence[str], where: str = "", *, of: str = "throughput", share: float = FULL
) -> Callable[[pd.DataFrame], str]:
    """Return a condition for `needs`: the mean rates of all configurations are nearly equal.

    The slowest must have at least `share` of the fastest's rate.
    """

    def lacking(frame: pd.DataFrame) -> str:
        runs = frames.usable(frame.query(where) if where else frame)
        rates = runs.groupby(list(by))[_column(frame, of)].mean()
        least = float(rates.min() / rates.max())
        if least >= share:
            return ""
        return (
            "needs a full link, and the slowest configuration carried "
            f"{100 * least:.0f} % of the fastest's rate"
        )

    return lacking


def _column(frame: pd.DataFrame, of: str) -> str:
    """Return `of` if it is the name of a column, else the column of the metric `of`."""
    return of if of in frame.columns else frames.column(frame, of).column


def _runs(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    runs = frames.usable(frame)
    blocks = frames.blocks(runs)
    runs = runs.assign(block=0 if blocks is None else blocks)
    return runs[runs[column] > 0]


def _samples(
    frame: pd.DataFrame, of: str, factor: str, values: Sequence[str]
) -> Iterator[np.ndarray]:
    """Yield the logarithms of the metric for each value of the factor, without regard to blocks."""
    column = _column(frame, of)
    runs = _runs(frame, column)
    for value in values:
        yield np.log(runs.loc[runs[factor].map(wording.text) == value, column].to_numpy(float))


def _logs(frame: pd.DataFrame, of: str, factor: str, conditions: Sequence[str]) -> pd.DataFrame:
    """Return the metric's mean logarithms, with a column for each value of the factor.

    There is a row for each block and combination of conditions.
    """
    column = _column(frame, of)
    runs = _runs(frame, column)
    values = runs[factor].map(wording.text)
    keys = [runs[key] for key in ("block", *conditions)]
    means = np.log(runs[column]).groupby([*keys, values]).mean()
    return pd.DataFrame(means.unstack())


def _of_blocks(logs: pd.Series[float]) -> np.ndarray:
    means: np.ndarray = logs.groupby("block").mean().to_numpy()
    return means


def _lacking(logs: pd.DataFrame, factor: str, values: Sequence[str]) -> Sample:
    absent = next(value for value in values if value not in logs.columns)
    return Sample(np.empty(0), 0, f"{factor} was never {absent}")
