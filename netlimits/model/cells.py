"""Texts in the cells of a CSV file, which no spreadsheet takes for formulas.

A cell that begins with one of `= + - @`, a tab or a carriage return is a formula to Excel and
LibreOffice, and may run what it says. As OWASP recommends, such a text gets a leading single quote.

A spreadsheet that splits at another separator ignores the double quotes of RFC 4180, which do not
stand at the beginning of its cells: with a decimal comma it splits at semicolons. So a single quote
also stands wherever a cell could begin inside a text: after `;`, `|`, a tab or a line break.

Single quotes that are there already get one more: `text` then gives every text back as it was.
"""

from __future__ import annotations

import re

_BEGINS = r"(^|[;|\t\r\n] *)"
_FORMULA = re.compile(_BEGINS + r"(?='*[=+\-@\t\r])")
_ESCAPED = re.compile(_BEGINS + r"'(?='*[=+\-@\t\r])")


def cell(text: str) -> str:
    """The text as it stands in a cell, not yet quoted by RFC 4180."""
    return _FORMULA.sub(r"\1'", text)


def text(cell: str) -> str:
    """The text that `cell` was made of."""
    return _ESCAPED.sub(r"\1", cell)


def needs_quotes(text: str) -> bool:
    """Return True if the text, in a cell, has to stand in double quotes wherever it is read."""
    return bool(_FORMULA.search(text) or "\r" in text)
