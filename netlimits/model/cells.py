"""Escape texts in CSV cells so that no spreadsheet executes them as formulas.

Excel and LibreOffice take a cell for a formula if it begins with `=`, `+`, `-`, `@`, a tab or a
carriage return. As OWASP recommends, such a text gets a leading single quote.

A spreadsheet with a decimal comma splits cells at semicolons and ignores the double quotes of
RFC 4180, since they do not begin a cell there. So a single quote is also inserted wherever a cell
could begin inside a text: after `;`, `|`, a tab or a line break.

Single quotes that already stand there are doubled, so that `text` restores every text exactly.
"""

from __future__ import annotations

import re

_BEGINS = r"(^|[;|\t\r\n] *)"
_FORMULA = re.compile(_BEGINS + r"(?='*[=+\-@\t\r])")
_ESCAPED = re.compile(_BEGINS + r"'(?='*[=+\-@\t\r])")


def cell(text: str) -> str:
    """Escape a text for a cell. The caller adds the quotes of RFC 4180."""
    return _FORMULA.sub(r"\1'", text)


def text(cell: str) -> str:
    """Return the text that `cell` escaped."""
    return _ESCAPED.sub(r"\1", cell)


def needs_quotes(text: str) -> bool:
    """Return True if the text's cell must stand in double quotes."""
    return bool(_FORMULA.search(text) or "\r" in text)
