"""Receive side scaling (RSS): how the NIC spreads flows over receive queues (`ethtool -x, -X`).

The hash key may be a secret, so it is read only if an experiment sets it. A table that `ethtool -X`
cannot create again is an error before the first run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import integer, options
from netlimits.settings.queues.channels import RSS_TABLE, rss_words

_READ = r"""case $2 in
key) ethtool -x "$1" ;;
*) ethtool -x "$1" | sed '/^RSS hash key:/{n;s/.*/not read/}' ;;
esac"""

_ROW = re.compile(r"^\s*[0-9]+:((?:\s+[0-9]+)+)\s*$", re.MULTILINE)
_RINGS = re.compile(r"with ([0-9]+) RX ring")
_FUNCTION = re.compile(r"^\s+(\w+): on$", re.MULTILINE)
_KEY = re.compile(r"^RSS hash key:\n([0-9a-f]{2}(?::[0-9a-f]{2})*)$", re.MULTILINE)
_QUEUE: Mapping[str, Any] = integer(0, 9999)


class Rss(Setting):
    """`rss: {equal: 2}`, or `rss: {weights: [3, 1]}`."""

    name = "rss"
    traits = Traits(tried=True, leaves=("RSS table and key",), reset_by=("channels",))
    schema: Mapping[str, Any] = options(
        {
            "equal": {
                **_QUEUE,
                "minimum": 1,
                "description": "Number of queues to spread flows over equally; 1: all flows in "
                "one queue.",
            },
            "start": {
                **_QUEUE,
                "description": "The first of these queues (with equal).",
                "default": 0,
            },
            "weights": {
                "type": "array",
                "minItems": 1,
                "maxItems": 256,
                "items": _QUEUE,
                "description": "The share of each queue, from the first.",
            },
            "key": {
                "type": "string",
                "pattern": r"^[0-9a-f]{2}(:[0-9a-f]{2}){7,127}$(?!\n)",
                "description": "The key of the hash, of the driver's length.",
            },
            "function": {
                "enum": ["toeplitz", "xor", "crc32"],
                "description": "The hash.",
            },
        },
        title="Receive queues that flows are spread over (RSS)",
        description="As in ethtool -X.",
    )

    def read(self, interface: str, about: Any) -> Command:
        """Return the command that prints the table, and also the hash key if `about` has "key"."""
        key = "key" if "key" in (about or ()) else "-"
        return Command(("sh", "-c", _READ, "sh", interface, key))

    def state(self, completed: Completed) -> State:
        """Return {"table": "0 1 0 1", "rings": 2, "function": "toeplitz"}, and "key" if read."""
        text = completed.stdout
        table = " ".join(" ".join(row.split()) for row in _ROW.findall(text))
        rings = _RINGS.search(text)
        if not table or not rings:
            shown = Command(("ethtool", "-x", completed.command.argv[-2]))
            raise self.shows_none(replace(completed, command=shown))
        function, key = _FUNCTION.search(text), _KEY.search(text)
        return {
            "table": table,
            "rings": int(rings[1]),
            "function": function[1] if function else "",
            **({"key": key[1]} if key else {}),
        }

    def check_found(self, interface: str, state: State) -> None:
        if not rss_words(state["table"]):
            raise self.error(
                f"{interface} has an RSS table that `ethtool -X` cannot create again; run "
                f"`ethtool -X {interface} default` first, or leave `rss` out"
            )

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        weights, equal = wanted.get("weights"), wanted.get("equal")
        if (weights and equal) or ("start" in wanted and not equal):
            raise self.error("give equal (with start), or weights: not both")
        if weights and not sum(weights):
            raise self.error("all weights are 0; give one queue a share")
        last = len(weights) if weights else (equal or 0) + wanted.get("start", 0)
        if state and last > state["rings"]:
            raise self.error(f"{interface} has {state['rings']} receive queues, not {last}")
        if state and "key" in wanted and len(state.get("key", "")) != len(wanted["key"]):
            bytes_ = (len(state.get("key", "")) + 1) // 3
            raise self.error(
                f"{interface} takes a key of {bytes_} bytes"
                if bytes_
                else f"{interface} shows no key, so it could not be restored; leave `key` out"
            )
        if state and not self.unmet(state, wanted):
            return ()
        words = [*_hash(wanted)]
        if weights:
            words += ["weight", *map(str, weights)]
        elif equal:
            words += ["equal", str(equal)]
            words += ["start", str(wanted["start"])] if wanted.get("start") else []
        return (_write(interface, words),)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        size = len(state["table"].split())
        problems = [
            f"the {name} is {state.get(name) or 'not shown'}, not {wanted[name]}"
            for name in ("function", "key")
            if name in wanted and state.get(name) != wanted[name]
        ]
        table = ""
        if "equal" in wanted:
            start = wanted.get("start", 0)
            table = " ".join(str(start + at % wanted["equal"]) for at in range(size))
        elif "weights" in wanted:
            table = " ".join(map(str, weighted(wanted["weights"], size)))
        if table and state["table"] != table:
            problems.append(f"the table is {_short(state['table'])}, not {_short(table)}")
        return tuple(problems)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        words = []
        for name, word in (("key", "hkey"), ("function", "hfunc")):
            if original.get(name) and state.get(name) != original[name]:
                words += [word, original[name]]
        if not state or state["table"] != original["table"]:
            words += rss_words(original["table"])
        return (_write(interface, words),) if words else ()

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return tuple(
            f"the {name} is {_short(str(state.get(name)))}, was {_short(str(value))}"
            for name, value in original.items()
            if name != "rings" and state.get(name) != value
        )

    def faults(self, state: State) -> Iterator[str]:
        if not RSS_TABLE.fullmatch(state["table"]):
            yield f"{state['table'][:40]!r} is no RSS table"
        if state["function"] and not re.fullmatch("[a-z0-9]{1,20}", state["function"]):
            yield f"{state['function'][:40]!r} is no hash"
        key = self.schema["properties"]["key"]["pattern"]
        if "key" in state and not re.search(key, state["key"]):
            yield "the key is no hash key"


def weighted(weights: list[int], size: int) -> Iterator[int]:
    """Yield the queue of each entry of a table of `size`, as `ethtool -X … weight` fills it."""
    queue, part, total = -1, 0, sum(weights)
    for at in range(size):
        while at >= size * part // total:
            queue += 1
            part += weights[queue]
        yield queue


def _hash(wanted: Mapping[str, Any]) -> Iterator[str]:
    for name, word in (("key", "hkey"), ("function", "hfunc")):
        if name in wanted:
            yield from (word, wanted[name])


def _short(text: str) -> str:
    """Return a text unchanged, unless it is a table: then the words of `ethtool -X` for it."""
    return " ".join(rss_words(text)) if RSS_TABLE.fullmatch(text) and text else text


def _write(interface: str, words: list[str]) -> Command:
    return Command(("ethtool", "-X", interface, *words), sudo=True)
