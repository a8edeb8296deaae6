"""toynet: a client that says how fast it was and what CPU it took."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, ServerAddress, Work
from netlimits.tools import _options
from netlimits.tools._base import Features, SocketPace, Transfer
from netlimits.units.sizes import binary_bytes


class Toynet:
    """`measure: toynet:`."""

    name = "toynet"
    server_program = "toyserver"
    port = 4242
    server_lasts: Literal["campaign", "run"] = "campaign"
    reuses_port = True
    control_apart = False
    counts_all = True
    socket_pace: SocketPace | None = None
    schema: Mapping[str, Any] = _options.schema(
        name, "A test of toys.", seconds=_options.length("Length."), send_size=_options.SEND_SIZE
    )

    def probes(self) -> tuple[Command, ...]:
        """The version."""
        return (Command(("toynet", "--version")),)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """Any version does."""
        return Features(completed[0].stdout.split()[-1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Every build has everything."""

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """The server."""
        return Command(("toyserver", ends.address, str(ends.port)))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """The client."""
        return Command(("toynet", ends.address, str(ends.port), f"{self.seconds(options):g}"))

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """As its programs are."""
        return self.name, self.server_program

    def seconds(self, options: Mapping[str, Any]) -> float:
        """The length of a run."""
        return float(options.get("seconds", 10))

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """One TCP stream to the server."""
        return Transfer()

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A tenth of a second."""
        return {"seconds": 0.1}

    def bytes_of(self, size: int | str) -> int:
        """Powers of 1024."""
        return binary_bytes(size)

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """It tells."""
        return False

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """Its server takes one client at a time."""
        return None

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """It knows no rate."""
        return None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """Its rate, time and CPU."""
        match = re.fullmatch(r"toys: (\S+) Mbit/s (\S+) s (\S+) %\n", completed.stdout)
        if not match:
            raise ToolFailure("toynet printed no figures")
        rate, seconds, cpu = map(float, match.groups())
        moved = rate * 1e6 / 8 * seconds
        figures = {
            "throughput_mbps": rate,
            "elapsed_s": seconds,
            "toynet_local_process_cpu_pct": cpu,
        }
        return Measurement(figures, work=Work(moved / 1024, (Flow("local", moved, moved),)))
