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
        """Return the named values in a state; by default, the state itself.

        Args:
            state: A state from `state`; empty if it has not been read.

        Returns:
            Name -> value; empty if `state` is empty.
        """
        return state

    def wish(self, state: State, wanted: Any) -> Values:
        """Return the values that the options ask for; by default, the options themselves.

        Args:
            state: The present state; empty if it has not been read.
            wanted: The options, with every `${…}` resolved.

        Returns:
            Name -> wanted value.
        """
        return wanted  # type: ignore[no-any-return]

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        """Return the commands that write values; every subclass must implement this method.

        Args:
            interface: The data interface.
            values: Name -> value to write.

        Returns:
            The commands in their order; none if `values` is empty.

        Raises:
            NotImplementedError: The subclass does not implement this method.
        """
        raise NotImplementedError

    def to_write(self, wanted: Values, now: Values) -> Values:
        """Return the values to write to get from `now` to `wanted`.

        Args:
            wanted: Name -> wanted or original value.
            now: Name -> present value; empty if unknown.

        Returns:
            Name -> value; by default, the wanted values that differ from the present ones.
        """
        return differing(wanted, now)

    def lacks(self, interface: str, state: State, name: str) -> str:
        """Return the error message for a value that the state does not have.

        Args:
            interface: The data interface.
            state: The present state.
            name: The name of the missing value.

        Returns:
            The problem and what to do.
        """
        known = ", ".join(self.values(state))
        return f"{interface} has no {name}; {f'it has {known}' if known else 'leave it out'}"

    def legal(self, name: str, value: Any) -> bool:
        """Return True if a recorded value may be restored.

        Args:
            name: The name of the value.
            value: The recorded value, which may have any type.

        Returns:
            True if the option's schema has an enum that contains the value. Without an enum, True
            for a whole number that is not negative (`is_number`).
        """
        shape = self.schema["properties"].get(name)
        return bool(shape) and (value in shape["enum"] if "enum" in shape else is_number(value))

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return the commands from `state` to `wanted`.

        Args:
            interface: The data interface.
            state: The present state; empty if it has not been read.
            wanted: The options, with every `${…}` resolved.

        Returns:
            The commands in their order; none if `state` already has all wanted values.

        Raises:
            SettingError: The state does not have a wanted value.
        """
        wish = self.wish(state, wanted)
        if state and (strange := [name for name in wish if name not in self.values(state)]):
            raise self.error(self.lacks(interface, state, strange[0]))
        return self.write(interface, self.to_write(wish, self.values(state)))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Compare the state with the wanted options.

        Args:
            state: The state after the change.
            wanted: The options, with every `${…}` resolved.

        Returns:
            A message for each wanted value that `state` lacks; none if the change took.
        """
        return unmet(self.wish(state, wanted), self.values(state))

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return the commands from `state` back to `original`.

        Args:
            interface: The data interface.
            original: The state before the first change.
            state: The present state; empty if it has not been read.

        Returns:
            The commands in their order; none if all values are restored.
        """
        kept = self._kept(original, state)
        return self.write(interface, self.to_write(kept, self.values(state)))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Compare the state with the original state.

        Args:
            original: The state before the first change.
            state: The present state.

        Returns:
            A message for each value that is not restored.
        """
        return differences(self._kept(original, state), self.values(state))

    def faults(self, state: State) -> Iterator[str]:
        """Find the values of a recorded state that must not be restored (see `legal`).

        Args:
            state: An original state from a journal or a note.

        Yields:
            A message for each such value.
        """
        for name, value in self.values(state).items():
            if not self.legal(name, value):
                yield f"{name[:40]} cannot be {str(value)[:40]!r}"

    def _kept(self, original: State, state: State) -> Values:
        values = self.values(original)
        if not self.vanishing or not state:
            return values
        return {name: value for name, value in values.items() if name in state}


def differing(wanted: Values, now: Values) -> dict[str, Any]:
    """Return the wanted values that differ from the present ones.

    Args:
        wanted: Name -> wanted value.
        now: Name -> present value.

    Returns:
        Name -> wanted value. A name that `now` lacks counts as differing.
    """
    return {name: value for name, value in wanted.items() if now.get(name) != value}


def unmet(wanted: Values, now: Values) -> tuple[str, ...]:
    """Return a message for each wanted value that is not there.

    Args:
        wanted: Name -> wanted value.
        now: Name -> present value.

    Returns:
        Messages such as "rx-usecs is 3, not 0".
    """
    return tuple(
        f"{name} is {now.get(name, 'not there')}, not {value}"
        for name, value in differing(wanted, now).items()
    )


def differences(original: Values, now: Values) -> tuple[str, ...]:
    """Return a message for each value that is not restored.

    Args:
        original: Name -> value before the first change.
        now: Name -> present value.

    Returns:
        Messages such as "rx-usecs is 0, was 3".
    """
    return tuple(
        f"{name} is {now.get(name, 'gone')}, was {value}"
        for name, value in differing(original, now).items()
    )


def is_number(value: Any, below: int = 2**32) -> bool:
    """Return True for a whole number that is not negative and within a limit.

    Args:
        value: A recorded value, which may have any type.
        below: The first number that is too large.

    Returns:
        True for an integer from 0 to `below` - 1.
    """
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
