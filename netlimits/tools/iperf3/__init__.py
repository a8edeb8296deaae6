"""iperf3 (3.12 and later), with a one-off server for each run; `results` parses its JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Measurement, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool, run_seconds
from netlimits.tools._workloads import Measuring
from netlimits.tools.iperf3.results import measurement
from netlimits.units.sizes import RATE, decimal_bits

OLDEST = (3, 12)

CONNECT_MS = "5000"
"""Timeout of the control connection in ms, since the kernel's own timeout is two minutes."""

_OPTIONAL = {
    "congestion": "TCP congestion algorithm setting",
    "zerocopy": "sendfile / zerocopy",
    "dont-fragment": "don't fragment",
    "threads": "POSIX threads",
}
"""Feature -> its name in the output of `iperf3 --version`; 3.16 introduced threads."""

_IN_USAGE = {
    option: f"--{option.replace('_', '-')}"
    for option in ("dscp", "fq_rate", "mptcp", "skip_rx_copy", "gsro", "cntl_ka")
}
"""Option -> its flag and feature name; the usage text lists the flag if the feature is built in."""

_NEEDS = {
    "congestion_control": "congestion",
    "zerocopy": "zerocopy",
    "dont_fragment": "dont-fragment",
    "bidirectional": "bidirectional",
    **_IN_USAGE,
}

_ONLY_TCP = ("mss", "nodelay", "congestion_control", "zerocopy", "mptcp")

_FLAGS = {
    "send_size": "-l",
    "rate": "-b",
    "mss": "-M",
    "window": "-w",
    "parallel": "-P",
    "congestion_control": "-C",
    "omit": "-O",
    "fq_rate": _IN_USAGE["fq_rate"],
    "dscp": _IN_USAGE["dscp"],
}
_SWITCHES = {
    "reverse": "-R",
    "bidirectional": "--bidir",
    "nodelay": "-N",
    "zerocopy": "-Z",
    "dont_fragment": "--dont-fragment",
    **{option: _IN_USAGE[option] for option in ("mptcp", "skip_rx_copy", "gsro", "cntl_ka")},
}


class Iperf3(Tool):
    name = "iperf3"
    server_program = "iperf3"
    port = 5201
    colour = "purple"
    measuring = Measuring(
        ("protocol", "parallel", "send_size", "rate"),
        {
            "tcp": ("tcp", 1, None, None),
            "tcp-4": ("tcp", 4, None, None),
            "udp": ("udp", 1, 1472, 0),
        },
        {name: f"${{{name}}}" for name in ("protocol", "parallel", "send_size", "rate")},
        {},
    )
    counts_all = False  # after omitted seconds, the rate includes data delayed by a lost segment
    schema = _options.schema(
        name,
        _options.ONE_OFF,
        seconds=_options.whole_seconds("Length of a run in whole seconds (-t)."),
        protocol=_options.PROTOCOL,
        send_size=_options.SEND_SIZE,
        rate={
            **RATE,
            "description": "bit/s of each stream (-b); K M G are 1000^n, 0 is unlimited. Required "
            "for UDP, where iperf3's default is 1 Mbit/s.",
        },
        mss=_options.mss(9216),
        window=_options.WINDOW,
        parallel=_options.parallel(
            "Number of streams (-P). Before iperf3 3.16 one thread serves all of them."
        ),
        reverse=_options.switch("The server sends (-R)."),
        bidirectional=_options.switch(
            "Both ends send (--bidir); throughput is the sum of both directions."
        ),
        congestion_control=_options.congestion_control(
            "Congestion control of both ends (-C); read back from the sender."
        ),
        nodelay=_options.switch("Set TCP_NODELAY (-N)."),
        zerocopy=_options.switch("Send with sendfile (-Z)."),
        dont_fragment=_options.switch("Set Don't Fragment on UDP over IPv4 (--dont-fragment)."),
        dscp=_options.dscp("DSCP of both ends' packets (--dscp); read back."),
        fq_rate={
            **RATE,
            "description": "Pace each socket to this rate of frames, bit/s (--fq-rate); UDP needs "
            "the qdisc fq. A faster run is invalid.",
        },
        mptcp=_options.switch("MPTCP (--mptcp); a run that fell back to TCP is invalid."),
        skip_rx_copy=_options.switch(
            "The receiver discards data without copying it (--skip-rx-copy)."
        ),
        gsro=_options.switch("UDP segmentation offload (GSO) and GRO on both sockets (--gsro)."),
        cntl_ka=_options.switch("TCP keepalive on the control connection (--cntl-ka)."),
        omit=_options.integer(
            0, 600, "Seconds at the beginning that do not count (-O).", default=0
        ),
        interim_seconds=_options.interim(60, "Keep interim results at this interval (-i)."),
    )

    def probes(self) -> tuple[Command, ...]:
        return (Command(("iperf3", "--version")), Command(("iperf3", "--help")))

    def features(self, completed: tuple[Completed, ...]) -> Features:
        version, usage = completed
        match = re.search(r"^iperf (\d+)\.(\d+)\S*", version.stdout, re.MULTILINE)
        if not match:
            raise _output.absent("iperf3", version, "install it (Debian and Ubuntu: iperf3)")
        number = match[0].removeprefix("iperf ")
        if (int(match[1]), int(match[2])) < OLDEST:
            raise ToolFailure(
                f"iperf3 {number} is too old: before {'.'.join(map(str, OLDEST))} it does not "
                "report what arrived over UDP; install a later version"
            )
        names = {name for name, text in _OPTIONAL.items() if text in version.stdout}
        flags = {"bidirectional": "--bidir", "json-stream": "--json-stream"}
        flags |= {flag: flag for flag in _IN_USAGE.values()}
        names |= {name for name, flag in flags.items() if flag in usage.stdout + usage.stderr}
        return Features(number, frozenset(names))

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)
        _options.check_transport(self.name, options, tcp=_ONLY_TCP, udp=("dont_fragment", "gsro"))
        if options.get("reverse") and options.get("bidirectional"):
            problem = "bidirectional sends both ways already; leave one of them out"
            raise _options.wrong(self.name, "reverse", problem)
        for option, feature in _NEEDS.items():
            if option in options and options[option] is not False:
                _options.check_feature(self.name, option, feature, features)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        argv = (
            *("iperf3", "-s", "-1", "-J", "-B", ends.address, "-p", str(ends.port)),
            *("-i", f"{_server_interval(options):g}"),
            *(("--mptcp",) if options.get("mptcp") else ()),
        )
        return _commands.server(argv, options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        argv = (
            *("iperf3", "-c", ends.address, "-p", str(ends.port), "-J"),
            *("--connect-timeout", CONNECT_MS, "-t", f"{run_seconds(options):g}"),
            *("-i", f"{options.get('interim_seconds', 1):g}"),
            *(("-u",) if options.get("protocol") == "udp" else ()),
            *_commands.flags(options, _FLAGS),
            *(flag for option, flag in _SWITCHES.items() if options.get(option)),
            # Only the server's output has the receiver's interim results, also of omitted seconds.
            # If the server sends, only its output has the congestion windows, which show the MSS.
            "--get-server-output",
        )
        return _commands.client(argv, options, self.seconds(options))

    def seconds(self, options: Mapping[str, Any]) -> float:
        return super().seconds(options) + float(options.get("omit", 0))

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"seconds": 1, "rate": "5M"} if options.get("protocol") == "udp" else {"seconds": 1}

    def needs_watch(self, options: Mapping[str, Any], connections: int) -> bool:
        # after omitted seconds, the rate includes data that was delayed by a lost segment
        return bool(options.get("omit"))

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        rate = decimal_bits(options.get("rate", 0)) * int(options.get("parallel", 1))
        if rate > 0:
            return "rate", rate
        paced = decimal_bits(options.get("fq_rate", 0)) * int(options.get("parallel", 1))
        return ("fq_rate", paced) if paced > 0 else None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        return measurement(completed, options, self.seconds(options))


def _server_interval(options: Mapping[str, Any]) -> float:
    """Return the seconds between the server's interim results.

    The intervals are short if seconds are omitted, since 3.12 loses the last omitted interval.
    """
    interval = float(options.get("interim_seconds", 1))
    omit = float(options.get("omit", 0))
    return min(interval, max(0.1, omit / 20)) if omit else interval
