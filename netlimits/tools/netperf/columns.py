"""What the values of netperf's selectors mean: units, missing ones, and numbers that are none.

`metrics.selectors` names their columns.
"""

from __future__ import annotations

import re
from functools import lru_cache

from netlimits.errors import ToolFailure
from netlimits.metrics import selectors
from netlimits.model import Scalar

_UNIT_OF_THROUGHPUT = {
    "10^6bits/s": "throughput_mbps",
    "Trans/s": "transaction_rate_tps",
}
_UNIT_OF_SERVICE_DEMAND = {"usec/KB": "us_per_kib", "usec/Tran": "us_per_tran"}

ALWAYS_MEASURED = re.compile(r"(LOCAL|REMOTE)_(CPU_UTIL|CPU_PEAK_UTIL|SD)|THROUGHPUT|ELAPSED_TIME")
"""Selectors for which -1 means that the run is not what was asked for, not `does not apply`."""


@lru_cache(maxsize=1024)
def column(selector: str, throughput_units: str, sd_units: str) -> str:
    """The frame's column for a selector, given what THROUGHPUT_UNITS and SD_UNITS said.

    Raises ToolFailure for a unit that has no column, since a figure must not change its meaning.
    """
    if selector == "THROUGHPUT":
        return _unit(_UNIT_OF_THROUGHPUT, throughput_units, selector)
    if selector in ("LOCAL_SD", "REMOTE_SD"):
        end = selector.removesuffix("_SD").lower()
        return f"netperf_{end}_sd_{_unit(_UNIT_OF_SERVICE_DEMAND, sd_units, selector)}"
    return selectors.column(selector)


def value(selector: str, text: str) -> Scalar:
    """The value in netperf's text: a number, a word, or None where it does not apply (-1).

    Raises ToolFailure for a number that is none, or one that had to be measured and was not.
    """
    if selector == "RESULT_BRAND":
        return text.removeprefix('"').removesuffix('"')  # netperf's own quotes
    if selectors.is_text(selector):
        return None if text in ("Deprecated", "") else text
    try:
        number = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        raise ToolFailure(f"{selector} is {text!r}, which is no number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ToolFailure(f"{selector} is {text}: no data came back")
    if number == -1:
        if ALWAYS_MEASURED.fullmatch(selector):
            raise ToolFailure(f"netperf did not measure {selector} (it says -1)")
        return None
    return number


def _unit(table: dict[str, str], unit: str, selector: str) -> str:
    if unit not in table:
        raise ToolFailure(f"{selector} came in {unit!r}; known are {', '.join(table)}")
    return table[unit]
