"""iperf3 (3.12 and later), with a one-off server for each run; `results` reads its JSON.

An option that iperf3 would take silently and not act on, or not as meant, is refused before a run:
UDP without a rate (1 Mbit/s), a fraction of a second (it runs for ever), options of the other
protocol, and what the installed build lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, Measurement, ServerAddress
from netlimits.tools import _affinity, _options
from netlimits.tools._base import Features, SocketPace, Transfer
from netlimits.tools._clock import stamped
from netlimits.tools.iperf3.results import measurement
from netlimits.units.sizes import RATE, binary_bytes, decimal_bits

OLDEST = (3, 12)
START_UP = 15.0
"""Seconds that a run may take beyond its own before it counts as hung."""

CONNECT_MS = "5000"
"""Milliseconds for the control connection; the kernel's own patience is two minutes."""

_OPTIONAL = {
    "congestion": "TCP congestion algorithm setting",
    "zerocopy": "sendfile / zerocopy",
    "dont-fragment": "don't fragment",
    "threads": "POSIX threads",
}
"""Feature -> what `iperf3 --version` calls it; threads came with 3.16."""

_NEEDS = {
    "congestion_control": "congestion",
    "zerocopy": "zerocopy",
    "dont_fragment": "dont-fragment",
    "bidirectional": "bidirectional",
}
_ONLY_TCP = ("mss", "nodelay", "congestion_control", "zerocopy")

_FLAGS = {
    "send_size": "-l",
    "rate": "-b",
    "mss": "-M",
    "window": "-w",
    "parallel": "-P",
    "congestion_control": "-C",
    "omit": "-O",
}
_SWITCHES = {
    "reverse": "-R",
    "bidirectional": "--bidir",
    "nodelay": "-N",
    "zerocopy": "-Z",
    "dont_fragment": "--dont-fragment",
}


class Iperf3:
    """`measure: iperf3:`."""

    name = "iperf3"
    server_program = "iperf3"
    port = 5201
    server_lasts: Literal["campaign", "run"] = "run"
    reuses_port = True
    control_apart = False
    counts_all = False  # after omitted seconds it counts what had waited behind a hole in them
    socket_pace: SocketPace | None = None
    schema: Mapping[str, Any] = _options.schema(
        name,
        _options.ONE_OFF,
        seconds={
            "type": "integer",
            "minimum": 1,
            "maximum": 86400,
            "default": _options.SECONDS,
            "description": "Length of a run (-t): whole seconds, since 0.5 would run for ever.",
        },
        protocol=_options.PROTOCOL,
        send_size=_options.SEND_SIZE,
        rate={
            **RATE,
            "description": "bit/s of each stream (-b), K M G are 1000^n, 0 is unlimited. UDP "
            "needs it: iperf3's default is 1 Mbit/s.",
        },
        mss=_options.mss(9216),
        window=_options.WINDOW,
        parallel=_options.parallel(
            "Streams (-P); one thread serves all of them before iperf3 3.16."
        ),
        reverse=_options.switch("The server sends (-R)."),
        bidirectional=_options.switch(
            "Both ends send (--bidir); throughput is the sum of both ways."
        ),
        congestion_control={
            "type": "string",
            "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,14}$",
            "description": "On both ends (-C); read back from the sender.",
        },
        nodelay=_options.switch("TCP_NODELAY (-N)"),
        zerocopy=_options.switch("sendfile (-Z)"),
        dont_fragment=_options.switch("Set Don't Fragment on UDP over IPv4 (--dont-fragment)."),
        omit={
            "type": "integer",
            "minimum": 0,
            "maximum": 600,
            "default": 0,
            "description": "Seconds before the measured ones that do not count (-O).",
        },
        interim_seconds=_options.interim(60, "Keep interim results at this interval (-i)."),
    )

    def probes(self) -> tuple[Command, ...]:
        """The version with its optional features, and the options it knows."""
        return (Command(("iperf3", "--version")), Command(("iperf3", "--help")))

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """Version and features. Raises ToolFailure when iperf3 is not there or too old."""
        version, options = completed
        match = re.search(r"^iperf (\d+)\.(\d+)\S*", version.stdout, re.MULTILINE)
        if not match:
            output = version.complaint
            raise ToolFailure(
                f"iperf3 does not answer ({output or 'it printed nothing'}); install it "
                "(Debian and Ubuntu: iperf3)"
            )
        number = match[0].removeprefix("iperf ")
        if (int(match[1]), int(match[2])) < OLDEST:
            raise ToolFailure(
                f"iperf3 {number} is too old: before {'.'.join(map(str, OLDEST))} it does not tell "
                "what the receiver got of UDP; install a later one"
            )
        names = {name for name, text in _OPTIONAL.items() if text in version.stdout}
        flags = {"bidirectional": "--bidir", "json-stream": "--json-stream"}
        names |= {name for name, flag in flags.items() if flag in options.stdout + options.stderr}
        return Features(number, frozenset(names))

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError for options that contradict each other or that this build lacks."""
        _affinity.check(self.name, options)
        udp = options.get("protocol", "tcp") == "udp"
        if udp and "rate" not in options:
            raise _wrong("rate", "UDP needs one (iperf3's own is 1 Mbit/s); 0 is unlimited")
        for option in _ONLY_TCP if udp else ("dont_fragment",):
            if options.get(option):
                raise _wrong(option, f"it is for {'TCP' if udp else 'UDP'} only; leave it out")
        if udp and binary_bytes(options.get("send_size", 1)) > _options.LARGEST_DATAGRAM:
            most = f"a UDP datagram holds {_options.LARGEST_DATAGRAM} bytes at most"
            raise _wrong("send_size", most)
        if options.get("reverse") and options.get("bidirectional"):
            raise _wrong("reverse", "bidirectional sends both ways already; leave one of them out")
        for option, feature in _NEEDS.items():
            if option in options and options[option] is not False and feature not in features.names:
                raise _wrong(
                    option,
                    f"iperf3 {features.version} on this host was built without it ({feature}); "
                    "leave it out or install a build that has it",
                )

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """A server for one test, in the foreground, on the data address only."""
        argv = (
            *("iperf3", "-s", "-1", "-J", "-B", ends.address, "-p", str(ends.port)),
            *("-i", f"{_server_interval(options):g}"),
        )
        return Command(_affinity.bound(argv, options.get("server_cpus")))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """`iperf3 -c … -J`, with a deadline beyond its length."""
        argv: tuple[str, ...] = (
            *("iperf3", "-c", ends.address, "-p", str(ends.port), "-J"),
            *("--connect-timeout", CONNECT_MS, "-t", str(options.get("seconds", _options.SECONDS))),
            *("-i", f"{options.get('interim_seconds', 1):g}"),
            *(("-u",) if options.get("protocol") == "udp" else ()),
            *(
                word
                for o, flag in _FLAGS.items()
                if o in options
                for word in (flag, str(options[o]))
            ),
            *(flag for o, flag in _SWITCHES.items() if options.get(o)),
            # only the server knows what arrived of interim results and omitted seconds, and when
            # it sends the windows that tell its MSS
            "--get-server-output",
        )
        argv = _affinity.bound(argv, options.get("cpus"))
        deadline = self.seconds(options) + START_UP
        return Command(stamped(argv) if "interim_seconds" in options else argv, deadline=deadline)

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """As its programs are."""
        return self.name, self.server_program

    def seconds(self, options: Mapping[str, Any]) -> float:
        """The length of a run and the seconds omitted before it."""
        return _options.run_seconds(options) + float(options.get("omit", 0))

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """By `protocol`, `reverse` and `send_size`."""
        return _options.transfer(options)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A second; 5 Mbit/s of datagrams."""
        return {"seconds": 1, "rate": "5M"} if options.get("protocol") == "udp" else {"seconds": 1}

    def bytes_of(self, size: int | str) -> int:
        """Powers of 1024, whatever the case."""
        return binary_bytes(size)

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """After omitted seconds its figure holds what had waited behind a hole in them."""
        return bool(options.get("omit"))

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """Its server takes one client at a time."""
        return None

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """The rate of each stream, times the streams."""
        rate = decimal_bits(options.get("rate", 0)) * int(options.get("parallel", 1))
        return ("rate", rate) if rate > 0 else None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """The figures under their columns. Raises ToolFailure for a run that must not count."""
        return measurement(completed, options, self.seconds(options))


def _server_interval(options: Mapping[str, Any]) -> float:
    """Seconds between the server's interim results, of what arrived there.

    Of the omitted time one of them may be lost: that is a twentieth of it at most, where iperf3
    can have so many.
    """
    interval = float(options.get("interim_seconds", 1))
    omit = float(options.get("omit", 0))
    return min(interval, max(0.1, omit / 20)) if omit else interval


def _wrong(option: str, problem: str) -> InputError:
    return InputError(f"measure.iperf3.{option}: {problem}")
