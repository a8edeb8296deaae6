"""nttcp (1.47), which sends a count of buffers rather than for a time.

It prints one line an end, in a format of our choosing, told apart by its first character: `l`
local, `1` remote. In narrow formats that character runs into the bytes (`11638400000` is side 1),
so it is cut off first. The remote line is required: with its server's child dead nttcp exits 0
without one. Rates are taken over one window, the receiver's. nttcp knows IPv4 and, here, TCP only;
its server forks a child a run, listens on every address, and takes a data port from 5038 up. It
sets no SO_REUSEADDR: within a minute of the last connection to a port no other server can bind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from netlimits.errors import InputError, OutputError, ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress, Work
from netlimits.tools import _affinity, _options
from netlimits.tools._base import Features, SocketPace, Transfer
from netlimits.units.sizes import binary_bytes

FORMAT = "%20b%14.6rt%14.6ct%16.4rbr%14c"
"""Bytes, real seconds, CPU seconds, 10⁶ bit/s, calls: wide enough that no two run together."""

DEFAULT_SIZE = 4096
START_UP = 15.0
PATIENCE = 3
"""How many times as long as meant a run may take before it counts as hung."""


class Nttcp:
    """`measure: nttcp:`."""

    name = "nttcp"
    server_program = "nttcp"
    port = 5037
    server_lasts: Literal["campaign", "run"] = "campaign"
    reuses_port = False
    control_apart = False
    counts_all = True
    socket_pace: SocketPace | None = None
    schema: Mapping[str, Any] = _options.schema(
        name,
        "One TCP transfer from the first role (client) to the last (nttcp -i).",
        "count",
        count={
            "type": "integer",
            "minimum": 1,
            "maximum": 999999999,
            "description": "Buffers to send (-n). nttcp knows no duration: for S seconds at "
            "R bit/s take ceil(S * R / (8 * send_size)), with `derive`.",
        },
        send_size={
            "type": "integer",
            "minimum": 1,
            "maximum": 99999999,
            "default": DEFAULT_SIZE,
            "description": "Bytes per send (-l).",
        },
        seconds=_options.length(
            "How long `count` is expected to take, for the estimate of what is "
            f"left; after {PATIENCE} times as long a run counts as hung."
        ),
        window={
            "type": "integer",
            "minimum": 1,
            "maximum": 9999,
            "description": "The client's socket buffers in KiB (-w).",
        },
        nodelay=_options.switch("TCP_NODELAY (-D)"),
    )

    def probes(self) -> tuple[Command, ...]:
        """The version."""
        return (Command(("nttcp", "-V")),)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """The version. Raises ToolFailure when nttcp is not there."""
        (version,) = completed
        match = re.search(r"nttcp version (\d[\w.]*)", version.stdout)
        if not match:
            output = version.complaint
            raise ToolFailure(
                f"nttcp does not answer ({output or 'it printed nothing'}); no distribution has it "
                "any more: build version 1.47 from its source, or leave nttcp out"
            )
        return Features(match[1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError when it is not said how much to send."""
        _affinity.check(self.name, options)
        if "count" not in options:
            raise InputError(
                "measure.nttcp.count: nttcp knows no duration; say how many buffers to send: "
                "seconds * bit/s / (8 * send_size)"
            )

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """`nttcp -i`, which stays in the foreground and forks a child for each run."""
        argv = ("nttcp", "-i", "-p", str(ends.port))
        return Command(_affinity.bound(argv, options.get("server_cpus")))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """`nttcp -f … -l … -n …`, with a deadline."""
        argv: tuple[str, ...] = (
            *("nttcp", "-t", "-f", FORMAT, "-p", str(ends.port)),
            *("-l", str(_size(options)), "-n", str(options["count"])),
            *(("-w", str(options["window"])) if "window" in options else ()),
            *(("-D",) if options.get("nodelay") else ()),
            ends.address,
        )
        argv = _affinity.bound(argv, options.get("cpus"))
        return Command(argv, deadline=PATIENCE * self.seconds(options) + START_UP)

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """As its programs are."""
        return self.name, self.server_program

    def seconds(self, options: Mapping[str, Any]) -> float:
        """How long the count is expected to take."""
        return _options.run_seconds(options)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """One TCP stream to the server."""
        return Transfer()

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A thousand buffers at most."""
        return {"seconds": 1, "count": min(int(options.get("count", 1000)), 1000)}

    def bytes_of(self, size: int | str) -> int:
        """A number of bytes."""
        return binary_bytes(size)

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """The receiver tells."""
        return False

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """It knows no duration."""
        return None

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """It knows no rate."""
        return None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """The figures under their columns. Raises ToolFailure for a run that must not count."""
        _refuse_failure(completed)
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
            "local_send_throughput_mbps": local.count * 8 / 1e6 / elapsed,
            "remote_recv_throughput_mbps": remote.mbps,
            "nttcp_local_process_cpu_pct": 100 * local.cpu_s / local.real_s,
            "nttcp_remote_process_cpu_pct": 100 * remote.cpu_s / remote.real_s,
        }
        if local.calls is not None and remote.calls is not None:
            figures |= {"local_send_calls": local.calls, "remote_recv_calls": remote.calls}
        flow = Flow("local", float(local.count), float(remote.count))
        return Measurement(figures, work=Work(remote.count / 1024, (flow,)))


@dataclass(frozen=True, slots=True)
class _Line:
    """What one end counted: bytes, seconds, CPU seconds, 10⁶ bit/s, calls where asked for."""

    side: str
    count: int
    real_s: float
    cpu_s: float
    mbps: float
    calls: int | None


def _line(text: str) -> _Line | None:
    """An end's line, or None for any other; the first four figures are every format's."""
    number = r"[0-9]{1,18}(?:\.[0-9]{1,9})?"
    match = re.fullmatch(rf"([l1])\s*([0-9]{{1,18}})((?:\s+{number}){{3,7}})\s*", text, re.ASCII)
    if not match:
        return None
    real, cpu, rate, *rest = map(float, match[3].split())
    calls = int(rest[0]) if len(rest) == 1 else None
    return _Line(match[1], int(match[2]), real, cpu, rate, calls)


def _refuse_failure(completed: Completed) -> None:
    """Raise when nttcp did not end by itself with exit status 0."""
    if completed.timed_out:
        raise ToolFailure(
            f"nttcp had not ended after {completed.command.deadline:g} s and was killed: is the "
            "data link down, or `count` too large for `seconds`?",
            status="timeout",
        )
    if completed.truncated:
        raise OutputError("nttcp printed too much output to keep")
    if completed.status != 0:
        why = completed.complaint or "it printed nothing"
        raise ToolFailure(f"nttcp exited {completed.status}: {why}")


def _refuse_nonsense(local: _Line, remote: _Line, total: int) -> None:
    """Raise for lines that are no measurement of the transfer that was asked for."""
    if not (remote.count and remote.mbps and local.real_s and remote.real_s):
        raise ToolFailure(f"{remote.count} bytes arrived in {remote.real_s:g} s: no measurement")
    if local.count != total:
        raise ToolFailure(
            f"{local.count} of {total} bytes were sent: something stopped it", status="invalid"
        )
    if remote.count != local.count:
        raise ToolFailure(
            f"{remote.count} of {local.count} bytes arrived: something stopped it",
            status="invalid",
        )
    seconds = remote.count * 8 / 1e6 / remote.mbps
    if not math.isclose(seconds, remote.real_s, rel_tol=0.02, abs_tol=0.02):
        raise ToolFailure(
            f"nttcp's figures contradict each other: {remote.count} bytes at {remote.mbps:g} "
            f"Mbit/s in {remote.real_s:g} s"
        )


def _size(options: Mapping[str, Any]) -> int:
    return int(options.get("send_size", DEFAULT_SIZE))
