"""What a setting is: how to read it, reach what is wanted, check that it took, and undo it.

A setting is pure: it makes commands and reads their output; `restore.changes` acts. A state is
what `read` found, as JSON-able data, complete enough to restore the interface from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from netlimits.model import Command, Completed

State = Mapping[str, Any]
"""A setting's state on one interface, as it goes into the journal.

Its top-level keys are its parts. Most settings read all of their parts every time; one that reads
only what it is asked about (sysctls) finds further parts later, which are added to what was found.
"""


class Setting(Protocol):
    """One kind of thing that can be changed on a host. One file, one line in SETTINGS."""

    name: str
    """The key in an experiment's `settings:`."""

    schema: Mapping[str, Any]
    """JSON Schema of the options under that key; `${…}` is allowed at every leaf."""

    def read(self, interface: str, about: Any) -> Command:
        """The command that shows the state, as far as it concerns `about`.

        `about` are the options wanted, or a state that was found and is to be restored. Only a
        setting of more things than can be read (sysctls) looks at it.
        """

    def state(self, completed: Completed) -> State:
        """The state in that command's output. Raises SettingError when it shows none."""

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """The commands from `state` to `wanted`; none when it is there already.

        `wanted` are the options with every `${…}` resolved. Raises SettingError when it cannot
        be had, saying what the experiment could ask for instead.
        """

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """What of `wanted` is not so in `state`, in words; none when it took."""

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """The commands from `state` back to `original`; none when it is there already.

        An empty `state` is one that nobody has looked at: the commands then lead back from any.
        """

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """What in `state` differs from `original`, in words, leaf by leaf."""

    def faults(self, state: State) -> Iterator[str]:
        """What of a state that was written down may not be restored, in words.

        A journal or a note may come from a stranger: its names and values are held to what the
        schema lets an experiment set and to what the commands take. What is no state at all may
        raise any of what looking into it does.
        """


@runtime_checkable
class Checked(Protocol):
    """A setting some of whose states could not be restored."""

    def check_found(self, interface: str, state: State) -> None:
        """Raise SettingError for a state that was found and could not be restored exactly."""
