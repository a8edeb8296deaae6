"""What a report shows, item by item: the nouns that the files of the four reports share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from netlimits.charts import Chart
from netlimits.reproduce.rounding import ComputedFigure, Verdict, Worth

Kind = Literal["table", "chart", "trace", "formula", "script"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One thing that a report prints, beside what our functions compute.

    `statement` is its id in `statements.csv`, empty for a table's rows. `kind` says what the
    comparison is worth (`rounding.Worth`). `value`, `low` and `high` are the figures behind
    `came_out`, in the printed unit, where it is one figure.
    """

    report: str
    item: str
    statement: str
    what: str
    printed: str
    came_out: str
    kind: Worth
    verdict: Verdict
    remark: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A comparison in words, or of a table's rows with one another.

    `agrees` is None where the two stand beside each other: words that no figure can be held
    against. `statement` is its id where the report states it.
    """

    what: str
    printed: str
    computed: str
    agrees: bool | None
    remark: str = ""
    statement: str = ""
    kind: Worth = "recomputed"

    @property
    def verdict(self) -> Verdict:
        """What is to be said of it."""
        if self.agrees is None:
            return "beside" if self.kind == "stated" else "hedged"
        if not self.agrees:
            return "differs"
        return "agrees" if self.kind == "recomputed" else "as printed"


def _no_tables() -> Mapping[str, pd.DataFrame]:
    return {}


def _no_charts() -> Mapping[str, Chart]:
    return {}


def _no_figures() -> Mapping[str, ComputedFigure]:
    return {}


def _no_checks() -> Iterable[Agreement]:
    return ()


@dataclass(frozen=True, slots=True)
class Item:
    """One table, chart, trace, formula or script of a report, and what regenerates it.

    `heading` is the report's own, a line of it (or its figure's number). `data` names the published
    tables or traces that it is regenerated from; none means that no report gives the data, and
    `experiment` measures it. The functions return, by file name, tables and charts; by
    statement id, figures; and checks.
    """

    name: str
    kind: Kind
    heading: str
    experiment: str
    data: tuple[str, ...] = ()
    remark: str = ""
    tables: Callable[[], Mapping[str, pd.DataFrame]] = _no_tables
    charts: Callable[[], Mapping[str, Chart]] = _no_charts
    figures: Callable[[], Mapping[str, ComputedFigure]] = _no_figures
    checks: Callable[[], Iterable[Agreement]] = _no_checks


@dataclass(frozen=True, slots=True)
class Slip:
    """A figure that a report has wrong: what is right, in its unit, and why."""

    right: float
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """One report: its items in their order, and what is to be said of what its text states.

    `no_data` maps a statement to (item whose experiment measures it, why it is not computed);
    `conditions` are statements that describe the set-up, from which others follow; `ranges` are
    those that are one end of a range, which says no more than that.
    """

    name: str
    title: str
    items: Sequence[Item]
    no_data: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    conditions: frozenset[str] = frozenset()
    slips: Mapping[str, Slip] = field(default_factory=dict)
    ranges: frozenset[str] = frozenset()
