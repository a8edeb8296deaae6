"""Length of the transmit queue of the data interface, which limits its default qdiscs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._schema import integer
from netlimits.settings._values import NamedValues, Values, is_number

_MOST = 2**31 - 1


class Txqueuelen(NamedValues):
    """`txqueuelen: 500`."""

    name = "txqueuelen"
    traits = Traits(watched="fully")
    schema: Mapping[str, Any] = integer(
        1, _MOST, "Packets that the default qdiscs of the data interface may queue."
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("cat", _path(interface)))

    def state(self, completed: Completed) -> State:
        """Return {"packets": n}."""
        text = completed.stdout.strip()
        if completed.status != 0 or not text.isdecimal() or not text.isascii():
            raise self.unreadable(completed)
        return {"packets": int(text)}

    def wish(self, state: State, wanted: Any) -> Values:
        return {"packets": wanted}

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        return tuple(
            Command(("tee", _path(interface)), sudo=True, stdin=f"{value}\n")
            for value in values.values()
        )

    def legal(self, name: str, value: Any) -> bool:
        return name == "packets" and is_number(value, _MOST + 1)


def _path(interface: str) -> str:
    return f"/sys/class/net/{interface}/tx_queue_len"
