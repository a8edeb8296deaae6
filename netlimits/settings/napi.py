"""Batch received packets in the kernel: defer the NIC's interrupts, and poll on a timer.

After packets arrive, the interrupt stays off until `defer_hard_irqs` polls in a row were empty.
Meanwhile a timer polls, each time after `gro_flush_timeout` ns. With this timeout, GRO also holds
recent segments until a later poll, and so merges more of them. This may delay packets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._schema import integer, options
from netlimits.settings._values import NamedValues, Values, is_number

_FILES = {"gro_flush_timeout": "gro_flush_timeout", "defer_hard_irqs": "napi_defer_hard_irqs"}

_LINE = re.compile(r"^/sys/class/net/[^/]+/(?P<file>[a-z_]+):(?P<value>[0-9]+)$", re.MULTILINE)


class Napi(NamedValues):
    """`napi: {gro_flush_timeout: 200000, defer_hard_irqs: 100}`."""

    name = "napi"
    traits = Traits(separate=True, watched="partly", leaves=("queue setting",))
    schema: Mapping[str, Any] = options(
        {
            "gro_flush_timeout": integer(
                0,
                1_000_000_000,
                "Nanoseconds that merged segments may wait for more segments (0: none).",
            ),
            "defer_hard_irqs": integer(
                0,
                2**31 - 1,
                "Empty polls before the interrupt is switched on again "
                "(napi_defer_hard_irqs; Linux 5.8 and later).",
            ),
        },
        title="Deferred polling of the data interface",
        description="Interrupts are deferred only if both options are set. The timer alone lets "
        "GRO wait for more segments.",
    )

    def read(self, interface: str, about: Any) -> Command:
        """Return `grep -H` of both files, since one may be missing."""
        return Command(("grep", "-H", ".", *(_path(interface, name) for name in _FILES)))

    def state(self, completed: Completed) -> State:
        """Return {name: value} for the values that the kernel has."""
        values = {m["file"]: int(m["value"]) for m in _LINE.finditer(completed.stdout)}
        state = {name: values[file] for name, file in _FILES.items() if file in values}
        if not state:
            raise self.shows_none(completed)
        return state

    def lacks(self, interface: str, state: State, name: str) -> str:
        return (
            f"this kernel has no {_FILES[name]} (Linux 5.8 and later have it); leave "
            f"{name} out for this host"
        )

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        """Return one `tee` per value, so that sudoers can name the file as its argument."""
        return tuple(
            Command(("tee", _path(interface, name)), sudo=True, stdin=f"{value}\n")
            for name, value in values.items()
        )

    def legal(self, name: str, value: Any) -> bool:
        return name in _FILES and is_number(value, 2**63)


def _path(interface: str, name: str) -> str:
    return f"/sys/class/net/{interface}/{_FILES[name]}"
