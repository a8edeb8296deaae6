"""The interface that every measuring tool implements.

A tool is pure: it builds commands and parses their output. The package `campaign` runs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from netlimits.model import Command, Completed, Measurement, ServerAddress
from netlimits.tools._workloads import Measuring
from netlimits.units.sizes import binary_bytes

Colour = Literal["", "black", "orange", "sky", "green", "blue", "vermilion", "purple"]

SECONDS = 10
"""Default length of a run in seconds."""


@dataclass(frozen=True, slots=True)
class Features:
    """The abilities of an installed build of a tool, probed once per host.

    Attributes:
        version: The version as the tool prints it.
        names: Optional features that the build has, such as `demo`, `intervals` or `pacing`.
        vocabulary: Words that the build accepts, if builds differ (netperf: output selectors).
    """

    version: str
    names: frozenset[str] = frozenset()
    vocabulary: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SocketPace:
    """A tool's option that paces a flow at its socket (SO_MAX_PACING_RATE).

    Attributes:
        option: The option of the experiment; its value is in bytes/s of whole frames.
        flag: The flag on the command line; tables show it as the name of this pacing.
        most: The largest value of the option.
        feature: The entry of `Features.names` that a build needs for the option.
    """

    option: str
    flag: str
    most: int
    feature: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """The kind of data that a test sends.

    Attributes:
        transport: "tcp" or "udp".
        receiver: The end that receives the data; None if both ends do, as in transactions.
        datagram: Bytes per datagram. For transactions, the larger size of request and response. 0
            over TCP, or if the size varies or is not configured.
    """

    transport: Literal["tcp", "udp"] = "tcp"
    receiver: Literal["local", "remote"] | None = "remote"
    datagram: int = 0


def run_seconds(options: Mapping[str, Any]) -> float:
    """Return the option `seconds` or its default.

    Args:
        options: The resolved options.

    Returns:
        Seconds; SECONDS if the option is absent.
    """
    return float(options.get("seconds", SECONDS))


class Tool(ABC):
    """A measuring program: one file, one line in TOOLS, captured outputs under tests/captures/.

    Subclasses set `name`, `server_program`, `port` and `schema`, override other attributes where
    the default is wrong, and implement the abstract methods. All `options` are resolved: they
    match `schema` and contain no `${…}`.

    Attributes:
        name: The key in an experiment's `measure:`, and the client program.
        server_program: The server program.
        port: The server's default port.
        schema: JSON Schema of the options; `${…}` is allowed at every leaf.
        server_lasts: "campaign" if one server serves all runs, "run" if each run needs a new one.
        reuses_port: True if the server can bind its port while old connections are in TIME_WAIT.
        separate_control: True if data uses another port, so that the server's port carries only
            control messages. Packet traces then leave out the server's port.
        counts_all: True if the tool's rate over one TCP connection covers all bytes that arrived.
        socket_pace: The tool's option to pace a flow at its socket, None if there is none.
        listens_on: The protocol of the server's port.
        streams_of: The tool that sends the background streams of `bulk`; "" for the tool itself.
        colour: The colour of the tool's series in every chart, a name of `charts._colours.NAMED`;
            "" for any colour that is free.
        measuring: How the tool measures the kinds of traffic of `netlimits diagnose`; None if
            `diagnose` cannot use it.
    """

    name: str
    server_program: str
    port: int
    schema: Mapping[str, Any]
    server_lasts: Literal["campaign", "run"] = "run"
    reuses_port: bool = True
    separate_control: bool = False
    counts_all: bool = True
    socket_pace: SocketPace | None = None
    listens_on: Literal["tcp", "udp"] = "tcp"
    streams_of: str = ""
    colour: Colour = ""
    measuring: Measuring | None = None

    @abstractmethod
    def probes(self) -> tuple[Command, ...]:
        """Return commands that print the client's version and features without a server.

        Returns:
            Commands that end at once. `features` parses their output.
        """

    @abstractmethod
    def features(self, completed: tuple[Completed, ...]) -> Features:
        """Parse the output of `probes`.

        Args:
            completed: The results of `probes`, in their order.

        Returns:
            The version and the abilities of this build.

        Raises:
            ToolFailure: The tool is not installed or too old.
        """

    @abstractmethod
    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Check options beyond what the schema can express.

        Args:
            options: The resolved options, which match `schema`.
            features: The abilities of the installed build.

        Raises:
            InputError: Options contradict each other, or need a feature that this build lacks.
        """

    @abstractmethod
    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """Return the command that runs the server in the foreground.

        The server listens on the data address only, unless the tool cannot be bound to an address.
        A campaign-long server is restarted when the options change its command.

        Args:
            options: The resolved options.
            ends: The data address and the port to listen on.

        Returns:
            The command. It must not fork, so that stopping it ends the server.
        """

    @abstractmethod
    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """Return the command that runs the test.

        Args:
            options: The resolved options.
            features: The abilities of the installed build.
            ends: The data address and the port of the server.

        Returns:
            The command. Its deadline in seconds is longer than the test, and ends a test that
            hangs.
        """

    @abstractmethod
    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options for a run that is as short as possible, to test ports before a campaign.

        Args:
            options: The resolved options of the campaign's runs.

        Returns:
            Options that replace the given values. The run takes at most 1 s and sends few
            datagrams.
        """

    @abstractmethod
    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """Parse the client's output into figures under the columns of METRICS.

        Args:
            completed: The result of `client`.
            options: The resolved options that `client` received.

        Returns:
            Figures by column of METRICS, interim results in order of time, and the data moved.

        Raises:
            ToolFailure: The run failed or is invalid; the message becomes its `reason`.
        """

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """Return the process names of the client and of the server.

        Args:
            options: The resolved options.

        Returns:
            The client's name and the server's name, as in /proc/PID/comm.
        """
        return self.name, self.server_program

    def seconds(self, options: Mapping[str, Any]) -> float:
        """Return the expected length of a run.

        Args:
            options: The resolved options.

        Returns:
            Seconds, including repetitions and omitted seconds.
        """
        return run_seconds(options)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """Return the kind of data that a test with these options sends.

        Args:
            options: The resolved options.

        Returns:
            Transport, receiving end and bytes per datagram. The default reads `reverse`,
            `bidirectional`, `protocol` and `send_size`.
        """
        receiver: Literal["local", "remote"] | None = (
            "local" if options.get("reverse") else "remote"
        )
        if options.get("bidirectional"):
            receiver = None
        if options.get("protocol") != "udp":
            return Transfer(receiver=receiver)
        return Transfer("udp", receiver, self.bytes_of(options.get("send_size", 0)))

    def bytes_of(self, size: int | str) -> int:
        """Convert a size to bytes as the tool does.

        Args:
            size: A number of bytes, or a text such as "1k": 1000 or 1024 bytes, depending on the
                tool.

        Returns:
            Bytes. The default reads "1k" as 1024.
        """
        return binary_bytes(size)

    def needs_watch(self, options: Mapping[str, Any], connections: int) -> bool:
        """Return True if the receiver's counters must be sampled to know the rate during the run.

        Args:
            options: The resolved options.
            connections: Number of clients that run at the same time, each with its own connection.

        Returns:
            True if the tool does not report the rate at which data arrives.
        """
        return False

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """Return the options of a TCP stream in the background of a transaction test.

        Args:
            options: The options of the transaction test.
            direction: "send" to the server, or "recv" from the server.
            seconds: Length of the stream.

        Returns:
            The options. None if the server takes only one client at a time, or if the test does
            not measure transactions.
        """
        return None

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """Return the limit that the options put on a client's rate.

        Args:
            options: The resolved options.

        Returns:
            The option and the limit in bit/s, summed over the client's streams. None if no option
            limits the rate.
        """
        return None
