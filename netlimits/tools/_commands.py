"""Build the commands of a tool's server and client: CPU binding, start time and deadline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.model import Command
from netlimits.units.cpus import CPU_LIST, members

NUMA: Mapping[str, Any] = {
    name: {
        "type": "integer",
        "minimum": 0,
        "maximum": 1023,
        "description": f"NUMA node of the {whose}'s CPUs and memory (numactl -N -m).",
    }
    for name, whose in (("numa", "client"), ("server_numa", "server"))
}
"""JSON Schemas of the options that bind client and server to NUMA nodes."""

CPUS: Mapping[str, Any] = {
    "cpus": {
        **CPU_LIST,
        "description": "CPUs that the client may run on (taskset -c): 0, 0-3 or 0,2.",
    },
    "server_cpus": {
        **CPU_LIST,
        "description": "CPUs that the server may run on (taskset -c).",
    },
    **NUMA,
}
"""JSON Schemas of the options that bind client and server to CPUs and NUMA nodes."""

START_UP = 15.0
"""Seconds that a run may take beyond its configured length before it counts as hung."""

_STAMP = 'date +%s.%N && exec "$0" "$@"'


def server(argv: tuple[str, ...], options: Mapping[str, Any]) -> Command:
    return Command(bound(argv, options.get("server_cpus"), options.get("server_numa")))


def client(argv: tuple[str, ...], options: Mapping[str, Any], seconds: float) -> Command:
    """Return the client's command, bound to `cpus` and `numa`, with a deadline.

    If `interim_seconds` is set, the command first prints the time of the client's host, which
    `_output.started` parses.
    """
    argv = bound(argv, options.get("cpus"), options.get("numa"))
    if "interim_seconds" in options:
        argv = ("sh", "-c", _STAMP, *argv)
    return Command(argv, deadline=seconds + START_UP)


def bound(
    argv: tuple[str, ...], cpus: int | str | None, node: int | None = None
) -> tuple[str, ...]:
    """Return the command bound to a list of CPUs and a NUMA node; None means no binding."""
    if node is not None:
        argv = ("numactl", "-N", str(node), "-m", str(node), *argv)
    if cpus is None:
        return argv
    numbers = members(cpus)
    # taskset ignores CPUs in a list that do not exist, so first bind to the highest CPU alone,
    # which fails if it does not exist
    highest = ("taskset", "-c", str(max(numbers))) if len(numbers) > 1 else ()
    return (*highest, "taskset", "-c", str(cpus), *argv)


def flags(options: Mapping[str, Any], table: Mapping[str, str]) -> Iterator[str]:
    for option, flag in table.items():
        if options.get(option) is not None:
            yield from (flag, str(options[option]))
