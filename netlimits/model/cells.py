"""Escape texts in CSV cells so that no spreadsheet executes them as formulas.

A spreadsheet may read a cell as a formula if it starts with `=`, `+`, `-`, `@`, a tab or a carriage
return. So `cell` inserts a single quote before such a start, as OWASP recommends. Some spreadsheets
also split a cell at semicolons, even within the quotes of RFC 4180. So `cell` treats the text after
each `;`, `|`, tab or line break like the start of a cell. If the text has single quotes there
already, `cell` adds another one, so that `text` can restore the original.
"""

from __future__ import annotations

import re

_BEGINS = r"(^|[;|\t\r\n] *)"
_FORMULA = re.compile(_BEGINS + r"(?='*[=+\-@\t\r])")
_ESCAPED = re.compile(_BEGINS + r"'(?='*[=+\-@\t\r])")


def cell(text: str) -> str:
    """Return a text escaped for a cell, without the quotes of RFC 4180."""
    return _FORMULA.sub(r"\1'", text)


def text(cell: str) -> str:
    """Return the original text of an escaped cell; the inverse of `cell`."""
    return _ESCAPED.sub(r"\1", cell)


def needs_quotes(text: str) -> bool:
    """Return True if the cell of a text must be in double quotes.

    That is the case if `cell` escapes the text, or if it contains a carriage return.
    """
    return bool(_FORMULA.search(text) or "\r" in text)
