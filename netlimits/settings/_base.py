"""The interface of settings: read one, change it, check that the change took, and undo it.

A setting is pure: it builds commands and parses their output; `restore.changes` acts. A state is
the result of `read` as JSON-able data, complete enough to restore the interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, Machine

State = Mapping[str, Any]
"""A setting's state on one interface, as the journal records it.

Its top-level keys are its parts. Most settings read all of their parts every time; one that reads
only what it is asked about (sysctls) finds further parts later, which are added to the original.
"""


class Setting(Protocol):
    """A kind of thing that can be changed on a host: a subclass in one file, one line in SETTINGS.

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
                back from any state.
        """

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return what in `state` differs from `original`, in words, leaf by leaf."""

    def faults(self, state: State) -> Iterator[str]:
        """Yield what of a recorded state must not be restored, in words.

        A stranger may have written the journal or note: names and values must be ones that the
        schema allows and that the commands accept. What is no state at all may raise LookupError,
        TypeError, ValueError, AttributeError or ArithmeticError.
        """

    def check_found(self, interface: str, state: State) -> None:
        """Raise SettingError for an original state that could not be restored exactly."""
        return

    def between(
        self, options: Any, role: str, roles: Sequence[str], machines: Mapping[str, Machine]
    ) -> Any:
        """Return the options for one of its roles: a tunnel's ends differ.

        Raises SettingError if they do not fit the hosts.
        """
        return options

    def error(self, problem: str, completed: Completed | None = None) -> SettingError:
        """Return an error of this setting, on the host of a command."""
        return SettingError(problem, setting=self.name, host=completed.host if completed else "")

    def unreadable(self, completed: Completed, problem: str = "cannot be read") -> SettingError:
        """Return the error for a command whose output shows no state."""
        reason = completed.complaint or f"exit status {completed.status}"
        return self.error(f"{problem}: {reason}", completed)

    def shows_none(self, completed: Completed) -> SettingError:
        """Return the error for what the interface lacks, with the last line of `ethtool`."""
        lines = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
        reason = lines[-1] if lines else f"exit status {completed.status}"
        problem = f"`{' '.join(completed.command.argv)}` shows none: {reason}"
        return self.error(
            f"{problem}; leave `{self.name}` out for this host's interface", completed
        )
