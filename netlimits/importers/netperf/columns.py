"""Assign the values of netperf's tables (`-o` and `-O`) to selectors.

If netperf does not know a requested selector, `-o` prints no header for it, but an empty field in
each row. If a selector has no value, `-O` prints nothing. So a row may have more or fewer fields
than its header. A row is read if its fields can be assigned to the selectors in exactly one way.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from netlimits.importers.netperf.headers import CSV_NAMES, HEADERS
from netlimits.metrics.selectors import is_text

Columns = tuple[str | None, ...]
"""Selectors in order; None for a header that two selectors share, whose values are left out.

The user's `--columns` may contain other names: their field must be empty in each row.
"""

COLUMN_LIMIT = 400
_WAYS_LIMIT = 2_000
"""Maximum number of alignments to try."""

_FIELD = re.compile(r'([^",]*+| *+"[^"]*" *+)(,|$)')
_WORD = re.compile(r'"[^"]*"|\S+')
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?([eE][+-]?\d{1,3})?|inf|nan)")
_QUOTED = ("RESULT_BRAND", "COMMAND_LINE")
_MAY_BE_EMPTY = frozenset(
    f"{end}_{name}" for end in ("LOCAL", "REMOTE") for name in ("FILL_FILE", "CONG_CONTROL")
) | {"RESULT_BRAND"}
_FORMS = {
    "PROTOCOL": re.compile(r"[A-Z][A-Za-z-]*"),
    "DIRECTION": re.compile(r"Send|Receive|Send\|Recv"),
    "SOCKET_TYPE": re.compile(r"[A-Z][A-Za-z]*"),
    "THROUGHPUT_UNITS": re.compile(r"Trans/s|10\^[369]bits/s|[KMG]Bytes/s"),
    "SD_UNITS": re.compile(r"usec/(KB|Tran)"),
    "LOCAL_CONG_CONTROL": re.compile(r"[A-Za-z][A-Za-z0-9_-]*"),
    "REMOTE_CONG_CONTROL": re.compile(r"[A-Za-z][A-Za-z0-9_-]*"),
}

_BY_FIRST_WORD: dict[str, list[str]] = {}
for _selector, _lines in HEADERS.items():
    _BY_FIRST_WORD.setdefault(_lines[0].split()[0], []).append(_selector)

FIRST_WORDS = frozenset(_BY_FIRST_WORD)
"""Words with which a header can begin."""


class Unfit(Exception):
    """A header or a row has no valid reading, or has several."""


@lru_cache(maxsize=64)
def csv_header(line: str) -> Columns | None:
    """Return the selectors of an `-o` header, None if a name in it is not netperf's."""
    names = [name.strip() for name in line.split(",")]
    if len(names) > COLUMN_LIMIT or not all(name in CSV_NAMES for name in names):
        return None
    return tuple(CSV_NAMES[name][0] if len(CSV_NAMES[name]) == 1 else None for name in names)


@lru_cache(maxsize=64)
def column_header(lines: tuple[str, ...]) -> tuple[Columns, tuple[int, ...]] | None:
    """Return the selectors and offsets of a four-line `-O` header, None if it is no header."""
    width = max(map(len, lines))
    block = [line.ljust(width + 1) for line in lines]
    start = _next_start(block, 0)
    ways: dict[int, list[tuple[tuple[str | None, int], ...]]] = {start: [()]}
    while ways and min(ways) < width:
        place = min(ways)
        done = ways.pop(place)
        for selector, length in _cells(block, place):
            after = ways.setdefault(_next_start(block, place + length), [])
            name = CSV_NAMES[" ".join(filter(None, HEADERS[selector]))]
            for way in done:
                longer = (*way, (selector if len(name) == 1 else None, place))
                if longer not in after and len(after) < 2 and len(longer) <= COLUMN_LIMIT:
                    after.append(longer)
    readings = next(iter(ways.values()), [])
    if len(readings) > 1:
        raise Unfit("the header is ambiguous; write the output with -o or -k instead of -O")
    if not readings or not readings[0]:
        return None
    columns, starts = zip(*readings[0], strict=True)
    return columns, starts


def csv_row(columns: Columns, line: str) -> tuple[dict[str, str], int]:
    """Return selector -> text of an `-o` row, and the number of empty fields left out."""
    fields = list(_csv_fields(line))
    surplus = len(fields) - len(columns)
    empty = [i for i, text in enumerate(fields) if not text]
    if surplus < 0:
        raise Unfit(f"{len(fields)} fields under a header of {len(columns)}")
    if surplus > len(empty):
        raise Unfit(
            f"{len(fields)} fields under a header of {len(columns)}, of which {len(empty)} empty: "
            "unknown selectors do not explain it"
        )
    ways = (
        tuple(text for i, text in enumerate(fields) if i not in dropped)
        for dropped in _choices(empty, surplus)
    )
    return _only(columns, ways), surplus


def spaced_row(columns: Columns, line: str, starts: Sequence[int] = ()) -> dict[str, str]:
    """Return selector -> text of an `-O` row; `starts` are the columns' offsets, if known."""
    if starts:
        places = zip(starts, (*starts[1:], len(line)), strict=True)
        cells = tuple(line[start:end].strip() for start, end in places)
        if all(_fits(*cell) for cell in zip(columns, cells, strict=True)):
            return _only(columns, iter((cells,)))
    words = _WORD.findall(line)
    lacking = len(columns) - len(words)
    can_lack = [i for i, selector in enumerate(columns) if _fits(selector, "")]
    if lacking < 0 or lacking > len(can_lack):
        raise Unfit(f"{len(words)} values under a header of {len(columns)}")
    return _only(columns, (_spread(words, lacks) for lacks in _choices(can_lack, lacking)))


def _csv_fields(line: str) -> Iterator[str]:
    """Yield the fields, stripped of blanks; quoted fields keep their quotes."""
    place = 0
    while True:
        match = _FIELD.match(line, place)
        if not match:
            raise Unfit(f"quote in the middle of a field: {line[place : place + 40]!r}")
        yield match[1].strip()
        place = match.end()
        if not match[2]:
            return


def _choices(places: Sequence[int], count: int) -> Iterator[frozenset[int]]:
    if math.comb(len(places), count) > _WAYS_LIMIT:
        raise Unfit(f"too many ways to leave out {count} of {len(places)} empty fields")
    return (frozenset(chosen) for chosen in itertools.combinations(places, count))


def _spread(words: Sequence[str], left_out: frozenset[int]) -> tuple[str, ...]:
    rest = iter(words)
    return tuple("" if i in left_out else next(rest) for i in range(len(words) + len(left_out)))


def _only(columns: Columns, ways: Iterator[tuple[str, ...]]) -> dict[str, str]:
    """Return the only assignment in which every value fits its selector."""
    fitting: set[tuple[str, ...]] = set()
    misfit = ""
    for way in ways:
        wrong = next((c for c in zip(columns, way, strict=True) if not _fits(*c)), None)
        if wrong:
            misfit = f"{wrong[0]} would be {wrong[1]!r}"
        else:
            fitting.add(way)
    if not fitting:
        raise Unfit(f"the row does not fit its header: {misfit}")
    if len(fitting) > 1:
        raise Unfit("the row fits its header in more than one way")
    named = [(c, text) for c, text in zip(columns, fitting.pop(), strict=True) if c in HEADERS]
    keys = {c: text for c, text in named if c is not None}
    if twice := next((c for c, text in named if c is not None and keys[c] != text), None):
        raise Unfit(f"{twice} occurs twice with different values")
    return keys


def _fits(selector: str | None, text: str) -> bool:
    unknown = selector is not None and selector not in HEADERS
    if not text or unknown:
        return not text and (unknown or selector in _MAY_BE_EMPTY)
    if selector in _QUOTED:
        return text.startswith('"')
    if selector is None or text.startswith('"'):
        return selector is None
    if selector in _FORMS:
        return _FORMS[selector].fullmatch(text) is not None
    return is_text(selector) or _NUMBER.fullmatch(text) is not None


def _cells(block: Sequence[str], place: int) -> Iterator[tuple[str, int]]:
    """Yield each selector whose header begins at the offset `place`, and the header's width."""
    for selector in _BY_FIRST_WORD.get(block[0][place:].partition(" ")[0], ()):
        header = HEADERS[selector]
        width = max(map(len, header))
        if all(
            line[place : place + width + 1].rstrip() == text
            for line, text in zip(block, header, strict=True)
        ):
            yield selector, width


def _next_start(block: Sequence[str], place: int) -> int:
    rest = [line[place:] for line in block]
    return place + min(len(line) - len(line.lstrip()) for line in rest)
