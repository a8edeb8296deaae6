"""Durations as users write them on the command line: 90s, 5m, 1.5h."""

from __future__ import annotations

import math
import re

_UNITS = {"s": 1, "m": 60, "h": 3600}
_TEXT = re.compile(rf"([0-9]{{1,6}}(?:\.[0-9]{{1,6}})?)([{''.join(_UNITS)}])")
_LONGEST = 168 * 3600


def seconds(text: str) -> float:
    """Return a duration in seconds. Raises ValueError unless it is from 1s to 168h.

    The text must have a unit, since `5` could mean seconds or minutes.
    """
    match = _TEXT.fullmatch(text)
    duration = float(match[1]) * _UNITS[match[2]] if match else math.nan
    if not 1 <= duration <= _LONGEST:
        raise ValueError("write a time from 1s to 168h, as in 90s or 5m")
    return duration
