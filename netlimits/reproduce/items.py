"""The items of a report: the classes that the files of the four reports share."""

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
    """A figure that a report prints, and what our functions compute.

    `value` is the number behind `came_out` in the printed unit; `low` and `high` are the interval
    that the rounding of the data allows.
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
    """A comparison of words or whole tables with figures.

    `agrees` is None for words that no number can confirm.
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

    `tables` and `charts` return file name -> content, `figures` statement id -> figure.
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
    """A wrong figure of a report: the right one, in its unit, and the reason."""

    right: float
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report, and its statements that are not computed.

    `no_data` is statement -> (item whose experiment measures it, why it is not computed).
    """

    name: str
    title: str
    items: Sequence[Item]
    no_data: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    slips: Mapping[str, Slip] = field(default_factory=dict)
    ranges: frozenset[str] = frozenset()
