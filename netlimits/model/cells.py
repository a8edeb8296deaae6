"""Escape texts in CSV cells so that no spreadsheet executes them as formulas.

A spreadsheet may read a cell as a formula if it starts with `=`, `+`, `-`, `@`, a tab or a carriage
return. So a single quote is inserted at the start of such cells, as OWASP recommends. Spreadsheets
with a decimal comma also split cells at semicolons, even within the quotes of RFC 4180. So a single
quote is also inserted before these characters after a `;`, `|`, tab or line break. A further single
quote is inserted if the text already has single quotes there. So `text` can undo `cell`.
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
