"""A tool whose programs an experiment names: another build of it, at a path of its own.

A tool makes its commands with the customary names of its programs; here the name becomes the path
that `program` (the client's) or `server_program` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from netlimits.errors import InputError
from netlimits.model import Command, ServerAddress
from netlimits.tools._base import Features, Tool

PROGRAMS = ("program", "server_program")
"""The options that name programs."""


class Installed:
    """A tool, with the programs that its options name; all else is the tool's."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """The server, by the program that the options name."""
        command = self._tool.server(options, ends)
        return at_path(command, self._tool.server_program, options.get("server_program"))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """The measurement, by the program that the options name."""
        return at_path(
            self._tool.client(options, features, ends), self._tool.name, options.get("program")
        )

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """What the processes are called, by the programs that the options name."""
        client, server = self._tool.processes(options)
        paths = (options.get("program", client), options.get("server_program", server))
        of_client, of_server = (PurePosixPath(path).name for path in paths)
        return of_client, of_server

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """The tool's own, by the programs that the options name."""
        stream = self._tool.bulk(options, direction, seconds)
        named = {name: options[name] for name in PROGRAMS if name in options}
        return None if stream is None else {**stream, **named}


def at_path(command: Command, name: str, path: str | None) -> Command:
    """The command with the program of that name run from a path, where there is one.

    Raises InputError where the command runs programs of other names.
    """
    if path is None:
        return command
    if name not in command.argv:
        raise InputError(f"{path}: {name} runs other programs than one of that name; leave it out")
    place = command.argv.index(name)
    return replace(command, argv=(*command.argv[:place], path, *command.argv[place + 1 :]))
