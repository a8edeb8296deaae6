"""Every statement and table of the reports beside what came out: agrees, differs, slip, or why not.

Five verdicts, so that nothing agrees by being left out:

    agrees      what came out, within rounding, is what was printed
    differs     it is not
    slip        the report is known to be wrong, and the right figure came out; the remark says why
    no data     the report states it and gives no data; the remark names the experiment
    condition   the set-up as stated (a link rate, an MTU): given, not computed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace

import pandas as pd

from netlimits import published
from netlimits.errors import DataError
from netlimits.reproduce import acks, headers, limiters, turin
from netlimits.reproduce.items import Comparison, Item, Report
from netlimits.reproduce.rounding import CameOut, Printed, Verdict

REPORTS: tuple[Report, ...] = (limiters.REPORT, acks.REPORT, headers.REPORT, turin.REPORT)
"""In the order of `data/README.md`."""

ITEMS: tuple[tuple[Report, Item], ...] = tuple((r, item) for r in REPORTS for item in r.items)
"""Every table, chart, trace, formula and script of the reports, in their order."""


Known = Mapping[str, tuple[str, Printed]]


def printed() -> Known:
    """Statement id -> what it is about, and the figure as printed; the Improvement rows too."""
    found = {
        str(key): (
            str(row["where"]),
            Printed(float(row["value"]), int(row["precision"]), row["unit"], row["qualifier"]),
        )
        for key, row in published.statements().fillna({"unit": ""}).iterrows()
    }
    for row in published.printed("summary-improvement").to_dict("records"):
        key = limiters.improvement_id(row["metric"], row["transport"])
        text = str(row["improvement"])
        found[key] = (key, Printed(float(text), len(text.partition(".")[2])))
    return found


def compare(report: Report, item: Item, known: Known | None = None) -> list[Comparison]:
    """What the report prints of one item beside what comes out of the data, figure by figure.

    `known` is `printed()`, where it was read already. Raises DataError when a table lacks a row.
    """
    known = known or printed()
    try:
        figures, checks = item.figures(), list(item.checks())
    except (KeyError, IndexError) as error:
        where = ", ".join(item.data)
        raise DataError(f"{where}: lacks a row that {item.name} compares: {error}") from error
    found = [judged(report, item, key, *known[key], out=out) for key, out in figures.items()]
    for check in checks:
        verdict: Verdict = "agrees" if check.agrees else "differs"
        found.append(
            Comparison(
                report.name,
                item.name,
                "",
                check.what,
                check.printed,
                check.came_out,
                verdict,
                check.remark,
            )
        )
    return found


def judged(
    report: Report, item: Item, key: str, what: str, figure: Printed, out: CameOut
) -> Comparison:
    """One figure's verdict."""
    as_read = replace(figure, qualifier=report.spans.get(key, figure.qualifier))
    verdict: Verdict = "agrees" if as_read.agrees(out) else "differs"
    remark = out.rule
    slip = report.slips.get(key)
    if slip and verdict == "differs":
        right = Printed(slip.right, max(figure.precision, 0), figure.unit)
        if right.agrees(out):
            verdict, remark = "slip", slip.why
    unit = "" if figure.unit in ("", "ratio") else f" {figure.unit}"
    return Comparison(
        report.name,
        item.name,
        key,
        what,
        figure.written,
        out.written(figure.precision) + unit,
        verdict,
        remark,
        out.value,
        out.low,
        out.high,
    )


def stated(report: Report, known: Known | None = None) -> Iterator[Comparison]:
    """The statements of a report that nothing is computed for: no data, or a condition."""
    for key, (what, figure) in (known or printed()).items():
        if key in report.no_data:
            item, why = report.no_data[key]
            measures = {i.name: f"; {i.experiment} measures it" for i in report.items}
            remark = why + measures.get(item, "")
            yield Comparison(report.name, item, key, what, figure.written, "–", "no data", remark)
        elif key in report.conditions:
            yield Comparison(report.name, "", key, what, figure.written, "–", "condition")


def comparisons() -> list[Comparison]:
    """All comparisons of all reports, item by item; those without an item at their report's end.

    Raises DataError when a statement has no place: neither computed, nor no data, nor condition.
    """
    found = []
    known = printed()
    for report in REPORTS:
        for item in report.items:
            found += compare(report, item, known)
        found += stated(report, known)
    missing = set(known) - {c.statement for c in found}
    if missing:
        raise DataError(f"no place for what is stated: {', '.join(sorted(missing))}")
    return found


def frame(rows: list[Comparison]) -> pd.DataFrame:
    """Comparisons as a frame, a row each, with the columns of `Comparison`."""
    return pd.DataFrame([asdict(row) for row in rows])
