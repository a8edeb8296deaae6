"""Split netperf's `-k` pairs into runs if no other line separates the runs.

If the keys are one sequence repeated, each repetition is a run. In all other cases, a key that
occurs again with another value begins the next run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netlimits.importers.netperf.runs import RATE, UNIT, Interim


class Pair(NamedTuple):
    key: str
    text: str
    line: int


class Keyed(NamedTuple):
    keys: dict[str, str]
    line: int


def split(pairs: Sequence[Pair]) -> list[Keyed]:
    length = _period([pair.key for pair in pairs])
    runs: list[Keyed] = []
    for start in range(0, len(pairs), length):
        chunk = pairs[start : start + length]
        keys = {pair.key: pair.text for pair in chunk}
        if all(keys[pair.key] == pair.text for pair in chunk):
            runs.append(Keyed(keys, chunk[-1].line))
        else:
            runs += _at_repeats(chunk)
    return runs


def interim(keys: dict[str, str]) -> list[Interim] | None:
    """Return the interim results, each printed as four keys; None if one is incomplete."""
    results = []
    for number in range(sum(key.startswith("NETPERF_INTERIM_RESULT[") for key in keys)):
        names = ("UNITS", "INTERIM_RESULT", "INTERVAL", "ENDING")
        unit, *rest = (keys.get(f"NETPERF_{name}[{number}]", "") for name in names)
        if not re.fullmatch(UNIT, unit) or not all(re.fullmatch(RATE, text) for text in rest):
            return None
        rate, seconds, ending = map(float, rest)
        results.append(Interim(unit, rate, seconds, ending))
    return results


def _period(keys: Sequence[str]) -> int:
    """Return the shortest length whose repetition gives all keys (Knuth, Morris, Pratt)."""
    border = [0] * len(keys)
    length = 0
    for at in range(1, len(keys)):
        while length and keys[at] != keys[length]:
            length = border[length - 1]
        length += keys[at] == keys[length]
        border[at] = length
    shortest = len(keys) - border[-1]
    return shortest if len(keys) % shortest == 0 else len(keys)


def _at_repeats(pairs: Sequence[Pair]) -> Iterator[Keyed]:
    keys: dict[str, str] = {}
    line = 0
    for pair in pairs:
        if pair.key in keys:
            yield Keyed(keys, line)
            keys = {}
        keys[pair.key] = pair.text
        line = pair.line
    yield Keyed(keys, line)
