"""Compare every statement and table of the reports with what our functions compute.

Each comparison is recomputed, transcribed or stated (`ComparisonKind`), and has a verdict:

agrees      recomputed: the computed figure rounds to the printed figure
differs     recomputed: the figures differ; transcribed: our copy differs from the report
slip        the report has a known error, and the right figure was computed; see the remark
hedged      recomputed: the text says "about", "nearly" or a range, or it has only words
as printed  transcribed: our copy equals the report
beside      stated: a figure that was computed from other data is shown next to it
no data     stated: the report gives no data; the lab's result is shown next to it, if any
condition   stated: a part of the set-up, such as a link rate or an MTU
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict

import pandas as pd

from netlimits.errors import DataError
from netlimits.reproduce import acks, headers, limiters, published, turin, turin_lab
from netlimits.reproduce.items import Comparison, Item, Report
from netlimits.reproduce.rounding import (
    ComputedFigure,
    Printed,
    Statements,
    Verdict,
    printed_figures,
)

REPORTS: tuple[Report, ...] = (limiters.REPORT, acks.REPORT, headers.REPORT, turin.REPORT)
"""The reports, in the order of `data/README.md`."""

ITEMS: tuple[tuple[Report, Item], ...] = tuple((r, item) for r in REPORTS for item in r.items)
"""Every item with its report, in the order of the reports."""


def compare(report: Report, item: Item, known: Statements | None = None) -> list[Comparison]:
    """Compare the figures that a report prints for an item with figures computed from its data.

    Args:
        report: The report.
        item: One of the report's items.
        known: Statement id -> description and printed figure; by default those of all reports.

    Returns:
        Comparisons of the item's figures, then of its words and whole tables.

    Raises:
        DataError: The item's data lack a row that it compares.
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
    """Return the verdict for a printed and a computed figure, without regard to known slips."""
    if computed.kind == "transcribed":
        return "as printed" if figure.agrees(computed) else "differs"
    if key in report.ranges:
        return "hedged"
    if figure.agrees(computed):
        return "agrees"
    return "hedged" if figure.is_hedged else "differs"


SET_UP = ("configured", "standard")
"""Kinds of statements that describe the set-up."""


def stated(
    report: Report, statements: Statements, computed: Collection[str]
) -> Iterator[Comparison]:
    """Yield the statements of a report that no figure is compared with.

    Either we have no data for them, or they describe how the report's runs were made.
    """
    kinds = published.statements()
    kinds = kinds[(kinds["report"] == report.name) & kinds["kind"].isin(SET_UP)]
    conditions = {*kinds.index} - {*computed}
    for key, (what, figure) in statements.items():
        if key in report.no_data:
            item, why = report.no_data[key]
            measures = {i.name: f"; {i.experiment} measures it" for i in report.items}
            remark = why + measures.get(item, "")
            judgement = turin_lab.judgements().get(key)
            in_the_lab = f"{judgement.claim.words}: {judgement}" if judgement else "–"
            known_as = (report.name, item, key, what, figure.written, in_the_lab)
            yield Comparison(*known_as, "stated", "no data", remark)
        elif key in conditions:
            known_as = (report.name, "", key, what, figure.written, "–")
            yield Comparison(*known_as, "stated", "condition")


def comparisons() -> list[Comparison]:
    """Compare all figures of all reports with ours.

    Returns:
        Comparisons in the order of REPORTS. Each report's items come before its other statements.

    Raises:
        DataError: A statement belongs to no report.
    """
    rows = list[Comparison]()
    statements = printed_figures()
    for report in REPORTS:
        for item in report.items:
            rows += compare(report, item, statements)
        rows += stated(report, statements, {row.statement for row in rows})
    missing = set(statements) - {c.statement for c in rows}
    if missing:
        raise DataError(f"no report accounts for the statements {', '.join(sorted(missing))}")
    return rows


def frame(rows: list[Comparison]) -> pd.DataFrame:
    """Return comparisons as a frame.

    Args:
        rows: The comparisons.

    Returns:
        A row for each comparison, with the columns of `Comparison`.
    """
    return pd.DataFrame([asdict(row) for row in rows])
