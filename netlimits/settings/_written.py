"""What settings share of their rules for states that were written down (`Setting.faults`)."""

from __future__ import annotations

from typing import Any


def is_number(value: Any, below: int = 2**32) -> bool:
    """Whether it is a whole number of at least 0, below a bound."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
