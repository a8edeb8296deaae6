"""Lines that several commands print, on campaigns, plans and sections of the reference."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.cli.shared.output import echo
from netlimits.errors import one_line
from netlimits.model import tally_of_runs

if TYPE_CHECKING:
    from netlimits.checks import Finding
    from netlimits.cli.shared.reference import Section


def counts(state: Mapping[str, Any]) -> str:
    """Return a text such as "18 runs: 17 ok, 1 failed; 2 had other traffic on their link"."""
    disturbed = (
        f"; {state['disturbed']} had other traffic on their link" if state["disturbed"] else ""
    )
    cut_off = state["interrupted"]
    plural = "" if cut_off == 1 else "s"
    interrupted = f" ({cut_off} attempt{plural} interrupted)" if cut_off else ""
    return f"{tally_of_runs(state, state['left'])}{interrupted}{disturbed}"


def counted(number: int, noun: str) -> str:
    """Return a text such as "1 run" or "1,200 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of cells as lines, in columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  ".join(cell.ljust(width) for cell, width in cells).rstrip()


def skipped_lines(skipped: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for part in skipped:
        reason = one_line(part["reason"])
        yield f"  {part['runs']} more are skipped, {part['tool']}: {reason}"


def say_warnings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.severity == "warning":
            echo(f"warning: {one_line(str(finding))}", err=True)


def lasting(seconds: float) -> str:
    """Return a duration in at most two units, such as "20 min 12 s"."""
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    left = max(1, round(seconds))
    parts: list[str] = []
    for name, size in units:
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2])


LEAST = 24
"""Minimum width of the last column, in characters."""


def section_lines(section: Section) -> Iterator[str]:
    width = shutil.get_terminal_size((100, 24)).columns
    yield section.title
    if section.about:
        yield wrapped(section.about, width)
    rows = [section.head, *section.rows]
    kept = [n for n in range(len(section.head)) if any(row[n] for row in section.rows)]
    *first, last = kept or [0]
    widths = [max(len(row[n]) for row in rows) for n in first]
    room = width - sum(widths) - 2 * len(widths)
    for row in rows:
        if room >= LEAST:
            cells = [row[n].ljust(size) for n, size in zip(first, widths, strict=True)]
            about = textwrap.wrap(row[last], room) or [""]
            yield "  ".join([*cells, about[0]]).rstrip()
            yield from (f"{' ' * (width - room)}{line}" for line in about[1:])
        elif row is not section.head:  # too narrow for columns
            stacked = _stacked(section.head, row, first)
            yield from textwrap.wrap(stacked, width, subsequent_indent="  ")
            yield from (f"    {line}" for line in textwrap.wrap(row[last], max(LEAST, width - 4)))


def _stacked(head: tuple[str, ...], row: tuple[str, ...], columns: Sequence[int]) -> str:
    """Return a row in one line: "seconds  (whole number from 1 to 86,400; default 10)"."""
    parts = [
        row[n] if head[n] == "takes" or row[n] == "required" else f"{head[n]} {row[n]}"
        for n in columns[1:]
        if row[n]
    ]
    return f"{row[columns[0]]}  ({'; '.join(parts)})" if parts else row[columns[0]]


def wrapped(text: str, width: int | None = None) -> str:
    return textwrap.fill(
        text, width or shutil.get_terminal_size((100, 24)).columns, break_long_words=False
    )
