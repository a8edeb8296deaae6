"""nttcp (1.47) sends a number of buffers over TCP and IPv4; it has no option for a duration.

Each line of figures begins with `l` (local end) or `1` (remote end); the blank after it may be
missing. If the server's child dies, nttcp exits 0 without a remote line, so this line is required.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netlimits.errors import OutputError, ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool, Transfer

FORMAT = "%20b%14.6rt%14.6ct%16.4rbr%14c"
"""Columns: bytes, real seconds, CPU seconds, 10⁶ bit/s, calls. Widths keep them separate."""

DEFAULT_SIZE = 4096
PATIENCE = 3
"""A run is killed after this many times its expected length, plus START_UP seconds."""


class Nttcp(Tool):
    name = "nttcp"
    server_program = "nttcp"
    port = 5037
    colour = "green"
    server_lasts = "campaign"
    reuses_port = False
    schema = _options.schema(
        name,
        "One TCP transfer from the first role (client) to the last (nttcp -i).",
        "count",
        count=_options.integer(
            1,
            999999999,
            "Number of buffers to send (-n). nttcp has no option for a duration: for S seconds at "
            "R bit/s compute ceil(S * R / (8 * send_size)) with `derive`.",
        ),
        send_size=_options.integer(1, 99999999, "Bytes per send (-l).", default=DEFAULT_SIZE),
        seconds=_options.length(
            "Expected length of a run, for the estimate of the remaining time. "
            f"After {PATIENCE} times as long the run is killed."
        ),
        window=_options.integer(1, 9999, "The client's socket buffers in KiB (-w)."),
        nodelay=_options.switch("Set TCP_NODELAY (-D)."),
    )

    def probes(self) -> tuple[Command, ...]:
        return (Command(("nttcp", "-V")),)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        (version,) = completed
        match = re.search(r"nttcp version (\d[\w.]*)", version.stdout)
        if not match:
            advice = (
                "no distribution has it any more: build version 1.47 from its source, or leave "
                "nttcp out"
            )
            raise _output.absent("nttcp", version, advice)
        return Features(match[1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)
        if "count" not in options:
            problem = (
                "nttcp has no option for a duration; give the number of buffers to send: "
                "seconds * bit/s / (8 * send_size)"
            )
            raise _options.wrong(self.name, "count", problem)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        return _commands.server(("nttcp", "-i", "-p", str(ends.port)), options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        argv = (
            *("nttcp", "-t", "-f", FORMAT, "-p", str(ends.port)),
            *("-l", str(_size(options)), "-n", str(options["count"])),
            *_commands.flags(options, {"window": "-w"}),
            *(("-D",) if options.get("nodelay") else ()),
            ends.address,
        )
        return _commands.client(argv, options, PATIENCE * self.seconds(options))

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        return Transfer()

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"seconds": 1, "count": min(int(options.get("count", 1000)), 1000)}

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        cause = "is the data link down, or `count` too large for `seconds`?"
        _output.check_ended(completed, "nttcp", self.seconds(options), cause)
        _output.check_status(completed, "nttcp", completed.complaint)
        sides = {line.side: line for line in map(_line, completed.stdout.splitlines()) if line}
        for side, name in (("l", "the client"), ("1", "the server")):
            if side not in sides:
                output = completed.complaint
                raise OutputError(
                    f"nttcp printed no line of {name}: did it die? It said: {output or 'nothing'}"
                )
        local, remote = sides["l"], sides["1"]
        _refuse_nonsense(local, remote, _size(options) * int(options["count"]))
        elapsed = remote.count * 8 / 1e6 / remote.mbps
        figures: dict[str, Scalar] = {
            "throughput_mbps": remote.mbps,
            "elapsed_s": elapsed,
            "local_send_throughput_mbps": local.mbps,
            "remote_recv_throughput_mbps": remote.mbps,
            "nttcp_local_process_cpu_pct": 100 * local.cpu_s / local.real_s,
            "nttcp_remote_process_cpu_pct": 100 * remote.cpu_s / remote.real_s,
        }
        if local.calls is not None and remote.calls is not None:
            figures |= {"local_send_calls": local.calls, "remote_recv_calls": remote.calls}
        flow = Flow("local", float(local.count), float(remote.count))
        return Measurement(figures, work=_output.stream_work([flow], datagrams=False))


@dataclass(frozen=True, slots=True)
class _Line:
    """The figures of one end; `count` is in bytes, and `calls` is None if there is no column."""

    side: str
    count: int
    real_s: float
    cpu_s: float
    mbps: float
    calls: int | None


def _line(text: str) -> _Line | None:
    """Parse the line of one end, or return None for any other line.

    In every format, the first four figures are bytes, real seconds, CPU seconds and rate.
    """
    number = r"[0-9]{1,18}(?:\.[0-9]{1,9})?"
    match = re.fullmatch(rf"([l1])\s*([0-9]{{1,18}})((?:\s+{number}){{3,7}})\s*", text, re.ASCII)
    if not match:
        return None
    real, cpu, rate, *rest = map(float, match[3].split())
    calls = int(rest[0]) if len(rest) == 1 else None
    return _Line(match[1], int(match[2]), real, cpu, rate, calls)


def _refuse_nonsense(local: _Line, remote: _Line, total: int) -> None:
    if not (remote.count and remote.mbps and local.mbps and local.real_s and remote.real_s):
        raise ToolFailure(f"{remote.count} bytes arrived in {remote.real_s:g} s: no measurement")
    if local.count != total:
        raise _output.invalid(f"{local.count} of {total} bytes were sent: something stopped it")
    if remote.count != local.count:
        raise _output.invalid(
            f"{remote.count} of {local.count} bytes arrived: something stopped it"
        )
    for end in (local, remote):
        seconds = end.count * 8 / 1e6 / end.mbps
        if not math.isclose(seconds, end.real_s, rel_tol=0.02, abs_tol=0.02):
            raise ToolFailure(
                f"nttcp's figures contradict each other: {end.count} bytes at {end.mbps:g} Mbit/s "
                f"in {end.real_s:g} s"
            )


def _size(options: Mapping[str, Any]) -> int:
    return int(options.get("send_size", DEFAULT_SIZE))
