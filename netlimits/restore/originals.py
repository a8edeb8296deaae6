"""The state of hosts before we changed them, and the order in which it is restored."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netlimits.model import Command
from netlimits.settings import MADE_ANEW, State


@dataclass(frozen=True, slots=True)
class Original:
    """A setting's state on one interface of one host before we changed it."""

    role: str
    interface: str
    setting: str
    state: State

    @property
    def place(self) -> tuple[str, str, str]:
        """What identifies it: role, interface, setting."""
        return (self.role, self.interface, self.setting)


def way_back(changed: Iterable[Original]) -> tuple[Original, ...]:
    """Last change first, but an interface's MTU and channels before what hangs on them.

    Restored earlier, that would be lost with the queues; and a default qdisc that comes back while
    there are fewer queues, or another MTU, is another than was found.
    """
    back = [*changed][::-1]
    for name, later in MADE_ANEW.items():
        for first in [change for change in back if change.setting == name]:
            at = back.index(first)
            waiting = [
                change
                for change in back[:at]
                if change.setting in later and change.place[:2] == first.place[:2]
            ]
            ahead = [change for change in back[: at + 1] if change not in waiting]
            back[: at + 1] = ahead + waiting
    return tuple(back)


def from_event(event: Mapping[str, Any]) -> Original:
    """The Original that a journal's event holds."""
    return Original(event["role"], event["interface"], event["setting"], event["state"])


def typed(commands: Iterable[Command]) -> str:
    """Return commands as somebody would type them, each in backquotes; "" for none.

    A script that has no command `by_hand` waits for something or tidies up: it is left out.
    """
    return "; ".join(f"`{line}`" for command in commands for line in in_words(command))


def in_words(command: Command) -> tuple[str, ...]:
    """Return the lines that a person would type for a command: one, but for a script."""
    if command.by_hand or command.argv[:2] == ("sh", "-c"):
        return tuple(line for each in command.by_hand for line in in_words(each))
    fed = f"echo {shlex.quote(command.stdin.strip())} | " if command.stdin else ""
    # sysctl shows tabs, and takes blanks: a shell at a terminal completes at a tab
    return ((fed + shlex.join(command.argv)).replace("\t", " "),)
