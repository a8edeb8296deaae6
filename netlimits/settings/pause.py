"""Ethernet flow control of the data interface: pause frames (`ethtool -a` and `-A`).

With `autoneg: on` both ends of the link settle what is used; `rx` and `tx` are then what this end
offers. A driver may restart the link.
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

_NAMES = {"Autonegotiate": "autoneg", "RX": "rx", "TX": "tx"}
_LINE = re.compile(r"^(Autonegotiate|RX|TX):\s*(on|off)\s*$", re.MULTILINE)
_ABOUT = {
    "autoneg": "Settle with the other end of the link.",
    "rx": "Stop sending when a pause frame arrives.",
    "tx": "Send pause frames when the receive ring fills.",
}


class Pause:
    """`pause: {autoneg: off, rx: on, tx: on}`."""

    name = "pause"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Ethernet flow control of the data interface",
        "description": "As in ethtool -A.",
        "minProperties": 1,
        "properties": {
            name: {"enum": ["on", "off"], "description": about} for name, about in _ABOUT.items()
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", "-a", interface))

    def state(self, completed: Completed) -> State:
        """Return {autoneg, rx, tx: "on" or "off"} of what the driver has."""
        shown = {_NAMES[word]: value for word, value in _LINE.findall(completed.stdout)}
        if completed.status != 0 or not shown:
            raise shows_none(completed, self.name)
        return shown

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if state and (strange := sorted(wanted.keys() - state.keys())):
            raise SettingError(f"{interface} has no {strange[0]}", setting=self.name)
        return _write(interface, _values.differing(wanted, state))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return _values.unmet(wanted, state)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        return _write(interface, _values.differing(original, state))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return _values.differences(original, state)

    def faults(self, state: State) -> Iterator[str]:
        for name, value in state.items():
            if name not in _ABOUT or value not in ("on", "off"):
                yield f"{name[:40]} cannot be {str(value)[:40]!r}"


def _write(interface: str, values: Mapping[str, str]) -> tuple[Command, ...]:
    words = [word for name in _ABOUT if name in values for word in (name, values[name])]
    return (Command(("ethtool", "-A", interface, *words), sudo=True),) if words else ()
