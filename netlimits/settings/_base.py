"""The interface of settings: read one, change it, check that the change took, and undo it.

A setting is pure: it builds commands and parses their output; `restore.changes` acts. A state is
the result of `read` as JSON-able data, complete enough to restore the interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, Machine

State = Mapping[str, Any]
"""The state of a setting on one interface, as the journal records it.

The top-level keys of a state are its parts. Most settings read all parts every time. `sysctl`,
`switch` and `rss` (its key) read only the parts that a run needs. When a later run reads a part for
the first time, this part is added to the original state.
"""


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a setting that other packages use. The defaults suit most settings.

    Attributes:
        separate: True if the options are independent of each other, so that each can be checked
            alone.
        tried: True if it must be tried before the first run: drivers may ignore it silently, or it
            needs a module. Settings that can disconnect a host are not tried, nor are settings
            whose failure is always reported.
        runs_commands: True if states contain commands, which are never run from another user's
            files.
        watched: The part of the state that `evidence.watch` reads during a run. A change of a
            setting that it does not read (`""`) is always reported on its own.
        restarts: True if it may restart the interface, or create a new one in its place.
        drops_carrier: True if the link may be down for seconds after a change.
        leaves: The kinds of leaf of a network state that it changes, not counting effects of a
            restart (`evidence.network.state`).
        reset_by: The settings whose change makes the kernel reset this one. It is restored after
            them.
        places_interrupts: True if it places interrupts. A running irqbalance would move them again.
        changes_path: True if it changes the path between the ends, False if it changes a host.
    """

    separate: bool = False
    tried: bool = False
    runs_commands: bool = False
    watched: Literal["", "partly", "fully"] = ""
    restarts: bool = False
    drops_carrier: bool = False
    leaves: tuple[str, ...] = ()
    reset_by: tuple[str, ...] = ()
    places_interrupts: bool = False
    changes_path: bool = False


class Setting(Protocol):
    """Something that can be changed on a host: one subclass in one file, one line in SETTINGS.

    Attributes:
        name: The key in an experiment's `settings:`.
        schema: JSON Schema of the options under that key; `${…}` is allowed at every leaf.
        traits: Properties of the setting that other packages use.

    Example:
        setting = Mtu()
        state = setting.state(host.run(setting.read("eth0", 1400)))
        for command in setting.change("eth0", state, 1400):
            host.run(command)
    """

    name: str
    schema: Mapping[str, Any]
    traits: Traits = Traits()

    def read(self, interface: str, about: Any) -> Command:
        """Return the command that reads the state, or the part of it that `about` selects.

        Args:
            interface: The data interface.
            about: The wanted options, or an original state to restore. It selects what `sysctl` and
                `switch` read, and whether `rss` reads its key and `mtu` searches network
                namespaces. Other settings ignore it.

        Returns:
            A command that changes nothing.
        """

    def state(self, completed: Completed) -> State:
        """Return the state that the output of `read` shows.

        Args:
            completed: The result of the command that `read` returned.

        Returns:
            The state as JSON-able data, complete enough to restore the interface.

        Raises:
            SettingError: If the output shows no state.
        """

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return the commands from `state` to `wanted`.

        Args:
            interface: The data interface.
            state: The present state; empty if it has not been read.
            wanted: The options, with every `${…}` resolved.

        Returns:
            The commands in their order; none if `state` already equals `wanted`.

        Raises:
            SettingError: If the host does not support the wanted options; the message says what
                the experiment can request instead.
        """

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Compare the state with the wanted options.

        Args:
            state: The state after the change.
            wanted: The options, with every `${…}` resolved.

        Returns:
            A message for each wanted value that `state` lacks; none if the change took.
        """

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """Return the commands from `state` back to `original`.

        Args:
            interface: The data interface.
            original: The state before the first change.
            state: The present state. If it is empty, it has not been read: the commands must then
                restore `original` whatever the present state is.

        Returns:
            The commands in their order; none if the states are equal.
        """

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Compare the state with the original state.

        Args:
            original: The state before the first change.
            state: The present state.

        Returns:
            A message for each value of `state` that differs from `original`; none if all are
            restored.
        """

    def faults(self, state: State) -> Iterator[str]:
        """Find the parts of a recorded state that must not be restored.

        Another user may have written the journal or the note that contains the state. So a part may
        be restored only if the setting itself could have recorded its names and values.

        Args:
            state: An original state from a journal or a note, which may not be a state of this
                setting.

        Yields:
            A message for each such part.

        Raises:
            LookupError, TypeError, ValueError, AttributeError, ArithmeticError: If `state` is not a
                state of this setting.
        """

    def check_found(self, interface: str, state: State) -> None:
        """Check that an original state can be restored exactly.

        Args:
            interface: The data interface.
            state: The state before the first change.

        Raises:
            SettingError: If the state cannot be restored. By default, every state can.
        """
        return

    def between(
        self, options: Any, role: str, roles: Sequence[str], machines: Mapping[str, Machine]
    ) -> Any:
        """Return the options for one of the setting's roles, such as one end of a tunnel.

        Args:
            options: The options of the experiment, the same for all roles.
            role: The role to return options for.
            roles: All roles that use the setting.
            machines: The machine of each role, with its address.

        Returns:
            The options for `role`; by default those of the experiment.

        Raises:
            SettingError: If the options do not fit the hosts.
        """
        return options

    def error(self, problem: str, completed: Completed | None = None) -> SettingError:
        """Return an error of this setting, to be raised.

        Args:
            problem: What is wrong and what to do.
            completed: The result of the command that failed, which names the host; None if unknown.

        Returns:
            The error, with the names of the setting and the host.
        """
        return SettingError(problem, setting=self.name, host=completed.host if completed else "")

    def unreadable(self, completed: Completed, problem: str = "cannot be read") -> SettingError:
        """Return the error for a command whose output shows no state.

        Args:
            completed: The result of the command.
            problem: What is wrong. The command's error message or exit status is appended.

        Returns:
            The error, to be raised.
        """
        reason = completed.complaint or f"exit status {completed.status}"
        return self.error(f"{problem}: {reason}", completed)

    def shows_none(self, completed: Completed) -> SettingError:
        """Return the error for a feature that the interface lacks.

        Args:
            completed: The result of the command, usually `ethtool`.

        Returns:
            The error, to be raised. It quotes the command and the last line of its output.
        """
        lines = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
        reason = lines[-1] if lines else f"exit status {completed.status}"
        problem = f"`{' '.join(completed.command.argv)}` shows none: {reason}"
        return self.error(
            f"{problem}; leave `{self.name}` out for this host's interface", completed
        )
