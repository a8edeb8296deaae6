"""Parts: the journal of a large campaign in columns, rolled up as it grows.

    parts/000001.json             which lines of the journal it is of, and what they say, counted
    parts/000001.parquet          one row an attempt, as in results.csv
    parts/000001-interim.parquet  one row an interim result, where there are any
    parts/.lock                   locked by whoever writes them (archive.roller)

A part is made of its lines alone (and of the attempts that went on at the end of the one before
it), after every `ATTEMPTS` attempts, and never changed; the journal
stays the truth, and parts that are lost are made of it again. Each names the lines and bytes that
it covers, and the checksum of the last of them, which stands for the whole journal up to there
(archive.journal). So it is held against the journal by reading one line. A part's JSON is written
last and has a checksum of itself, and those of all that its Parquet files hold (archive.columns).
What does not hold is left aside, and the journal read instead.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from netlimits.archive import formats
from netlimits.archive.blocks import BlockDigest
from netlimits.archive.checksums import digest
from netlimits.archive.formats import PartFooter
from netlimits.archive.journal import Head, Journal
from netlimits.archive.tally import Tally
from netlimits.model import decoding
from netlimits.model.folder import Folder

FOLDER = "parts"
ATTEMPTS = 4096
"""Attempts of a part: so many lie at most between the last one and the journal's end, twice."""

SIZE = 32 * 2**20
"""Bytes of the journal from which on a part ends earlier."""

_NAME = re.compile(r"(\d{6,9})\.json")


@dataclass(frozen=True, slots=True)
class Part:
    """One part, as its JSON tells of it."""

    number: int
    about: PartFooter

    @property
    def begin(self) -> Head:
        """Where in the journal it begins."""
        return Head(*self.about["begin"])

    @property
    def end(self) -> Head:
        """Where in the journal it ends."""
        return Head(*self.about["end"])

    @property
    def block(self) -> BlockDigest:
        """The journal's checksum, up to a place before the part's end."""
        chain, size = self.about["chain"]
        return BlockDigest(chain, size)

    @property
    def name(self) -> str:
        """The name of its Parquet file."""
        return f"{FOLDER}/{self.number:06d}.parquet"

    @property
    def interim_name(self) -> str:
        """The name of the one with interim results."""
        return f"{FOLDER}/{self.number:06d}-interim.parquet"


def json_name(number: int) -> str:
    """The name of a part's JSON."""
    return f"{FOLDER}/{number:06d}.json"


def written(folder: Folder) -> list[Part]:
    """The parts of a folder, in order, as far as they say of themselves that they are whole.

    They are kept: whoever asks again need not wait.
    """
    return [*_in_order(folder, _footer)]


def each(folder: Folder, journal: Journal) -> Iterator[Part]:
    """The parts that are of this very journal, in order; none is kept, for campaigns at work."""
    yield from _of(journal, _in_order(folder, _read))


def part(folder: Folder, number: int) -> Part | None:
    """The part of a number; None where there is none, or it does not say that it is whole."""
    return _part(folder, number, _read)


def newest(folder: Folder) -> Part | None:
    """The part with the highest number among those that say that they are whole."""
    newest_first = (part(folder, number) for number in sorted(_numbers(folder), reverse=True))
    return next(filter(None, newest_first), None)


NOWHERE = [0, 0, 0, 0]

Reading = Callable[[bytes], PartFooter | None]


def _numbers(folder: Folder) -> list[int]:
    try:
        matches = map(_NAME.fullmatch, folder.names(FOLDER))
    except OSError:
        return []
    return [int(match[1]) for match in matches if match]


def _in_order(folder: Folder, reading: Reading) -> Iterator[Part]:
    end: Sequence[int] = NOWHERE
    for number in range(1, len(_numbers(folder)) + 1):
        part = _part(folder, number, reading)
        if part is None or [*part.about["begin"]] != [*end]:
            return
        end = part.about["end"]
        yield part


def _part(folder: Folder, number: int, reading: Reading) -> Part | None:
    try:
        about = reading(folder.read(json_name(number), formats.FILE_LIMIT))
    except (OSError, ValueError):
        return None
    return Part(number, about) if about else None


def _read(text: bytes) -> PartFooter | None:
    """What a part's JSON tells; None where it is damaged. Raises ValueError."""
    about: PartFooter = decoding.parsed(text)
    if not decoding.has(about, PartFooter):
        return None
    content = {key: value for key, value in about.items() if key != "sha256"}
    return about if about["sha256"] == digest(content) else None


_footer = lru_cache(maxsize=4096)(_read)


def of_journal(written_parts: Iterable[Part], journal: Journal) -> tuple[Part, ...]:
    """Those that are of this very journal: each one's last line stands where it says."""
    return tuple(_of(journal, written_parts))


def _of(journal: Journal, parts: Iterable[Part]) -> Iterator[Part]:
    parts, ends = itertools.tee(parts)
    holding = journal.ends(part.end for part in ends)
    for part, holds in zip(parts, holding, strict=False):
        if not holds:
            return
        yield part


def apart(parts: Sequence[Part], tail: Tally) -> bool:
    """Whether each run and attempt is told of by one section alone, so that counts add up."""
    outcomes = tail.outcomes
    ranges = [tuple(part.about["runs"]) for part in parts if part.about["runs"]]
    ranges += [(min(outcomes), max(outcomes))] if outcomes else []
    ranges.sort()
    overlap = any(low <= high for (_, high), (low, _) in itertools.pairwise(ranges))
    return not (overlap or tail.again or any(part.about["again"] for part in parts))


def counts(tally: Tally) -> Mapping[str, Any]:
    """What a part says of its lines, beside where they are."""
    outcomes = tally.outcomes
    attempts = [about for key, about in tally.attempts.items() if key not in tally.going]
    return {
        "outcomes": _count(outcomes.values()),
        "runs": [min(outcomes), max(outcomes)] if outcomes else None,
        "highest": max((run for run, _ in tally.attempts), default=0),
        "again": tally.again,
        "interrupted": sum(status == "interrupted" for status, _, _ in attempts),
        "disturbed": sum(disturbed for _, _, disturbed in attempts),
        "reasons": _count(reason for _, reason, _ in attempts if reason),
        "reconnected": _count(tally.reconnected),
        "opened": tally.opened,
        "extended": tally.extended,
        "unfinished": list(tally.changes.unfinished),
        "going": list(tally.going.values()),
    }


def _count(values: Any) -> dict[Any, int]:
    count: dict[Any, int] = {}
    for value in values:
        count[value] = count.get(value, 0) + 1
    return count
