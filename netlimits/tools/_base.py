"""What a tool is: how to start its server and client, and what its output says.

A tool is pure: it makes commands and reads their output; `campaign.runner` runs them on hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from netlimits.model import Command, Completed, Measurement, ServerAddress


@dataclass(frozen=True, slots=True)
class Features:
    """What the installed build of a tool is and can do, found by asking it once a host.

    `names` are the features that are there (`demo`, `intervals`, `pacing`, …); `vocabulary`
    what it accepts where that is a list of its own (netperf: the output selectors).
    """

    version: str
    names: frozenset[str] = frozenset()
    vocabulary: frozenset[str] = frozenset()


class Tool(Protocol):
    """A measuring program. One file, one line in TOOLS, a capture under tests/."""

    name: str
    """The key in an experiment's `measure:`, and the client program."""

    server_program: str
    port: int
    """The server's program, and its customary port."""

    server_lasts: Literal["campaign", "run"]
    """Whether one server serves every run, or each run has its own."""

    reuses_port: bool
    """Whether the server takes its port although old connections to it are in TIME_WAIT."""

    schema: Mapping[str, Any]
    """JSON Schema of the options under that key; `${…}` is allowed at every leaf."""

    def probes(self) -> tuple[Command, ...]:
        """Commands that tell the client's version and features without a server."""

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """What those commands' output says. Raises ToolFailure when the tool is not there."""

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError when resolved options ask for what this build does not have."""

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """The server, in the foreground, listening on the data address only.

        A server that lasts for the campaign is started anew where options make another command.
        """

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """The measurement, with a deadline that a hung run cannot pass."""

    def seconds(self, options: Mapping[str, Any]) -> float:
        """How long one run is meant to take, for the estimate of what is left."""

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """What the client's output says. Raises ToolFailure for every run that must not count."""
