"""The classes of reports and their items, which the modules of the four reports share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from netlimits.charts import Chart
from netlimits.reproduce.rounding import ComparisonKind, ComputedFigure, Verdict

Kind = Literal["table", "chart", "trace", "formula", "script"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure that a report prints, and the figure that our functions compute.

    `came_out` is the text of the computed figure, and `value` its number in the printed unit. `low`
    and `high` are the interval of the computed figure, since the data are rounded.
    """

    report: str
    item: str
    statement: str
    what: str
    printed: str
    came_out: str
    kind: ComparisonKind
    verdict: Verdict
    remark: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A comparison of a report's words, or of a whole table, with computed figures.

    `agrees` is None if no figure can confirm the words.
    """

    what: str
    printed: str
    computed: str
    agrees: bool | None
    remark: str = ""
    statement: str = ""
    kind: ComparisonKind = "recomputed"

    @property
    def verdict(self) -> Verdict:
        if self.agrees is None:
            return "beside" if self.kind == "stated" else "hedged"
        if not self.agrees:
            return "differs"
        return "agrees" if self.kind == "recomputed" else "as printed"


@dataclass(frozen=True, slots=True)
class Item:
    """A table, chart, trace, formula or script of a report, and how to regenerate it.

    `tables` and `charts` return file name -> content, and `figures` returns statement id -> figure.
    """

    name: str
    kind: Kind
    heading: str
    experiment: str
    data: tuple[str, ...] = ()
    remark: str = ""
    tables: Callable[[], Mapping[str, pd.DataFrame]] = dict
    charts: Callable[[], Mapping[str, Chart]] = dict
    figures: Callable[[], Mapping[str, ComputedFigure]] = dict
    checks: Callable[[], Iterable[Agreement]] = tuple


@dataclass(frozen=True, slots=True)
class Slip:
    """A wrong figure of a report: the right figure in the same unit, and the reason."""

    right: float
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report with its items, and the statements that need special treatment.

    `no_data` maps a statement to (item whose experiment measures it, why it is not computed).
    `slips` maps a statement to its known error. `ranges` has the statements that are the ends of
    printed ranges.
    """

    name: str
    title: str
    items: Sequence[Item]
    no_data: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    slips: Mapping[str, Slip] = field(default_factory=dict)
    ranges: frozenset[str] = frozenset()
