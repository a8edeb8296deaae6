"""`toggle`: a switch of the interface's, by a program of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State
from netlimits.settings._values import NamedValues, Values


class Toggle(NamedValues):
    """`toggle: on`."""

    name = "toggle"
    schema: Mapping[str, Any] = {"description": "A toy's switch.", "enum": ["on", "off"]}

    def read(self, interface: str, about: Any) -> Command:
        """Return the command that prints the switch."""
        return Command(("toggle", "show", interface))

    def state(self, completed: Completed) -> State:
        """{"switch": "on"}"""
        if completed.stdout.strip() not in self.schema["enum"]:
            raise self.unreadable(completed)
        return {"switch": completed.stdout.strip()}

    def wish(self, state: State, wanted: Any) -> Values:
        """Return the switch in the wanted position."""
        return {"switch": wanted}

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        """Return the command that sets the switch; none if it is set already."""
        return tuple(
            Command(("toggle", "set", interface, value), sudo=True) for value in values.values()
        )

    def legal(self, name: str, value: Any) -> bool:
        """Return True if a stored value may be restored."""
        return value in self.schema["enum"]
