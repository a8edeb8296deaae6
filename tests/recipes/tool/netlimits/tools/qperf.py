"""qperf (0.4) measures the bandwidth between two hosts; its server serves all tests.

With `-uu` every number is an integer in bytes or nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.errors import OutputError
from netlimits.model import Command, Completed, Flow, Measurement, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool

_LINE = re.compile(r"^ +([a-z_]+) += +([0-9]{1,18}) (ns|bytes)$", re.MULTILINE)


class Qperf(Tool):
    name = "qperf"
    server_program = "qperf"
    port = 19765
    server_lasts = "campaign"
    separate_control = True
    schema = _options.schema(
        name,
        "One stream from the first role (client) to the last (server).",
        protocol={**_options.PROTOCOL, "description": "The test: tcp_bw or udp_bw."},
        seconds=_options.length("Length of a run (-t)."),
        send_size=_options.integer(1, 2**20, "Bytes per send (-m)."),
    )

    def probes(self) -> tuple[Command, ...]:
        return (Command(("qperf", "--version")),)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        (version,) = completed
        match = re.match(r"qperf ([0-9.]+)\n", version.stdout)
        if not match:
            raise _output.absent("qperf", version, "install the package qperf")
        return Features(match[1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        return _commands.server(("qperf", "-lp", str(ends.port)), options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        seconds = self.seconds(options)
        argv = (
            *("qperf", "-vv", "-uu", "-lp", str(ends.port), "-t", f"{seconds:g}"),
            *_commands.flags(options, {"send_size": "-m"}),
            *(ends.address, f"{options.get('protocol', 'tcp')}_bw"),
        )
        return _commands.client(argv, options, seconds)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"seconds": 1}

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        _output.check_ended(completed, "qperf", self.seconds(options))
        reason = completed.complaint or completed.stdout.strip().splitlines()[-1:]
        _output.check_status(completed, "qperf", "".join(reason))
        shown = {name: int(number) for name, number, _ in _LINE.findall(completed.stdout)}
        wanted = ("send_bytes", "send_real_time", "recv_bytes", "recv_real_time")
        if missing := [name for name in wanted if name not in shown]:
            raise OutputError(f"qperf printed no {missing[0]}")
        sent, sending, arrived, receiving = (shown[name] for name in wanted)
        if not (sent and sending and arrived and receiving):
            raise _output.no_data(f"{sent} bytes were sent and {arrived} arrived")
        _output.check_length(receiving / 1e9, self.seconds(options))
        figures = {
            "throughput_mbps": arrived * 8e3 / receiving,
            "elapsed_s": receiving / 1e9,
            "local_send_throughput_mbps": sent * 8e3 / sending,
            "remote_recv_throughput_mbps": arrived * 8e3 / receiving,
        }
        work = _output.stream_work(
            [Flow("local", float(sent), float(arrived))],
            datagrams=options.get("protocol") == "udp",
        )
        return Measurement(figures, work=work)
