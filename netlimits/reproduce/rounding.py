"""Decide whether a computed figure agrees with a printed figure, in spite of rounding.

A printed figure stands for an interval: 3.81 for 3.805 to 3.815. So a figure that is computed from
printed figures has an interval too. To find its ends, `within_rounding` moves the rows of each
group up or down by half a unit of the last digit. It computes the figure for all combinations. The
smallest and the largest result are the ends, since means, ratios and differences are monotone in
each group. Two figures agree if their intervals overlap; there is no other tolerance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from netlimits.metrics import metric
from netlimits.reproduce import published

HEDGED = ("about", "nearly", "for example")
"""Qualifiers in `statements.csv` of figures that are only approximate."""

ComparisonKind = Literal["recomputed", "transcribed", "stated"]
"""The source of the computed figure in a comparison:

    recomputed    it is computed from other printed numbers; only these comparisons test the report
    transcribed   it is a total, a count or a repeated figure, and tests our copy of a table
    stated        there is none, since the report gives no data to compute it from
"""

EDGE = 1e-9
"""Maximum gap between intervals that still overlap, because of errors of binary fractions."""

Verdict = Literal[
    "agrees", "differs", "slip", "hedged", "as printed", "beside", "no data", "condition"
]


@dataclass(frozen=True, slots=True)
class ComputedFigure:
    """A figure computed from the data, with its interval, since the data are rounded."""

    value: float
    low: float
    high: float
    rule: str = ""
    kind: ComparisonKind = "recomputed"

    def written(self, precision: int) -> str:
        """Return the value as text with `precision` + 2 decimals, and its interval if any."""
        if precision == 0 and self.low == self.high == round(self.value):
            return f"{self.value:.0f}"
        value, low, high = (f"{x:.{precision + 2}f}" for x in (self.value, self.low, self.high))
        return value if low == high else f"{value} [{low}, {high}]"


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed figure with `precision` decimals; `qualifier` is the text's hedge, if any."""

    value: float
    precision: int
    unit: str = ""
    qualifier: str = "exactly"

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit, the largest rounding error."""
        return 10.0**-self.precision / 2

    @property
    def is_hedged(self) -> bool:
        """True if the text gives the figure as approximate."""
        return self.qualifier in HEDGED

    @property
    def written(self) -> str:
        """The text of the figure as printed, with its unit and qualifier."""
        number = f"{self.value:.{self.precision}f}"
        hedge = "" if self.qualifier == "exactly" else f"{self.qualifier} "
        return f"{hedge}{number}{'' if self.unit in ('', 'ratio') else f' {self.unit}'}"

    def agrees(self, computed: ComputedFigure) -> bool:
        """Return True if a value in the computed figure's interval rounds to the printed figure."""
        slack = EDGE * max(1.0, abs(self.value))
        if self.qualifier == "more than":
            return computed.high > self.value
        return (
            computed.low <= self.value + self.half_unit + slack
            and computed.high >= self.value - self.half_unit - slack
        )


def exact(value: float, rule: str = "") -> ComputedFigure:
    """Return a figure that does not depend on rounded figures, such as a count."""
    return ComputedFigure(float(value), float(value), float(value), rule)


def transcribed(value: float, rule: str = "") -> ComputedFigure:
    """Return a figure that we copied from a table; a difference is an error of our copy."""
    return ComputedFigure(float(value), float(value), float(value), rule, "transcribed")


def half_units(texts: pd.Series[Any]) -> np.ndarray:
    """Return half a unit of the last digit of each text: 0.005 for "3.81", 0.5 for "4805"."""
    decimals = texts.str.partition(".")[2].str.len().to_numpy(dtype=float)
    return 0.5 * 10.0**-decimals


def published_rows(name: str, where: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return the rows of a published table that have the values in `where`.

    `where` maps a column to a value, or to a tuple of alternative values.
    """
    frame = published.table(name)
    for column, values in (where or {}).items():
        frame = frame[frame[column].isin(values if isinstance(values, tuple) else (values,))]
    return frame


def within_rounding(
    name: str,
    rounded: tuple[str, ...],
    by: str,
    figures: Callable[[pd.DataFrame], Mapping[str, float]],
    where: Mapping[str, Any] | None = None,
) -> dict[str, ComputedFigure]:
    """Compute `figures` of a published table, each with the interval due to rounding.

    `rounded` has the columns with rounded figures, and `by` is the column that defines the groups
    of rows. Each group moves up or down as a whole, in all combinations (see the module).
    """
    frame = published_rows(name, where)
    texts = published.printed(name).loc[frame.index]
    here = [column for column in rounded if column in frame]
    halves = {column: half_units(texts[column]) for column in here if column in texts}
    if "throughput_mbps" in here and "throughput_mbps" not in texts:
        halves["throughput_mbps"] = half_units(texts["remote_recv_throughput_mbps"])
    values = list(dict.fromkeys(frame[by]))
    outcomes = {key: [float(value)] for key, value in figures(frame).items()}
    for signs in itertools.product((-1, 1), repeat=len(values)):
        sign = frame[by].map(dict(zip(values, signs, strict=True))).to_numpy(dtype=float)
        moved = frame.assign(**{c: frame[c] + sign * halves[c] for c in here})
        for key, value in figures(moved).items():
            outcomes[key].append(float(value))
    return {key: ComputedFigure(each[0], min(each), max(each)) for key, each in outcomes.items()}


Statements = Mapping[str, tuple[str, Printed]]


def printed_figures() -> Statements:
    """Return statement id -> (description, printed figure), including the Improvement rows."""
    statements = {
        str(key): (
            str(row["where"]),
            Printed(float(row["value"]), int(row["precision"]), row["unit"], row["qualifier"]),
        )
        for key, row in published.statements().fillna({"unit": ""}).iterrows()
    }
    for row in published.printed("summary-improvement").to_dict("records"):
        key = improvement_id(row["metric"], row["transport"])
        text = str(row["improvement"])
        statements[key] = (key, Printed(float(text), len(text.partition(".")[2])))
    return statements


def improvement_id(column: str, transport: str) -> str:
    """Return the statement id of a cell in the Summary's Improvement rows."""
    return f"improvement: {metric(column).title}, {transport}"
