"""Reading a journal of 100,000 events: msgspec, the standard library, and shapes of our own.

    python benchmarks/journal.py            # 100,000 events
    python benchmarks/journal.py 10000

Four ways from lines to checked events are timed in turn, five times, and the median of each one's
ratios to ours is printed: `json.loads` with a checker that walks tuples and mappings, which is what
netlimits had; `json.loads` with msgspec's check; ours; and straight into types. Then the same for
the whole journal, whose lines are numbered and chained. Exit status 1 where ours is not twice as
fast as what was before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from netlimits.archive import formats
from netlimits.archive.journal import NAME, Head, Journal
from netlimits.model import STATUSES, decoding
from netlimits.model.folder import Folder

EXAMPLE = Path(__file__).parents[1] / "notebooks" / "example-campaign" / NAME
ROUNDS, TARGET = 5, 2.0
PAIRS = (("shapes", "ours"), ("checked", "ours"), ("typed", "ours"), ("before", "whole"))
NUMBER, SCALARS = (int, float), (str, int, float, bool, type(None))


def has(value: Any, shape: Any) -> bool:
    """Whether a value has a shape, as it once was checked."""
    if isinstance(shape, tuple):
        return isinstance(value, shape) and (bool in shape or not isinstance(value, bool))
    if isinstance(shape, frozenset):
        return isinstance(value, str) and value in shape
    if isinstance(shape, list):
        return isinstance(value, list) and all(has(entry, shape[0]) for entry in value)
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            has(value[key.rstrip("?")], part) if key.rstrip("?") in value else key.endswith("?")
            for key, part in shape.items()
        )
    return bool(shape(value))


def _endless(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() >= 1024


def _number(value: Any) -> bool:
    return has(value, NUMBER) and not _endless(value)


def _count(value: Any) -> bool:
    return has(value, (int,)) and 0 < value < 2**53


def _instant(value: Any) -> bool:
    return has(value, NUMBER) and -1e9 < value < 9e9


def _scalars(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(part, SCALARS) for part in value.values())


def _values(value: Any) -> bool:
    return _scalars(value) and all(value)


def _writable(name: str) -> bool:
    return name.isascii() or max(name) < "\ud800"


def _figures(value: Any) -> bool:
    return _scalars(value) and all(map(_writable, value)) and not any(map(_endless, value.values()))


RUN = {"run": _count, "block?": _number, "config?": (str,), "values?": _values}
SHAPES: Mapping[str, Any] = {
    "start": {**RUN, "attempt": _count, "started": _instant},
    "end": {
        **RUN, "attempt": _count, "status": frozenset(STATUSES), "reason": (str,),
        "figures": _figures, "interim?": [_figures],
        "duration_s": lambda value: value is None or has(value, _number),
        "started": lambda value: value is None or has(value, _instant),
    },
}  # fmt: skip
"""What they were."""


def lines(count: int) -> list[bytes]:
    """A journal's lines: starts and ends of runs with the example campaign's figures."""
    events = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    ends = [event for event in events if event["event"] == "end"]
    head, sealed = Head(), []
    for number in range(count):
        run = number // 2 + 1
        values = {"protocol": "tcp", "send_size": 1024, "offloads": "on"}
        labels = {"run": run, "block": run // 6, "config": "ab12cd34", "values": values}
        start = {"event": "start", "at": 1.8e9, "attempt": 1, "started": 1.8e9 + run}
        event = {**(ends[run % len(ends)] if number % 2 else start), **labels}
        event = {key: value for key, value in event.items() if key not in ("n", "crc")}
        sealed.append(head.sealed(json.dumps(event).encode()))
        head.add(sealed[-1])
    return sealed


def seconds(read: Callable[[], object]) -> float:
    """CPU seconds that a way takes."""
    began = time.process_time()
    read()
    return time.process_time() - began


def main() -> int:
    """Print the ratios; 1 where ours is too slow."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="Events.")
    count = parser.parse_args().count
    journal = lines(count)
    types = {"start": formats.StartEvent, "end": formats.EndEvent}
    straight = {name: msgspec.json.Decoder(kind) for name, kind in types.items()}

    def shapes() -> bool:
        return all(has(event := json.loads(line), SHAPES[event["event"]]) for line in journal)

    def checked() -> bool:
        events = map(json.loads, journal)
        return all(decoding.has(event, types[event["event"]]) for event in events)

    def ours() -> bool:
        return all(formats.event(line) is not None for line in journal)

    def typed() -> bool:
        ends = (line.find(b'"event": "end"', 0, 80) > 0 for line in journal)
        return all(
            straight["end" if end else "start"].decode(line)
            for end, line in zip(ends, journal, strict=True)
        )

    with tempfile.TemporaryDirectory() as place:
        (Path(place) / NAME).write_bytes(b"".join(journal))

        def whole() -> int:
            return sum(1 for _ in Journal(Folder(Path(place))).events())

        def chain() -> int:
            return sum(1 for _ in Journal(Folder(Path(place))).lines())

        ways = (shapes, checked, ours, typed, whole, chain)
        times = [{way.__name__: seconds(way) for way in ways} for _ in range(ROUNDS)]
    for each in times:
        each["before"] = each["chain"] + each["shapes"]
    median = {
        pair: statistics.median(each[pair[0]] / each[pair[1]] for each in times)
        for pair in (
            ("shapes", "ours"),
            ("checked", "ours"),
            ("typed", "ours"),
            ("before", "whole"),
        )
    }
    print(f"{count} events, ours {statistics.median(each['ours'] for each in times):.2f} s")
    print(f"json and shapes of our own   {median['shapes', 'ours']:.2f} times ours")
    print(f"json, checked by msgspec     {median['checked', 'ours']:.2f} times ours")
    print(f"straight into types          {median['typed', 'ours']:.2f} times ours")
    print(f"the whole journal as before  {median['before', 'whole']:.2f} times as now")
    return 0 if median["shapes", "ours"] >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
