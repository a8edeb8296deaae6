"""What a tool is: how to start its server and client, and what its output says.

A tool is pure: it makes commands and reads their output; `campaign.schedule` runs them on hosts.
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


@dataclass(frozen=True, slots=True)
class SocketPace:
    """How a tool paces a flow at its own socket (SO_MAX_PACING_RATE), under `fq` at the egress.

    The `option` takes bytes/s of whole frames, at most `most`; builds with the `feature` have it.
    `flag` is its word on the command line, and what tables call this way of pacing.
    """

    option: str
    flag: str
    most: int
    feature: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a test sends: over which transport, to which end, in datagrams of how many bytes.

    `receiver` is None where data goes both ways, as in transactions. `datagram` is 0 over TCP, and
    where they are not all of one size that was chosen; of transactions it is the larger.
    """

    transport: Literal["tcp", "udp"] = "tcp"
    receiver: Literal["local", "remote"] | None = "remote"
    datagram: int = 0


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

    control_apart: bool
    """Whether the server's port carries nothing but control, which packet traces then leave out."""

    counts_all: bool
    """Whether its rate over one TCP connection is of all that arrived, to the last byte."""

    socket_pace: SocketPace | None
    """Its own way to pace a flow, where it has one."""

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

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """What the client's and the server's processes are called."""

    def seconds(self, options: Mapping[str, Any]) -> float:
        """How long one run is meant to take, for the estimate of what is left."""

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """What a test with these options sends."""

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The options of a run as short as it goes, whose datagrams are few: to try ports."""

    def bytes_of(self, size: int | str) -> int:
        """Bytes of a size as the tool reads it: "1k" is 1000 or 1024."""

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """Whether it does not tell what arrives while it does: then the receiver is looked at."""

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """Options of a TCP stream beside a test with these, to or from (`recv`) the same server.

        None where that server takes one client at a time, or the test is not one of transactions.
        """

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """The option that limits what one client sends, and to how many bit/s; None without."""

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """What the client's output says. Raises ToolFailure for every run that must not count."""
