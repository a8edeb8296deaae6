"""Convert the values of netperf's selectors: units, missing values and invalid numbers."""

from __future__ import annotations

import re
from functools import lru_cache

from netlimits.errors import OutputError, ToolFailure
from netlimits.metrics import selectors
from netlimits.model import Scalar

_UNIT_OF_THROUGHPUT = {
    "10^6bits/s": "throughput_mbps",
    "Trans/s": "transaction_rate_tps",
}
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_UNIT_OF_SERVICE_DEMAND = {"usec/KB": "us_per_kib", "usec/Tran": "us_per_tran"}

ALWAYS_MEASURED = re.compile(r"(LOCAL|REMOTE)_(CPU_UTIL|CPU_PEAK_UTIL|SD)|THROUGHPUT|ELAPSED_TIME")
"""Selectors for which -1 means a failed measurement and not `does not apply`."""

ONE_VERSION = "install one version of netperf on both ends: 2.6 and 2.7 misread each other's CPUs"
"""Advice for impossible CPU figures of the other end."""


@lru_cache(maxsize=1024)
def column(selector: str, throughput_units: str, sd_units: str) -> str:
    """Return the column for a selector, given the values of THROUGHPUT_UNITS and SD_UNITS."""
    if selector == "THROUGHPUT":
        return _unit(_UNIT_OF_THROUGHPUT, throughput_units, selector)
    if selector in ("LOCAL_SD", "REMOTE_SD"):
        end = selector.removesuffix("_SD").lower()
        return f"netperf_{end}_sd_{_unit(_UNIT_OF_SERVICE_DEMAND, sd_units, selector)}"
    return selectors.column(selector)


def value(selector: str, text: str) -> Scalar:
    """Parse netperf's text into a number, a word, or None if it does not apply (-1)."""
    if selector == "RESULT_BRAND":
        return text.removeprefix('"').removesuffix('"')  # netperf adds the quotes
    if selectors.is_text(selector):
        return None if text in ("Deprecated", "") else text
    measured = number(selector, text)
    if measured == -1:
        if ALWAYS_MEASURED.fullmatch(selector):
            raise ToolFailure(f"netperf did not measure {selector} (it says -1)")
        return None
    return measured


def number(selector: str, text: str) -> int | float:
    """Parse netperf's text as a number. Raises OutputError for other text."""
    match = _NUMBER.fullmatch(text)
    if not match:
        fault = "which has a decimal comma" if _COMMA.fullmatch(text) else "which is not a number"
        advice = f"; {ONE_VERSION}" if selector.startswith("REMOTE_") and "nan" in text else ""
        raise OutputError(f"netperf printed {selector}={text[:60]}, {fault}{advice}")
    return float(text) if match[1] or match[2] else int(text)


def _unit(table: dict[str, str], unit: str, selector: str) -> str:
    if unit not in table:
        raise OutputError(
            f"netperf printed {selector} in {unit[:60]!r}; known units: {', '.join(table)}"
        )
    return table[unit]
