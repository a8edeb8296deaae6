"""`toggle`: a switch of the interface's, by a program of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import _values
from netlimits.settings._base import State


class Toggle:
    """`toggle: on`."""

    name = "toggle"
    schema: Mapping[str, Any] = {"description": "A toy's switch.", "enum": ["on", "off"]}

    def read(self, interface: str, about: Any) -> Command:
        """Return the command that prints the switch."""
        return Command(("toggle", "show", interface))

    def state(self, completed: Completed) -> State:
        """{"switch": "on"}"""
        if completed.stdout.strip() not in self.schema["enum"]:
            raise SettingError("it shows no switch", setting=self.name, host=completed.host)
        return {"switch": completed.stdout.strip()}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return the command that sets the switch; none if it is set already."""
        if state.get("switch") == wanted:
            return ()
        return (Command(("toggle", "set", interface, wanted), sudo=True),)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return what was not applied."""
        return _values.unmet({"switch": wanted}, state)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return the commands that restore the original state."""
        return self.change(interface, state, original["switch"])

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return how the state differs from the original."""
        return _values.differences(original, state)

    def faults(self, state: State) -> Iterator[str]:
        """Yield why a stored state may not be restored."""
        if state["switch"] not in self.schema["enum"]:
            yield f"the switch cannot be {state['switch'][:40]!r}"
