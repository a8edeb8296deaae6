"""Texts in the cells of a CSV file, which no spreadsheet takes for formulas.

A cell that begins with one of `= + - @`, a tab or a carriage return is a formula to Excel and
LibreOffice, and may run what it says. As OWASP recommends such a text gets a leading single quote.
So does one that has such quotes already: `text` then gives every text back as it was.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_CELL = re.compile(r"'+[=+\-@\t\r]")
_INSIDE = re.compile(r"[;|\t]\s*[=+\-@]")


def cell(text: str) -> str:
    """The text as it stands in a cell, not yet quoted by RFC 4180."""
    return f"'{text}" if _FORMULA.match(text) else text


def text(cell: str) -> str:
    """The text that `cell` was made of."""
    return cell[1:] if _CELL.match(cell) else cell


def needs_quotes(text: str) -> bool:
    """Return True if a formula could begin after a line break or a separator other than a comma."""
    return bool(_FORMULA.match(text) or _INSIDE.search(text) or "\r" in text)
