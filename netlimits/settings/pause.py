"""Ethernet flow control of the data interface: pause frames (`ethtool -a` and `-A`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._schema import options, switch
from netlimits.settings._values import NamedValues, Values

_NAMES = {"Autonegotiate": "autoneg", "RX": "rx", "TX": "tx"}
_LINE = re.compile(r"^(Autonegotiate|RX|TX):\s*(on|off)\s*$", re.MULTILINE)
_ABOUT = {
    "autoneg": "Negotiate with the other end of the link.",
    "rx": "Stop sending when a pause frame arrives.",
    "tx": "Send pause frames when the receive ring fills.",
}


class Pause(NamedValues):
    """`pause: {autoneg: off, rx: on, tx: on}`."""

    name = "pause"
    traits = Traits(
        separate=True,
        tried=True,
        restarts=True,
        drops_carrier=True,
        leaves=("pause",),
        changes_path=True,
    )
    schema: Mapping[str, Any] = options(
        {name: switch(about) for name, about in _ABOUT.items()},
        title="Ethernet flow control of the data interface",
        description="As in ethtool -A.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", "-a", interface))

    def state(self, completed: Completed) -> State:
        """Return {autoneg, rx, tx: "on" or "off"}, without what the driver lacks."""
        shown = {_NAMES[word]: value for word, value in _LINE.findall(completed.stdout)}
        if completed.status != 0 or not shown:
            raise self.shows_none(completed)
        return shown

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        words = [word for name in _ABOUT if name in values for word in (name, values[name])]
        return (Command(("ethtool", "-A", interface, *words), sudo=True),) if words else ()
