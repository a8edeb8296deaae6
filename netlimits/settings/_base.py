"""The interface of settings: read one, change it, check that the change took, and undo it.

A setting is pure: it builds commands and parses their output; `restore.changes` acts. A state is
the result of `read` as JSON-able data, complete enough to restore the interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from netlimits.model import Command, Completed, Machine

State = Mapping[str, Any]
"""A setting's state on one interface, as the journal records it.

Its top-level keys are its parts. Most settings read all of their parts every time; one that reads
only what it is asked about (sysctls) finds further parts later, which are added to the original.
"""


class Setting(Protocol):
    """A kind of thing that can be changed on a host: one file, one line in SETTINGS.

    Attributes:
        name: The key in an experiment's `settings:`.
        schema: JSON Schema of the options under that key; `${…}` is allowed at every leaf.

    Example:
        setting = Mtu()
        state = setting.state(host.run(setting.read("eth0", 1400)))
        for command in setting.change("eth0", state, 1400):
            host.run(command)
    """

    name: str
    schema: Mapping[str, Any]

    def read(self, interface: str, about: Any) -> Command:
        """Return the command that shows the state, as far as it concerns `about`.

        Args:
            interface: The data interface.
            about: The options wanted, or an original state to restore. Only settings with too many
                values to read them all (sysctls) use it.
        """

    def state(self, completed: Completed) -> State:
        """Return the state in that command's output.

        Raises:
            SettingError: If it shows none.
        """

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return the commands from `state` to `wanted`.

        Args:
            interface: The data interface.
            state: The present state; empty if nobody has read it.
            wanted: The options, with every `${…}` resolved.

        Returns:
            The commands in their order; none if `state` is `wanted` already.

        Raises:
            SettingError: If the host cannot have it; the message says what the experiment could ask
                for instead.
        """

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return what of `wanted` does not hold in `state`, in words; empty if the change took."""

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return the commands from `state` back to `original`; none if they are equal.

        Args:
            interface: The data interface.
            original: The state before the first change.
            state: The present state. If it is empty, nobody has read it: the commands then lead
                back
                from any state.
        """

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return what in `state` differs from `original`, in words, leaf by leaf."""

    def faults(self, state: State) -> Iterator[str]:
        """Yield what of a recorded state must not be restored, in words.

        A stranger may have written the journal or note: names and values must be ones that the
        schema allows and that the commands accept. What is no state at all may raise LookupError,
        TypeError, ValueError, AttributeError or ArithmeticError.
        """


@runtime_checkable
class Checked(Protocol):
    """A setting some of whose states could not be restored."""

    def check_found(self, interface: str, state: State) -> None:
        """Raise SettingError for an original state that could not be restored exactly."""


@runtime_checkable
class Paired(Protocol):
    """A setting that its roles share, such as the two ends of a tunnel."""

    def between(
        self, options: Any, role: str, roles: Sequence[str], machines: Mapping[str, Machine]
    ) -> Mapping[str, Any]:
        """Return the options for one of its roles, completed by what the hosts file says of all.

        Raises SettingError if they do not fit the hosts.
        """
