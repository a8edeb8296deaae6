"""Interrupt coalescing of the NIC, through `ethtool -c` and `-C`.

While `adaptive-rx` is on, the driver changes `rx-usecs` and other receive numbers by itself. So
the on/off options are written before the numbers. Numbers that the driver adapted before the first
change need not be restored exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._schema import SWITCH, integer, options
from netlimits.settings._values import NamedValues, Values

_PAIR = re.compile(r"^(?P<kind>Adaptive|CQE mode) RX: (?P<rx>\S+)\s+TX: (?P<tx>\S+)\s*$")
_LINE = re.compile(r"^(?P<name>[a-z][a-z-]+):\s*(?P<value>[0-9]+|n/a)\s*$")
_SWITCHES = {"Adaptive": "adaptive", "CQE mode": "cqe-mode"}
_SHOWN_AS = {
    f"{way}-frame-{end}": f"{way}-frames-{end}" for way in ("rx", "tx") for end in ("low", "high")
}
"""`ethtool -c` 6.1 prints `rx-frame-low`, but `ethtool -C` accepts only `rx-frames-low`."""

_NUMBERS = (
    "stats-block-usecs", "sample-interval", "pkt-rate-low", "pkt-rate-high",
    "rx-usecs", "rx-frames", "rx-usecs-irq", "rx-frames-irq",
    "tx-usecs", "tx-frames", "tx-usecs-irq", "tx-frames-irq",
    "rx-usecs-low", "rx-frames-low", "tx-usecs-low", "tx-frames-low",
    "rx-usecs-high", "rx-frames-high", "tx-usecs-high", "tx-frames-high",
)  # fmt: skip
_NAMES = ("adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx", *_NUMBERS)


class Coalesce(NamedValues):
    """`coalesce: {adaptive-rx: off, rx-usecs: 0}`."""

    name = "coalesce"
    traits = Traits(
        separate=True,
        tried=True,
        watched="partly",
        drops_carrier=True,
        leaves=("coalesce",),
        reset_by=("channels",),
    )
    schema: Mapping[str, Any] = options(
        {name: (integer(0, 2**32 - 1) if name in _NUMBERS else SWITCH) for name in _NAMES},
        title="Interrupt coalescing of the data interface",
        description="As in ethtool -C.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", "-c", interface))

    def state(self, completed: Completed) -> State:
        """Return {name: "on", "off" or a number} for what the driver supports, switches first."""
        shown: dict[str, str] = {}
        for line in completed.stdout.splitlines():
            if pair := _PAIR.match(line):
                for way in ("rx", "tx"):
                    shown[f"{_SWITCHES[pair['kind']]}-{way}"] = pair[way]
            elif match := _LINE.match(line):
                shown[_SHOWN_AS.get(match["name"], match["name"])] = match["value"]
        if completed.status != 0 or not shown:
            raise self.shows_none(completed)
        return {
            name: int(shown[name]) if shown[name].isdigit() else shown[name]
            for name in _NAMES
            if shown.get(name, "n/a") != "n/a"
        }

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return a message for each value that differs, with a hint if the driver adapts it."""
        return tuple(
            f"{name} is {state.get(name, 'not there')}, not {value}{_why(name, state)}"
            for name, value in wanted.items()
            if state.get(name) != value
        )

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return what differs, except the numbers that the driver adapted in the original state."""
        kept = {name: value for name, value in original.items() if not _adapts(name, original)}
        return super().differences(kept, state)

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        """Write on/off options before numbers: drivers may reject a number while they adapt it."""
        switches = {n: v for n, v in values.items() if n not in _NUMBERS}
        numbers = {n: v for n, v in values.items() if n in _NUMBERS}
        return tuple(
            Command(("ethtool", "-C", interface, *words), sudo=True)
            for part in (switches, numbers)
            if (words := [word for name, value in part.items() for word in (name, str(value))])
        )


def _adapts(name: str, state: State) -> bool:
    return name in _NUMBERS and state.get(f"adaptive-{name[:2]}") == "on"


def _why(name: str, state: State) -> str:
    way = f"adaptive-{name[:2]}"
    return f": {way} is on; ask for `{way}: off` too" if _adapts(name, state) else ""
