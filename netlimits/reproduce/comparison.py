"""Every statement and table of the reports beside what came out: agrees, differs, slip, or why not.

Each is of a kind: *recomputed* from other printed numbers, *transcribed* (it guards our copy of the
report) or *stated* (there is nothing to compute it from). Only the first can agree, so that no
constant agrees with itself, and nothing by being left out:

    agrees      recomputed: what came out rounds to what was printed
    differs     it does not; or our copy is not what was printed
    slip        the report is known to be wrong, and the right figure came out; the remark says why
    hedged      the text says "about", "nearly", a range: the computed figure stands beside it
    as printed  transcribed, and the same again
    beside      stated; what stands beside it was computed from something else, as the remark says
    no data     stated, and the report gives no data; the remark names the experiment, and where
                it was measured in the lab, that stands beside it
    condition   stated: the set-up (a link rate, an MTU)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pandas as pd

from netlimits.errors import DataError
from netlimits.reproduce import acks, headers, limiters, turin, turin_lab
from netlimits.reproduce.items import Comparison, Item, Report
from netlimits.reproduce.rounding import (
    ComputedFigure,
    Printed,
    Statements,
    Verdict,
    printed_figures,
)

REPORTS: tuple[Report, ...] = (limiters.REPORT, acks.REPORT, headers.REPORT, turin.REPORT)
"""In the order of `data/README.md`."""

ITEMS: tuple[tuple[Report, Item], ...] = tuple((r, item) for r in REPORTS for item in r.items)
"""Every table, chart, trace, formula and script of the reports, in their order."""


def compare(report: Report, item: Item, known: Statements | None = None) -> list[Comparison]:
    """What the report prints of one item beside what comes out of the data, figure by figure.

    `known` is `printed_figures()`, where it was read already. Raises DataError when a table lacks a
    row.
    """
    known = known or printed_figures()
    try:
        figures, checks = item.figures(), list(item.checks())
    except (KeyError, IndexError) as error:
        where = ", ".join(item.data)
        raise DataError(f"{where}: lacks a row that {item.name} compares: {error}") from error
    rows = [judged(report, item, key, *known[key], computed=each) for key, each in figures.items()]
    for check in checks:
        rows.append(
            Comparison(
                report.name,
                item.name,
                check.statement,
                check.what,
                check.printed,
                check.computed,
                check.kind,
                check.verdict,
                check.remark,
            )
        )
    return rows


def judged(
    report: Report, item: Item, key: str, what: str, figure: Printed, computed: ComputedFigure
) -> Comparison:
    """One figure's verdict."""
    verdict, remark = _verdict(report, key, figure, computed), computed.rule
    slip = report.slips.get(key)
    if slip and verdict in ("differs", "hedged"):
        right = Printed(slip.right, max(figure.precision, 0), figure.unit)
        if right.agrees(computed):
            verdict, remark = "slip", slip.why
    unit = "" if figure.unit in ("", "ratio") else f" {figure.unit}"
    return Comparison(
        report.name,
        item.name,
        key,
        what,
        figure.written,
        computed.written(figure.precision) + unit,
        computed.kind,
        verdict,
        remark,
        computed.value,
        computed.low,
        computed.high,
    )


def _verdict(report: Report, key: str, figure: Printed, computed: ComputedFigure) -> Verdict:
    """How a printed and a computed figure compare, slips aside."""
    if computed.kind == "transcribed":
        return "as printed" if figure.agrees(computed) else "differs"
    if key in report.ranges:
        return "hedged"
    if figure.agrees(computed):
        return "agrees"
    return "hedged" if figure.is_hedged else "differs"


def stated(report: Report, statements: Statements | None = None) -> Iterator[Comparison]:
    """The statements of a report that nothing is computed for: no data, or a condition."""
    for key, (what, figure) in (statements or printed_figures()).items():
        if key in report.no_data:
            item, why = report.no_data[key]
            measures = {i.name: f"; {i.experiment} measures it" for i in report.items}
            remark = why + measures.get(item, "")
            judgement = turin_lab.judgements().get(key)
            in_the_lab = str(judgement) if judgement else "–"
            known_as = (report.name, item, key, what, figure.written, in_the_lab)
            yield Comparison(*known_as, "stated", "no data", remark)
        elif key in report.conditions:
            known_as = (report.name, "", key, what, figure.written, "–")
            yield Comparison(*known_as, "stated", "condition")


def comparisons() -> list[Comparison]:
    """All comparisons of all reports, item by item; those without an item at their report's end.

    Raises DataError when a statement has no place: neither computed, nor no data, nor condition.
    """
    rows = []
    statements = printed_figures()
    for report in REPORTS:
        for item in report.items:
            rows += compare(report, item, statements)
        rows += stated(report, statements)
    missing = set(statements) - {c.statement for c in rows}
    if missing:
        raise DataError(f"no place for what is stated: {', '.join(sorted(missing))}")
    return rows


def frame(rows: list[Comparison]) -> pd.DataFrame:
    """Comparisons as a frame, a row each, with the columns of `Comparison`."""
    return pd.DataFrame([asdict(row) for row in rows])
