"""Escape texts in CSV cells so that no spreadsheet executes them as formulas.

A cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return is a formula: it gets a
leading single quote (OWASP). A spreadsheet with a decimal comma splits cells at semicolons,
whatever the quotes of RFC 4180, so one is also inserted after `;`, `|`, a tab or a line break.
Single quotes that already stand there are doubled.
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
