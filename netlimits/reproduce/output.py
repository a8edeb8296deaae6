"""Write the reports' tables as CSV and Markdown, their charts as PNG and SVG, and comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from netlimits import charts, tables
from netlimits.errors import DataError, InputError
from netlimits.reproduce.comparison import REPORTS, compare, frame, stated
from netlimits.reproduce.items import Comparison, Item, Report
from netlimits.reproduce.percentile_charts import sets_note
from netlimits.reproduce.rounding import ComparisonKind, Verdict, printed_figures

CHART_FORMATS = ("png", "svg")
SHOWN = {
    "item": "Item",
    "what": "What",
    "printed": "Printed",
    "came_out": "Came out",
    "kind": "Kind",
    "verdict": "Verdict",
    "remark": "Remark",
}


@dataclass(frozen=True, slots=True)
class Regenerated:
    """An item, its files and comparisons; `item` is None for a report's remaining statements."""

    report: Report
    item: Item | None
    files: tuple[Path, ...]
    comparisons: tuple[Comparison, ...]


def regenerate(folder: Path | str) -> Iterator[Regenerated]:
    """Write all tables and charts into a folder.

    The files are identical, byte for byte, each time.

    Args:
        folder: Directory, created if missing.

    Yields:
        Each item when it is written, in the order of ITEMS. After a report's items, its statements
        that belong to no item.

    Raises:
        InputError: The folder cannot be written.
    """
    folder = Path(folder)
    try:
        for place in ("tables", "charts"):
            (folder / place).mkdir(parents=True, exist_ok=True)
        statements = printed_figures()
        for report in REPORTS:
            computed = set[str]()
            for item in report.items:
                files = write_item(report, item, folder)
                rows = tuple(compare(report, item, statements))
                computed |= {row.statement for row in rows}
                yield Regenerated(report, item, files, rows)
            yield Regenerated(report, None, (), tuple(stated(report, statements, computed)))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error


def write_item(report: Report, item: Item, folder: Path) -> tuple[Path, ...]:
    """Write an item's tables as CSV and Markdown, and its charts as PNG and SVG.

    Args:
        report: The report, for titles.
        item: One of the report's items.
        folder: A folder with the subfolders `tables` and `charts`.

    Returns:
        The paths of the files, tables first.

    Raises:
        OSError: A table cannot be written.
        InputError: A chart cannot be written.
    """
    files: list[Path] = []
    for name, table in item.tables().items():
        files.append(folder / "tables" / f"{name}.csv")
        files[-1].write_text(tables.render(table, "csv"), encoding="utf-8")
        files.append(folder / "tables" / f"{name}.md")
        files[-1].write_text(
            tables.render(table, "markdown", title=f"{report.title}: {item.heading}"),
            encoding="utf-8",
        )
    for name, chart in item.charts().items():
        files += [charts.save(chart, folder / "charts" / f"{name}.{x}") for x in CHART_FORMATS]
    return tuple(files)


def write_comparison(rows: Sequence[Comparison], folder: Path | str) -> list[Path]:
    """Write `comparison.csv`, `.md` (a section for each report) and `.json` into a folder.

    Args:
        rows: The comparisons.
        folder: An existing directory.

    Returns:
        The paths of the files.

    Raises:
        DataError: There are no comparisons.
        InputError: The folder cannot be written.
    """
    if not rows:
        raise DataError("there are no comparisons to write")
    folder = Path(folder)
    table = frame(list(rows))
    shown = table[[*SHOWN]].rename(columns=SHOWN)
    parts = [
        tables.render(shown[table["report"] == report.name], "markdown", title=report.title)
        for report in REPORTS
    ]
    records = json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False)
    texts = {
        "comparison.csv": tables.render(table, "csv"),
        "comparison.md": f"{tally(rows)}\n\n{sets_note()}\n\n" + "\n".join(parts),
        "comparison.json": records + "\n",
    }
    try:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return [folder / name for name in texts]


def tally(rows: Sequence[Comparison]) -> str:
    """Count the comparisons by kind and verdict.

    Args:
        rows: The comparisons.

    Returns:
        A text of three lines without a newline at the end.
    """
    number = {
        (kind, verdict): sum(row.kind == kind and row.verdict == verdict for row in rows)
        for kind in get_args(ComparisonKind)
        for verdict in get_args(Verdict)
    }
    total = {kind: sum(row.kind == kind for row in rows) for kind in get_args(ComparisonKind)}
    kind = "recomputed"
    return "\n".join(
        (
            f"{total[kind]} recomputed from other printed numbers: {number[kind, 'agrees']} agree, "
            f"{number[kind, 'differs']} differ, {number[kind, 'slip']} slips of the reports, "
            f"{number[kind, 'hedged']} hedged in the text",
            f"{total['transcribed']} transcribed (they guard our copy): "
            f"{number['transcribed', 'as printed']} as printed, "
            f"{number['transcribed', 'differs']} differ",
            f"{total['stated']} stated, nothing to compute: {number['stated', 'no data']} without "
            f"data, {number['stated', 'beside']} beside what can be computed, "
            f"{number['stated', 'condition']} conditions",
        )
    )
