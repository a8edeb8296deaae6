"""`netlimits describe`: every key, option, default, unit and column, from the program's tables."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from netlimits.cli import echo
from netlimits.cli.shared.options import JSON

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.cli.shared.reference import Section

LEAST = 24
"""Characters that the last column has at least."""


def _complete(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from netlimits.cli.shared import reference

    return [name for name in reference.topics() if name.startswith(begun)]


@click.command()
@click.argument("topic", required=False, metavar="[TOPIC]", shell_complete=_complete)
@JSON
def describe(topic: str | None, as_json: bool) -> None:
    """Say what there is of TOPIC, or which topics there are.

    TOPIC is experiment, hosts, settings, tools, metrics, charts, checks or verdicts; or the name of
    one setting, tool, metric, column, chart or class of limits.

    \b
    Examples:
      netlimits describe experiment
      netlimits describe qdisc
      netlimits describe local_sd
      netlimits describe percentiles
      netlimits describe path-cap
    """
    from netlimits.cli.shared import reference

    if topic is None:
        if as_json:
            echo(json.dumps(reference.topics()))
            return
        names = ", ".join(reference.listed())
        echo(_wrapped(f"netlimits describe TOPIC: {names}; or a metric or column"))
        return
    sections = reference.described(topic)
    if as_json:
        echo(json.dumps([asdict(section) for section in sections], indent=1, ensure_ascii=False))
        return
    echo("\n\n".join("\n".join(lines(section)) for section in sections))


def lines(section: Section) -> Iterator[str]:
    """A section as text: columns aligned, the last one wrapped at the terminal's width."""
    width = shutil.get_terminal_size((100, 24)).columns
    yield section.title
    if section.about:
        yield _wrapped(section.about, width)
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
    """A row in one line: "seconds  (whole number from 1 to 86,400; default 10)"."""
    parts = [
        row[n] if head[n] == "takes" or row[n] == "required" else f"{head[n]} {row[n]}"
        for n in columns[1:]
        if row[n]
    ]
    return f"{row[columns[0]]}  ({'; '.join(parts)})" if parts else row[columns[0]]


def _wrapped(text: str, width: int | None = None) -> str:
    return textwrap.fill(
        text, width or shutil.get_terminal_size((100, 24)).columns, break_long_words=False
    )


def metrics_of(frame: pd.DataFrame) -> Iterator[str]:
    """The metrics that a frame of runs has, a line each: name, column, unit, runs with a value."""
    from netlimits.analysis import frames
    from netlimits.cli.shared.reference import Section
    from netlimits.metrics import metric

    rows = []
    for name in frames.measured(frame):
        of = metric(name)
        rows.append(
            (of.name, of.column, of.unit, str(int(frame[of.column].notna().sum())), of.title)
        )
    head = ("name", "column", "unit", "runs", "what it is")
    return lines(Section("metrics here", "", head, tuple(rows)))
