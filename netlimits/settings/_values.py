"""The base of settings that consist of named values, each of which is written on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.model import Command
from netlimits.settings._base import Setting, State

Values = Mapping[str, Any]


class NamedValues(Setting):
    """A setting of named values. A subclass reads, writes and validates them.

    If `vanishing` is True, values may disappear, such as those of a queue that was removed or a CPU
    that went offline. Missing values are then neither restored nor reported.
    """

    vanishing = False

    def values(self, state: State) -> Values:
        return state

    def wish(self, state: State, wanted: Any) -> Values:
        """Return the values that the options ask for."""
        return wanted  # type: ignore[no-any-return]

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        raise NotImplementedError

    def to_write(self, wanted: Values, now: Values) -> Values:
        """Return the values to write to get from `now` to `wanted`."""
        return differing(wanted, now)

    def lacks(self, interface: str, state: State, name: str) -> str:
        """Return the error message for a value that the state does not have."""
        known = ", ".join(self.values(state))
        return f"{interface} has no {name}; {f'it has {known}' if known else 'leave it out'}"

    def legal(self, name: str, value: Any) -> bool:
        """Return True if a recorded value may be restored: a member of the enum, or a number."""
        shape = self.schema["properties"].get(name)
        return bool(shape) and (value in shape["enum"] if "enum" in shape else is_number(value))

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        wish = self.wish(state, wanted)
        if state and (strange := [name for name in wish if name not in self.values(state)]):
            raise self.error(self.lacks(interface, state, strange[0]))
        return self.write(interface, self.to_write(wish, self.values(state)))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return unmet(self.wish(state, wanted), self.values(state))

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        kept = self._kept(original, state)
        return self.write(interface, self.to_write(kept, self.values(state)))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return differences(self._kept(original, state), self.values(state))

    def faults(self, state: State) -> Iterator[str]:
        for name, value in self.values(state).items():
            if not self.legal(name, value):
                yield f"{name[:40]} cannot be {str(value)[:40]!r}"

    def _kept(self, original: State, state: State) -> Values:
        values = self.values(original)
        if not self.vanishing or not state:
            return values
        return {name: value for name, value in values.items() if name in state}


def differing(wanted: Values, now: Values) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if now.get(name) != value}


def unmet(wanted: Values, now: Values) -> tuple[str, ...]:
    return tuple(
        f"{name} is {now.get(name, 'not there')}, not {value}"
        for name, value in differing(wanted, now).items()
    )


def differences(original: Values, now: Values) -> tuple[str, ...]:
    """Return a message for each value that is not restored."""
    return tuple(
        f"{name} is {now.get(name, 'gone')}, was {value}"
        for name, value in differing(original, now).items()
    )


def is_number(value: Any, below: int = 2**32) -> bool:
    """Return True for an integer from 0 to `below` - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
