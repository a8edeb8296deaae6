"""The sections of `describe` as lines for people."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netlimits.cli.shared.reference import Section
from netlimits.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

LEAST = 24
"""Characters that the last column has at least."""


def lines(section: Section) -> Iterator[str]:
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


def metrics_of(frame: pd.DataFrame) -> Iterator[str]:
    from netlimits.analysis import frames

    rows = []
    for name in frames.measured(frame):
        of = metric(name)
        rows.append(
            (of.name, of.column, of.unit, str(int(frame[of.column].notna().sum())), of.title)
        )
    head = ("name", "column", "unit", "runs", "what it is")
    return lines(Section("metrics here", "", head, tuple(rows)))
