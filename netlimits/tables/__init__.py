"""Render a frame as a table in text, CSV, Markdown, HTML or JSON.

Text, Markdown and HTML are for people, with rounded numbers. A summary becomes a block for each
metric. A block has a row for each size, a column for each configuration, and improvements at the
end. CSV and JSON are for programs: they contain the rows of the frame, with all digits.
"""

from __future__ import annotations

import json
import math
import textwrap
from itertools import zip_longest
from typing import Any

import pandas as pd

from netlimits.analysis import wording
from netlimits.analysis.sources import spreadsheets
from netlimits.errors import DataError, one_line
from netlimits.metrics import known
from netlimits.model import TABLE_FORMATS
from netlimits.tables.summaries import Block, is_summary, summary_blocks

__all__ = ["Block", "is_summary", "plain_block", "render", "summary_blocks"]

HTML = """\
{% for block in blocks %}
<table>
{% if block.title %}<caption>{{ block.title }}</caption>
{% endif %}
<thead><tr>{% for cell in block.header %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in block.rows %}
<tr><th scope="row">{{ row[0] }}</th>{% for cell in row[1:] %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
{% for note in notes %}
<p class="note">{{ note }}</p>
{% endfor %}
"""


_SENTENCE = 72
"""Number of characters after which a cell of a text table is wrapped."""


def render(
    table: pd.DataFrame, form: str = "text", intervals: bool = False, title: str = ""
) -> str:
    """Render a frame as a table, which ends in a newline.

    Args:
        table: A summary (`analysis.summary`) or any other frame. Its notes (`attrs["notes"]`)
            follow the table, except in CSV.
        form: Format, one of TABLE_FORMATS.
        intervals: True to add confidence intervals in brackets to the values of a summary.
        title: Heading above the table in text, Markdown and HTML.

    Returns:
        The text, which ends in a newline.

    Raises:
        DataError: The format is unknown.
    """
    if form not in TABLE_FORMATS:
        raise DataError(f"unknown table format {form!r}; there are {', '.join(TABLE_FORMATS)}")
    if form == "csv":
        return spreadsheets.to_csv(table)
    notes = tuple(table.attrs.get("notes", ()))
    if intervals and form != "json":
        notes += (
            f"in brackets: {100 * table.attrs.get('confidence', 0.95):.4g} % confidence intervals",
        )
    if form == "json":
        rows = json.loads(table.to_json(orient="records", double_precision=15))
        return json.dumps({"rows": rows, "notes": notes}, indent=1, ensure_ascii=False) + "\n"
    blocks = summary_blocks(table, intervals) if is_summary(table) else [plain_block(table)]
    if form == "html":
        import jinja2
        import markupsafe

        environment = jinja2.Environment(
            autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
        )
        body = environment.from_string(HTML).render(blocks=blocks, notes=notes)
        return f"<h2>{markupsafe.escape(title)}</h2>\n{body}" if title else body
    if form == "markdown":
        head = [f"### {_markdown(title)}"] if title else []
        return "\n\n".join([*head, *map(_as_markdown, blocks), *notes]) + "\n"
    return "\n\n".join([*([title] if title else []), *map(_as_text, blocks), *notes]) + "\n"


def plain_block(table: pd.DataFrame) -> Block:
    """Return a frame as a block.

    Args:
        table: Any frame. Its index is not shown.

    Returns:
        A block without a title. Floats have four significant digits, or no decimals from 1000 on.
    """
    header = tuple(_heading(str(column)) for column in table.columns)
    rows = tuple(tuple(_cell(value) for value in row) for row in table.itertuples(index=False))
    return Block("", header, rows)


def _heading(column: str) -> str:
    metric_of_column = next((m for m in known() if m.column == column), None)
    return metric_of_column.label if metric_of_column else wording.title(column)


def _cell(value: Any) -> str:
    if wording.is_missing(value):
        return "–"
    if not isinstance(value, float):
        return wording.text(value)
    return f"{value:.0f}" if abs(value) >= 1000 and math.isfinite(value) else f"{value:.4g}"


def _as_text(block: Block) -> str:
    """Return a block as a text table.

    The first column and columns with sentences are left-aligned, other columns right-aligned.
    """
    lines = [block.header, *block.rows]
    columns = range(len(block.header))
    wrapped = {i for i in columns if any(len(line[i]) > _SENTENCE for line in lines)}
    split = [
        list(
            zip_longest(
                *(_wrapped(line[i]) if i in wrapped else [line[i]] for i in columns),
                fillvalue="",
            )
        )
        for line in lines
    ]
    widths = [max(len(row[i]) for rows in split for row in rows) for i in columns]
    left = {0, *wrapped}
    written = [
        "  ".join(
            cell.ljust(widths[i]) if i in left else cell.rjust(widths[i])
            for i, cell in enumerate(row)
        ).rstrip()
        for rows in split
        for row in rows
    ]
    written.insert(len(split[0]), "  ".join("-" * width for width in widths))
    return "\n".join([block.title, *written] if block.title else written)


def _wrapped(sentence: str) -> list[str]:
    lines = textwrap.wrap(sentence, _SENTENCE, break_on_hyphens=False, break_long_words=False)
    return lines or [""]


def _as_markdown(block: Block) -> str:
    lines = [block.header, ("---", *["---:"] * (len(block.header) - 1)), *block.rows]
    table = "\n".join(
        "| " + " | ".join(cell if i == 1 else _markdown(cell) for cell in line) + " |"
        for i, line in enumerate(lines)
    )
    return f"**{_markdown(block.title)}**\n\n{table}" if block.title else table


def _markdown(text: str) -> str:
    """Escape characters that Markdown or HTML would interpret, and join lines."""
    text = text.replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for sign in "|*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return one_line(text)
