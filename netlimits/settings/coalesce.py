"""Interrupt coalescing of the NIC, through `ethtool -c` and `-C`.

The text is parsed, since `ethtool --json -c` came with 6.2. While `adaptive-rx` is on the driver
changes `rx-usecs` by itself: so switches are written first, and a number that was adaptive at first
need not be restored exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import _values
from netlimits.settings._base import State
from netlimits.settings._quantities import shows_none
from netlimits.settings._values import is_number

_PAIR = re.compile(r"^(?P<kind>Adaptive|CQE mode) RX: (?P<rx>\S+)\s+TX: (?P<tx>\S+)\s*$")
_LINE = re.compile(r"^(?P<name>[a-z][a-z-]+):\s*(?P<value>[0-9]+|n/a)\s*$")
_SWITCHES = {"Adaptive": "adaptive", "CQE mode": "cqe-mode"}
_SHOWN_AS = {
    f"{way}-frame-{end}": f"{way}-frames-{end}" for way in ("rx", "tx") for end in ("low", "high")
}
"""`ethtool -c` of 6.1 prints rx-frame-low for the rx-frames-low of `-C`."""

_NUMBERS = (
    "stats-block-usecs", "sample-interval", "pkt-rate-low", "pkt-rate-high",
    "rx-usecs", "rx-frames", "rx-usecs-irq", "rx-frames-irq",
    "tx-usecs", "tx-frames", "tx-usecs-irq", "tx-frames-irq",
    "rx-usecs-low", "rx-frames-low", "tx-usecs-low", "tx-frames-low",
    "rx-usecs-high", "rx-frames-high", "tx-usecs-high", "tx-frames-high",
)  # fmt: skip
_NAMES = ("adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx", *_NUMBERS)


class Coalesce:
    """`coalesce: {adaptive-rx: off, rx-usecs: 0}`."""

    name = "coalesce"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Interrupt coalescing of the data interface",
        "description": "As in ethtool -C.",
        "minProperties": 1,
        "properties": {
            name: (
                {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
                if name in _NUMBERS
                else {"enum": ["on", "off"]}
            )
            for name in _NAMES
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", "-c", interface))

    def state(self, completed: Completed) -> State:
        """Return {name: on, off or a number} of what the driver has, switches first."""
        shown: dict[str, str] = {}
        for line in completed.stdout.splitlines():
            if pair := _PAIR.match(line):
                for way in ("rx", "tx"):
                    shown[f"{_SWITCHES[pair['kind']]}-{way}"] = pair[way]
            elif match := _LINE.match(line):
                shown[_SHOWN_AS.get(match["name"], match["name"])] = match["value"]
        if completed.status != 0 or not shown:
            raise shows_none(completed, self.name)
        return {
            name: int(shown[name]) if shown[name].isdigit() else shown[name]
            for name in _NAMES
            if shown.get(name, "n/a") != "n/a"
        }

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        for name in wanted if state else ():
            if name not in state:
                raise SettingError(
                    f"{interface} has no {name}; it has {', '.join(state)}", setting=self.name
                )
        return _write(interface, _values.differing(wanted, state))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return other values: drivers round silently, or keep adapting a number."""
        return tuple(
            f"{name} is {state.get(name, 'not there')}, not {value}{_why(name, state)}"
            for name, value in wanted.items()
            if state.get(name) != value
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        return _write(interface, _values.differing(original, state))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return what differs, except the numbers that the driver adapts by itself."""
        kept = {name: value for name, value in original.items() if not _adapts(name, original)}
        return _values.differences(kept, state)

    def faults(self, state: State) -> Iterator[str]:
        properties = self.schema["properties"]
        for name, value in state.items():
            switch = "enum" in properties.get(name, {})
            if name not in properties or not (
                value in ("on", "off") if switch else is_number(value)
            ):
                yield f"{name[:40]} cannot be {str(value)[:40]!r}"


def _adapts(name: str, state: State) -> bool:
    """Return True if the driver changes this number by itself."""
    return name in _NUMBERS and state.get(f"adaptive-{name[:2]}") == "on"


def _why(name: str, state: State) -> str:
    way = f"adaptive-{name[:2]}"
    return f": {way} is on; ask for `{way}: off` too" if _adapts(name, state) else ""


def _write(interface: str, wanted: Mapping[str, Any]) -> tuple[Command, ...]:
    """Return at most two commands: some drivers refuse a number while its switch is on."""
    switches = {n: v for n, v in wanted.items() if n not in _NUMBERS}
    numbers = {n: v for n, v in wanted.items() if n in _NUMBERS}
    return tuple(
        Command(("ethtool", "-C", interface, *words), sudo=True)
        for part in (switches, numbers)
        if (words := [word for name, value in part.items() for word in (name, str(value))])
    )
