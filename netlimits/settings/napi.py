"""The time for which the kernel collects received packets before it passes them on, through /sys.

With `defer_hard_irqs` the NIC's interrupt stays off for that many empty polls, and a timer of
`gro_flush_timeout` polls instead: GRO merges more segments, so fewer ACKs are sent, and a packet
may wait that much longer. Both apply to every queue of the interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import _values
from netlimits.settings._base import State
from netlimits.settings._values import is_number

_FILES = {"gro_flush_timeout": "gro_flush_timeout", "defer_hard_irqs": "napi_defer_hard_irqs"}
"""Option -> its file in /sys/class/net/INTERFACE."""

_LINE = re.compile(r"^/sys/class/net/[^/]+/(?P<file>[a-z_]+):(?P<value>[0-9]+)$", re.MULTILINE)


class Napi:
    """`napi: {gro_flush_timeout: 200000, defer_hard_irqs: 100}`."""

    name = "napi"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Deferred polling of the data interface",
        "description": "It takes both: the timer counts only while interrupts are deferred. "
        "Neither does anything where GRO is off.",
        "minProperties": 1,
        "properties": {
            "gro_flush_timeout": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1_000_000_000,
                "description": "Nanoseconds that merged segments may wait for more (0: none).",
            },
            "defer_hard_irqs": {
                "type": "integer",
                "minimum": 0,
                "maximum": 2**31 - 1,
                "description": "Empty polls before the interrupt is switched on again "
                "(napi_defer_hard_irqs; Linux 5.8 and later).",
            },
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        """Return `grep -H` of both files, since one may be missing."""
        return Command(("grep", "-H", ".", *(_path(interface, name) for name in _FILES)))

    def state(self, completed: Completed) -> State:
        """Return {name: value} of those that the kernel has."""
        values = {m["file"]: int(m["value"]) for m in _LINE.finditer(completed.stdout)}
        state = {name: values[file] for name, file in _FILES.items() if file in values}
        if not state:
            reason = completed.complaint or f"exit status {completed.status}"
            raise SettingError(
                f"the interface shows none: {reason}; leave `napi` out for this host",
                setting=self.name,
                host=completed.host,
            )
        return state

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        for name in wanted if state else ():
            if name not in state:
                raise SettingError(
                    f"this kernel has no {_FILES[name]} (Linux 5.8 and later have it); leave "
                    f"{name} out for this host",
                    setting=self.name,
                )
        return _write(interface, _values.differing(wanted, state))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return _values.unmet(wanted, state)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        return _write(interface, _values.differing(original, state))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return _values.differences(original, state)

    def faults(self, state: State) -> Iterator[str]:
        properties = self.schema["properties"]
        for name, value in state.items():
            if name not in properties or not is_number(value, 2**63):
                yield f"{name[:40]} cannot be {str(value)[:40]!r}"


def _path(interface: str, name: str) -> str:
    return f"/sys/class/net/{interface}/{_FILES[name]}"


def _write(interface: str, numbers: Mapping[str, int]) -> tuple[Command, ...]:
    """Return one `tee` for each number, whose argument sudoers can name."""
    return tuple(
        Command(("tee", _path(interface, name)), sudo=True, stdin=f"{value}\n")
        for name, value in numbers.items()
    )
