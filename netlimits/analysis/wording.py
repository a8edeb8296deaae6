"""Text and order of factors and their values, in tables, charts and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.errors import one_line
from netlimits.metrics import SUFFIX_UNITS, known
from netlimits.model import OUTCOMES, tally

WORDS = ("udp", "tcp", "on", "off", "before", "after")
"""Words that sort in this order, as in the reports (UDP, TCP on, TCP off) and comparisons."""

FACTOR_UNITS = {
    "send_size": "bytes",
    "recv_size": "bytes",
    "message_size": "bytes",
    "length": "bytes",
    "mss": "bytes",
    "mtu": "bytes",
    "transport_mss_bytes": "bytes",
}
"""Units of factors whose names do not contain them."""

NULL = "null"
"""Text for a missing value, as in an experiment's file."""

ACRONYMS = ("mss", "mtu", "tso", "gso", "gro", "lro", "cpu", "udp", "tcp", "ack", "acks")


def rank(value: Any) -> tuple[Any, ...]:
    """Return a sort key: numbers by size, then text by WORDS and its numbers, missing last."""
    if is_missing(value):
        return (2,)
    if isinstance(value, bool | np.bool_):
        return (0, int(value))
    if isinstance(value, int | float | np.integer | np.floating):
        return (0, value)
    tokens = re.findall(r"\d+(?:\.\d+)?|[^\W\d]+", str(value).lower())
    return (1, tuple(_token(token) for token in tokens), str(value))


def _token(token: str) -> tuple[int, float, str]:
    if token in WORDS:
        return (0, WORDS.index(token), "")
    return (1, float(token), "") if token[0].isdecimal() else (2, 0.0, token)


def is_missing(value: Any) -> bool:
    """Return True if a factor has no value in a configuration (UDP has no `offloads`)."""
    return value is None or bool(pd.isna(value))


def hashed(key: Iterable[Any]) -> tuple[Any, ...]:
    """Return the key with None for missing values, because NaN does not equal itself."""
    return tuple(None if is_missing(value) else value for value in key)


def label(values: Iterable[Any], separator: str = " ") -> str:
    """Return the values of a configuration as text, without missing values."""
    values = list(values)
    words = [text(value) for value in values if not is_missing(value)]
    return separator.join(words) or (NULL if values else "all")


def phrases(values: Sequence[Any], names: Sequence[str]) -> list[str]:
    """Return each value in words, without missing values: "1024 bytes", "TSO on", "UDP"."""
    words = []
    for value, of in zip(values, names, strict=True):
        if is_missing(value):
            continue
        written = text(value)
        if of in FACTOR_UNITS:
            unit = FACTOR_UNITS[of]
            written = f"{written} {unit.removesuffix('s') if written == '1' else unit}"
        elif of and (not isinstance(value, str) or written in ("on", "off")):
            written = f"{name(of)} {written}"
        words.append(written)
    return words


def text(value: Any) -> str:
    """Return a value as written in an experiment: 1024 instead of 1024.0, true, null."""
    if pd.api.types.is_scalar(value) and is_missing(value):
        return NULL
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def name(factor: str) -> str:
    """Return a factor's name for a sentence: `send_size` is `send size`, `mss` is `MSS`."""
    words = factor.strip("_").split("_")
    return " ".join(w.upper() if w in ACRONYMS else w for w in words)


def comparison(written: str) -> str:
    """Return a comparison for a sentence: `tso: on over off` is `TSO on over off`."""
    factor, _, values = written.partition(": ")
    return f"{name(factor)} {values}"


def title(column: str) -> str:
    """Return a column's name as a heading with its unit: `send_size` is `Send size (bytes)`."""
    for metric in known():
        if column == metric.column:
            return metric.label
    stem, _, suffix = column.rpartition("_")
    unit = FACTOR_UNITS.get(column) or (SUFFIX_UNITS.get(suffix) if stem else None)
    words = name(stem if stem and suffix in SUFFIX_UNITS else column)
    return words[:1].upper() + words[1:] + (f" ({unit})" if unit else "")


def headings(factors: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return the factors' names as columns, with a trailing `_` for each that is in `taken`."""
    names: list[str] = []
    for heading in factors:
        while heading in (*taken, *names):
            heading += "_"
        names.append(heading)
    return names


def listed(names: Sequence[str]) -> str:
    """Return the names with commas, or `none`."""
    return ", ".join(names) if names else "none"


def p_value(p: float) -> str:
    """Return a p-value in words: "p = 0.012", or "p < 0.0001" for any smaller one."""
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def outcomes(runs: pd.DataFrame) -> str:
    """Return how many runs are not ok, and a reason: "3 timeout; the first says: no answer"."""
    counts = tally({name: int((runs["status"] == name).sum()) for name in OUTCOMES})
    reasons = list(runs["reason"].dropna()) if "reason" in runs.columns else []
    return f"{counts}; the first says: {one_line(reasons[0])}" if reasons else counts
