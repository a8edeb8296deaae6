"""The registry of measuring tools, in the order in which help and errors list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, cast

from netlimits.errors import InputError
from netlimits.model import Command, ServerAddress
from netlimits.tools._base import Features, Tool, Transfer
from netlimits.tools._options import LARGEST_DATAGRAM
from netlimits.tools._workloads import WORKLOADS, Measuring
from netlimits.tools.iperf3 import Iperf3
from netlimits.tools.irtt import Irtt
from netlimits.tools.neper import Neper
from netlimits.tools.netperf import Netperf
from netlimits.tools.nttcp import Nttcp
from netlimits.tools.nuttcp import Nuttcp

__all__ = [
    "COLUMN_PREFIXES",
    "LARGEST_DATAGRAM",
    "MEASURING",
    "PROGRAM_OPTIONS",
    "TOOLS",
    "WORKLOADS",
    "Features",
    "Tool",
    "Transfer",
    "at_path",
    "tool",
]

TOOLS: tuple[Tool, ...] = (
    Netperf(),
    Iperf3(),
    Nuttcp(),
    Neper(),
    Nttcp(),
    Irtt(),
)

MEASURING: Mapping[str, Measuring] = {t.name: t.measuring for t in TOOLS if t.measuring}
"""Tool -> how it measures the kinds of traffic; `diagnose` prefers the first one."""

COLUMN_PREFIXES = tuple(f"{each.name}_" for each in TOOLS)
"""Prefixes of columns that hold a tool's own figures."""


PROGRAM_OPTIONS = ("program", "server_program")
"""Options whose values are paths of programs."""


def tool(name: str) -> Tool:
    """Return a tool by name; its commands use the programs that the options name, if any."""
    return cast(Tool, _WithPrograms({each.name: each for each in TOOLS}[name]))


class _WithPrograms:
    """Wrap a tool, so that its commands use the programs given in PROGRAM_OPTIONS."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        command = self._tool.server(options, ends)
        return at_path(command, self._tool.server_program, options.get("server_program"))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        command = self._tool.client(options, features, ends)
        return at_path(command, self._tool.name, options.get("program"))

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        client, server = self._tool.processes(options)
        return (
            PurePosixPath(options.get("program", client)).name,
            PurePosixPath(options.get("server_program", server)).name,
        )

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        stream = self._tool.bulk(options, direction, seconds)
        programs = {name: options[name] for name in PROGRAM_OPTIONS if name in options}
        if self._tool.streams_of:
            return stream
        return None if stream is None else {**stream, **programs}


def at_path(command: Command, name: str, path: str | None) -> Command:
    """Return the command with the program `name` replaced by `path`, unless `path` is None."""
    if path is None:
        return command
    if name not in command.argv:
        raise InputError(
            f"{path}: {name} runs no program of its own name that could be replaced; leave it out"
        )
    index = command.argv.index(name)
    return replace(command, argv=(*command.argv[:index], path, *command.argv[index + 1 :]))
