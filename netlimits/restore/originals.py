"""The state of hosts before we changed them, and the order in which it is put back."""

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

    Put back earlier that would be lost with the queues; and a default qdisc that comes back while
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


def typed(command: Command) -> str:
    """Return a command as somebody would type it, in backquotes."""
    fed = f"echo {shlex.quote(command.stdin.strip())} | " if command.stdin else ""
    return f"`{fed}{shlex.join(command.argv)}`"
