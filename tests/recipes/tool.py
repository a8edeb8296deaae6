"""toynet: a client that says how fast it was and what CPU it took."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool


class Toynet(Tool):
    """`measure: toynet:`."""

    name = "toynet"
    server_program = "toyserver"
    port = 4242
    server_lasts = "campaign"
    schema = _options.schema(
        name, "A test of toys.", seconds=_options.length("Length."), send_size=_options.SEND_SIZE
    )

    def probes(self) -> tuple[Command, ...]:
        return (Command(("toynet", "--version")),)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        return Features(completed[0].stdout.split()[-1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        return _commands.server(("toyserver", ends.address, str(ends.port)), options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        seconds = self.seconds(options)
        argv = ("toynet", ends.address, str(ends.port), f"{seconds:g}")
        return _commands.client(argv, options, seconds)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"seconds": 0.1}

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
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
        work = _output.stream_work([Flow("local", moved, moved)], datagrams=False)
        return Measurement(figures, work=work)
