"""Find the two readings of CPU time between which only the transfer ran, in a host's samples.

Intervals in which the transfer begins or ends are left out.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from netlimits.evidence.cpu import CpuTimes
from netlimits.evidence.sample.arrivals import ACTIVE, LEAST_INTERVALS, shared
from netlimits.evidence.sample.snapshots import parse_snapshots
from netlimits.model import Completed

TICKS = 8
"""Number of columns to read from a CPU's line in /proc/stat. Later columns are guest times, which
user time includes."""

_LOOK = re.compile(r"^look ([0-9]{9,12}\.[0-9]{9})$", re.MULTILINE)
_CPUS = re.compile(
    r"^cpus ([0-9]{1,12}\.[0-9]{6}) ([0-9]{1,20}) ([0-9]{1,20})((?: [0-9]{1,6}:[0-9,-]*)+)$",
    re.MULTILINE,
)
_STAT = re.compile(r"^cpu([0-9]{1,6})((?: [0-9]{1,20}){8})", re.MULTILINE)
_BYTES = re.compile(r"^([0-9]{1,20})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reading:
    """A sample's CPU ticks, interface bytes of both directions, and the sampler's CPU seconds."""

    times: CpuTimes
    bytes: int
    own_s: float = 0.0

    @property
    def at(self) -> float:
        return self.times.uptime_s


def readings(completed: Completed) -> list[Reading | None]:
    """Parse the reading of each sample; None if a sample has no reading."""
    pieces = _LOOK.split(completed.stdout)
    read: list[Reading | None] = []
    last: Reading | None = None
    for at, text in zip(pieces[1::2], pieces[2::2], strict=True):
        reading = None
        if line := _CPUS.search(text):
            last = reading = _grown(last, line)
        elif rows := _STAT.findall(text):
            ticks = tuple(tuple(map(int, row.split())) for _, row in rows)
            count = sum(map(int, _BYTES.findall(text)))
            cpus = tuple(int(cpu) for cpu, _ in rows)
            reading = Reading(CpuTimes(float(at), cpus, ticks), count)
        read.append(reading)
    return read


def _grown(before: Reading | None, line: re.Match[str]) -> Reading:
    """Return the reading of a `cpus` line, which has the growth of ticks since reading `before`."""
    then = dict(zip(before.times.cpus, before.times.ticks, strict=True)) if before else {}
    cpus, ticks = [], []
    for part in line[4].split():
        name, _, columns = part.partition(":")
        numbers = [int(column) for column in columns.split(",") if column]
        numbers += [0] * (TICKS - len(numbers))
        base = then.get(int(name), (0,) * TICKS)
        cpus.append(int(name))
        ticks.append(tuple(map(sum, zip(base, numbers, strict=True))))
    times = CpuTimes(float(line[1]), tuple(cpus), tuple(ticks))
    return Reading(times, int(line[2]), int(line[3]) / 1e9)


def window(
    completed: Completed, *, streams: int = 0, seconds: float = 0.0, skip: float = 0.0
) -> tuple[Reading, Reading] | None:
    """Return two readings between which all streams of the transfer ran; None if unknown."""
    read = readings(completed)
    return _of_connections(completed, read, streams, skip) or _of_interface(
        [reading for reading in read if reading], seconds, skip
    )


def _of_connections(
    completed: Completed, read: Sequence[Reading | None], streams: int, skip: float
) -> tuple[Reading, Reading] | None:
    seen = parse_snapshots(completed)
    if not streams or len(seen) != len(read) or any(snapshot.one_stack for snapshot in seen):
        return None
    sums = [{c.ends: c.carried for c in snapshot.connections if c.carried} for snapshot in seen]
    moved = [reading.bytes if reading else None for reading in read]
    if (between := shared(seen, sums, streams, skip=skip, moved=moved)) is None:
        return None
    within = [reading for reading in read[between[0] : between[1] + 1] if reading]
    return (within[0], within[-1]) if len(within) > 1 else None


def _of_interface(
    read: Sequence[Reading], seconds: float, skip: float
) -> tuple[Reading, Reading] | None:
    pairs = [(a, b) for a, b in itertools.pairwise(read) if b.at > a.at]
    rates = [(b.bytes - a.bytes) / (b.at - a.at) for a, b in pairs]
    if not rates or max(rates) <= 0:
        return None
    usual = median(rate for rate in rates if rate >= max(rates) / 2)
    active = [at for at, rate in enumerate(rates) if rate >= ACTIVE * usual]
    first, last = _longest(pairs, active, seconds)
    began = pairs[first][0].at
    if last - first + 1 >= LEAST_INTERVALS:
        first, last = first + 1, last - 1
    while first < last and pairs[first][0].at < began + skip:
        first += 1
    return pairs[first][0], pairs[last][1]


def _longest(
    pairs: Sequence[tuple[Reading, Reading]], active: Sequence[int], seconds: float
) -> tuple[int, int]:
    """Return the first and last interval of the span of `seconds` that carried most bytes.

    If `seconds` is 0, the span may have any length.
    """
    begins = [pairs[at][0].at for at in active]
    spans = []
    for place, first in enumerate(active):
        until = pairs[first][1].at + seconds if seconds else begins[-1]
        spans.append((first, active[max(bisect_right(begins, until) - 1, place)]))
    return max(spans, key=lambda span: pairs[span[1]][1].bytes - pairs[span[0]][0].bytes)
