"""Which CPUs a tool's client and server may run on, for tools without a uniform way of their own.

`taskset` (util-linux) becomes the tool, so nothing more runs beside it. It fails when none of the
CPUs of a list is there, and takes the rest in silence when only some are; so the highest CPU is
asked for by itself first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.errors import InputError
from netlimits.units.cpus import CPU_LIST, members

PROPERTIES: Mapping[str, Any] = {
    "cpus": {
        **CPU_LIST,
        "description": "CPUs that the client may run on (taskset -c): 0, 0-3 or 0,2.",
    },
    "server_cpus": {
        **CPU_LIST,
        "description": "CPUs that the server may run on (taskset -c).",
    },
}
"""JSON Schema of the two options."""


def bound(argv: tuple[str, ...], cpus: int | str | None) -> tuple[str, ...]:
    """The command on these CPUs only; the same command for None."""
    if cpus is None:
        return argv
    numbers = members(cpus)
    all_there = ("taskset", "-c", str(max(numbers))) if len(numbers) > 1 else ()
    return (*all_there, "taskset", "-c", str(cpus), *argv)


def check(tool: str, options: Mapping[str, Any]) -> None:
    """Raise InputError for a range of CPUs that runs backward."""
    for option in PROPERTIES:
        try:
            members(options.get(option, 0))
        except ValueError as error:
            raise InputError(f"measure.{tool}.{option}: {error}") from None
