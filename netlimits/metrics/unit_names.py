"""Parse units as people write them, and convert between units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from netlimits.errors import InputError

Unit = tuple[str, float]
"""(dimension, size in the base unit of this dimension)."""

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXED = re.compile(
    r"(?P<prefix>[kKMGT]i?|[mgt](?=bit|bps|pps)|)"
    r"(?P<unit>bits?|b|bytes?|Bytes?|B|p|packets?|pkts?|Hz)"
    r"(?P<per>/s|/sec|/second|ps|_per_s|_per_sec|_per_second|)"
)
_WORDS: Mapping[str, Unit] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("time", 1.0)),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), ("time", 1e-3)),
    **dict.fromkeys(("us", "µs", "μs", "usec", "usecs", "microseconds"), ("time", 1e-6)),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanoseconds"), ("time", 1e-9)),
    **dict.fromkeys(("%", "pct", "percent", "% of one CPU"), ("share", 0.01)),
    **dict.fromkeys(("fraction", "share", "ratio"), ("share", 1.0)),
    **dict.fromkeys(("Trans/s", "tps", "transactions/s", "requests/s"), ("transactions/s", 1.0)),
}


def factor(written: str, into: str) -> float:
    """Return the factor that converts a value from the unit `written` to the unit `into`.

    Raises:
        InputError: `written` is no known unit, or the units have different dimensions.
    """
    if written == into:
        return 1.0
    own, other = known(written), known(into)
    if own is None:
        raise InputError(f"no unit is called {written!r}; write Mbit/s, MB/s, ms or %, for example")
    if other is None or own[0] != other[0]:
        raise InputError(f"{written!r} cannot be converted to {into or 'a number without a unit'}")
    return float(f"{own[1] / other[1]:.12g}")


def known(written: str) -> Unit | None:
    """Return the dimension and size of a unit, None if the unit is unknown."""
    if written in _WORDS:
        return _WORDS[written]
    match = _PREFIXED.fullmatch(written)
    if match is None or (match["unit"] == "p" and match["per"] != "ps"):
        return None
    unit, per, prefix = match["unit"], bool(match["per"]), match["prefix"]
    size = _BINARY.get(prefix) or _DECIMAL[prefix.upper() if prefix in "mgt" else prefix]
    if unit == "Hz":
        return None if per else ("frequency", size)
    if unit in ("p", "packet", "packets", "pkt", "pkts"):
        return ("packets/s", size) if per else None
    if unit in ("b", "bit", "bits"):
        return ("bytes/s", size / 8) if per else None
    return ("bytes/s" if per else "bytes", size)


def in_name(name: str, into: str) -> str:
    """Return the unit in the name of a column that has the same dimension as `into`.

    Return "" if there is none.

    Raises:
        InputError: The name contains several such units.
    """
    target = known(into)
    if target is None:
        return ""
    units: dict[float, str] = {}
    for word in _words(name):
        unit = known(word)
        if unit and unit[0] == target[0]:
            units.setdefault(unit[1], word)
    if len(units) > 1:
        raise InputError(f"{name!r} contains several units: {', '.join(units.values())}")
    return next(iter(units.values()), "")


def _words(name: str) -> Iterator[str]:
    for word in re.split(r"[\s()\[\]{},;:]+", name):
        yield word
        parts = word.split("_")
        for begin in range(1, len(parts)):
            yield "_".join(parts[begin:])
