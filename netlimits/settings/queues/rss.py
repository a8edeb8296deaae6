"""Receive side scaling (RSS): which flows the NIC puts into which receive queue (`ethtool -x, -X`).

The key of the hash may be a secret, so it is not read. A table that `ethtool -X` cannot create
again is an error before the first run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import Setting, State
from netlimits.settings._schema import options, whole
from netlimits.settings.queues.channels import RSS_TABLE, rss_words

_READ = r"""ethtool -x "$1" | sed '/^RSS hash key:/{n;s/.*/not read/}'"""

_ROW = re.compile(r"^\s*[0-9]+:((?:\s+[0-9]+)+)\s*$", re.MULTILINE)
_RINGS = re.compile(r"with ([0-9]+) RX ring")
_QUEUE: Mapping[str, Any] = whole(0, 9999)


class Rss(Setting):
    """`rss: {equal: 2}`, or `rss: {weights: [3, 1]}`."""

    name = "rss"
    schema: Mapping[str, Any] = options(
        {
            "equal": {
                **_QUEUE,
                "minimum": 1,
                "description": "Spread over so many queues equally; 1 puts all flows in one.",
            },
            "start": {**_QUEUE, "description": "The first of them (with equal).", "default": 0},
            "weights": {
                "type": "array",
                "minItems": 1,
                "maxItems": 256,
                "items": _QUEUE,
                "description": "The share of each queue, from the first.",
            },
        },
        title="Receive queues that flows are spread over (RSS)",
        description="As in ethtool -X.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return {"table": "0 1 0 1", "rings": 2}."""
        text = completed.stdout
        table = " ".join(" ".join(row.split()) for row in _ROW.findall(text))
        rings = _RINGS.search(text)
        if not table or not rings:
            shown = Command(("ethtool", "-x", completed.command.argv[-1]))
            raise self.shows_none(replace(completed, command=shown))
        return {"table": table, "rings": int(rings[1])}

    def check_found(self, interface: str, state: State) -> None:
        if not rss_words(state["table"]):
            raise self.error(
                f"{interface} has an RSS table that `ethtool -X` cannot create again; run "
                f"`ethtool -X {interface} default` first, or leave `rss` out"
            )

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        weights, equal = wanted.get("weights"), wanted.get("equal")
        if bool(weights) == bool(equal) or ("start" in wanted and not equal):
            raise self.error("give equal (with start), or weights: not both")
        if weights and not sum(weights):
            raise self.error("all weights are 0; give one queue a share")
        last = len(weights) if weights else (equal or 0) + wanted.get("start", 0)
        if state and last > state["rings"]:
            raise self.error(f"{interface} has {state['rings']} receive queues, not {last}")
        if state and not self.unmet(state, wanted):
            return ()
        if weights:
            return (_spread(interface, ("weight", *map(str, weights))),)
        start = ("start", str(wanted["start"])) if wanted.get("start") else ()
        return (_spread(interface, ("equal", str(equal), *start)),)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        size = len(state["table"].split())
        if "weights" in wanted:
            queues = [*weighted(wanted["weights"], size)]
        else:
            queues = [wanted.get("start", 0) + at % wanted["equal"] for at in range(size)]
        table = " ".join(map(str, queues))
        if state["table"] == table:
            return ()
        return (f"the table is {_short(state['table'])}, not {_short(table)}",)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        words = rss_words(original["table"])
        differs = not state or state["table"] != original["table"]
        return (_spread(interface, words),) if words and differs else ()

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        now, was = state["table"], original["table"]
        return () if now == was else (f"the table is {_short(now)}, was {_short(was)}",)

    def faults(self, state: State) -> Iterator[str]:
        if not RSS_TABLE.fullmatch(state["table"]):
            yield f"{state['table'][:40]!r} is no RSS table"


def weighted(weights: list[int], size: int) -> Iterator[int]:
    """Yield the queue of each entry of a table, as ethtool fills it (rxfhindir weight)."""
    queue, part, total = -1, 0, sum(weights)
    for at in range(size):
        while at >= size * part // total:
            queue += 1
            part += weights[queue]
        yield queue


def _short(table: str) -> str:
    return " ".join(rss_words(table)) or table


def _spread(interface: str, words: tuple[str, ...]) -> Command:
    return Command(("ethtool", "-X", interface, *words), sudo=True)
