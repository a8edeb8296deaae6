"""netperf, through its omni output: `-k` (KEY=value), every key asked for checked to be there.

netperf keeps silent about much that goes wrong: an unknown selector is dropped with exit 0, a
black-holed data connection measures 0.00 with exit 0, an impossible CPU binding or congestion
control is ignored. So the command asks for the keys that tell (`GUARDS`), and `results` turns each
of these into a failed run with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from netlimits.errors import InputError, ToolFailure, nearest, one_line
from netlimits.metrics.hints import alternatives
from netlimits.model import Command, Completed, Measurement, ServerAddress
from netlimits.tools._base import Features, SocketPace, Transfer
from netlimits.tools._options import run_seconds
from netlimits.tools.netperf.options import (
    EVERY_FEATURE,
    GLOBAL,
    SCHEMA,
    SPECIFIC,
    is_rr,
    sends,
)
from netlimits.tools.netperf.results import measurement
from netlimits.units.sizes import netperf_bytes

_COST = (
    "local_cpu_util",
    "local_cpu_peak_util",
    "local_sd",
    "remote_cpu_util",
    "remote_cpu_peak_util",
    "remote_sd",
    "transport_mss",
)
DEFAULT_SELECT = (
    "throughput",
    "local_send_throughput",
    "remote_recv_throughput",
    "local_send_calls",
    "remote_recv_calls",
    *_COST,
)
RECV_SELECT = (
    "throughput",
    "local_recv_throughput",
    "remote_send_throughput",
    "local_recv_calls",
    "remote_send_calls",
    *_COST,
)
RR_SELECT = (
    "throughput",
    "min_latency",
    "mean_latency",
    "p50_latency",
    "p90_latency",
    "p99_latency",
    "max_latency",
    "stddev_latency",
    *_COST,
)
REPEATED = frozenset(("confidence", "iterations"))
"""Options with each of which netperf measures more than once and tells the mean."""

GUARDS = ("THROUGHPUT", "THROUGHPUT_UNITS", "SD_UNITS", "ELAPSED_TIME", "PROTOCOL")
"""Keys that every run asks for, since without them a run cannot be believed."""

_OF_CPU = re.compile(r"CPU|_SD$")
_UNTIMED = re.compile(r"REMOTE_(CPU_(UTIL|PEAK_UTIL|PERCENT_.+)|SD)")
"""Figures that are false in a TCP_CRR (up to 500 %), whose server waits longer than the test."""

START_UP = 15.0
"""Seconds that a run may take beyond its own before it counts as hung."""


class Netperf:
    """`measure: netperf:`."""

    name = "netperf"
    server_program = "netserver"
    port = 12865
    server_lasts: Literal["campaign", "run"] = "campaign"
    reuses_port = True
    control_apart = True
    counts_all = True
    socket_pace: SocketPace | None = SocketPace(
        "pacing",
        "-q",
        most=2**31 - 1,  # it is read with atoi
        feature="pacing",
    )
    schema = SCHEMA

    def probes(self) -> tuple[Command, ...]:
        """The version, the selectors, and (by asking for them) the features built in."""
        return (
            Command(("netperf", "-V")),
            Command(("netperf", "-t", "omni", "--", "-k", "?")),
            Command(("netperf", *EVERY_FEATURE, "-k", "?")),
        )

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """Version, selectors and features. Raises ToolFailure when netperf is not there."""
        version, selectors, features = completed
        match = re.search(r"Netperf version (\S+)", version.stdout)
        listed = frozenset(re.findall(r"[A-Z][A-Z0-9_]+", selectors.stdout))
        if not match or "THROUGHPUT" not in listed:
            complaint = version.complaint or selectors.complaint
            raise ToolFailure(
                f"netperf does not answer ({one_line(complaint) or 'it printed nothing'}); "
                "install it (Debian: netperf in non-free; Ubuntu: in multiverse)"
            )
        output = features.stdout + features.stderr
        missing = {
            "burst": "burst functionality not compiled",  # the test's -b; the global one paces
            "intervals": "Packet rate control is not compiled in",
            "demo": "Demo Mode not configured",
            "pacing": "invalid option -- 'q'",
        }
        return Features(
            version=match[1],
            names=frozenset(name for name, complaint in missing.items() if complaint not in output),
            vocabulary=listed - {"OUTPUT_NONE", "OUTPUT_END"},
        )

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError for a selector or feature that this build does not have."""
        for selector in options.get("select", ()):
            if selector.upper() not in features.vocabulary:
                alike = (
                    name for name in alternatives(selector) if name.upper() in features.vocabulary
                )
                near = nearest(selector.upper(), features.vocabulary) or next(alike, "")
                hint = f"; did you mean {near.lower()}?" if near else ""
                raise InputError(
                    f"measure.netperf.select: netperf {features.version} has no selector "
                    f"{selector!r}{hint}"
                )
            if options.get("test") == "TCP_CRR" and _UNTIMED.fullmatch(selector.upper()):
                raise InputError(
                    f"measure.netperf.select: {selector}: netserver counts its CPU over 4 s more "
                    "than a TCP_CRR takes; leave it out: netlimits measures remote_cpu_pct itself"
                )
        if "result_brand" not in options and "result_brand" in map(
            str.lower, options.get("select", ())
        ):
            raise InputError(
                "measure.netperf.select: netperf prints result_brand only where `result_brand:` "
                "says what it is; add that, or leave it out"
            )
        needs = {"interim_seconds": "demo", "burst": "burst", "pacing": "pacing"}
        for option, feature in needs.items():
            if option in options and feature not in features.names:
                raise InputError(
                    f"measure.netperf.{option}: netperf {features.version} on this host was built "
                    f"without it ({feature}); leave it out or install a build that has it"
                )

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """`netserver` in the foreground, on the data address only."""
        listening = f"{ends.address},{_family(ends.address)}"
        return Command(("netserver", "-D", "-L", listening, "-p", str(ends.port)))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """`netperf … -- … -k SELECTORS`, with a deadline beyond its length."""
        argv = [
            *("netperf", "-P", "0", "-H", f"{ends.address},{_family(ends.address)}"),
            *("-p", str(ends.port), "-t", options.get("test", "omni")),
            *("-l", f"{run_seconds(options):g}"),
            *_flags(options, GLOBAL),
            # the count of CPUs, by which a binding is checked, comes only with -c -C
            *(("-c", "-C") if options.get("cpu", True) or "cpu_bind" in options else ()),
            # said again, or netserver waits for the data connection on every address of its host
            *("--", "-H", f"{ends.address},{_family(ends.address)}"),
            *_specific(options),
            *("-k", ",".join(self._keys(options))),
        ]
        return Command(tuple(argv), deadline=self.seconds(options) + START_UP)

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """As its programs are."""
        return self.name, self.server_program

    def seconds(self, options: Mapping[str, Any]) -> float:
        """The length of a run, times the most iterations that it may take."""
        most = int(str(options.get("iterations", "10,3")).split(",")[0])
        return run_seconds(options) * (most if REPEATED & options.keys() else 1)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """By the test's name, or by omni's protocol and direction."""
        test, direction = str(options.get("test", "")), options.get("direction")
        back = direction == "recv" or test == "TCP_MAERTS"
        both = direction == "rr" or test.endswith("RR")
        receiver: Literal["local", "remote"] | None = "local" if back else "remote"
        if not _of_datagrams(options):
            return Transfer(receiver=None if both else receiver)
        names = ("request_size", "response_size") if both else ("send_size",)
        sizes = [str(options[name]) for name in names if name in options]
        datagram = max((0 if "," in size else netperf_bytes(size) for size in sizes), default=0)
        return Transfer("udp", None if both else receiver, datagram)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A count of bytes, which are sent in milliseconds; a second of datagrams.

        The count of the server's CPUs tells a netserver of another version.
        """
        seconds = 1 if _of_datagrams(options) else -100_000
        return {"seconds": seconds, "select": ["remote_cpu_count"]}

    def bytes_of(self, size: int | str) -> int:
        """Powers of 1024, those of a small letter of 1000."""
        return netperf_bytes(size)

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """It tells at the end alone, of one connection; of datagrams over the sender's time."""
        return connections > 1 or "interim_seconds" in options or _of_datagrams(options)

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """TCP_STREAM, or TCP_MAERTS to receive, without a count of CPU, beside transactions."""
        if not is_rr(options):
            return None
        test = "TCP_STREAM" if direction == "send" else "TCP_MAERTS"
        return {"test": test, "seconds": seconds, "cpu": False}

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """What the socket paces, frames and all."""
        return ("pacing", options["pacing"] * 8.0) if "pacing" in options else None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """The figures under their columns. Raises ToolFailure for a run that must not count."""
        return measurement(
            completed,
            options,
            self._keys(options),
            length=run_seconds(options),
            longest=self.seconds(options),
        )

    def _keys(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys to ask for, each once: what was selected, and what tells whether it is true."""
        usual: tuple[str, ...] = DEFAULT_SELECT if sends(options) else RECV_SELECT
        if is_rr(options):
            usual = RR_SELECT
        selected = [s.upper() for s in options.get("select", usual)]
        if "select" not in options:
            if not options.get("cpu", True):
                selected = [s for s in selected if not _OF_CPU.search(s)]
            elif options.get("test") == "TCP_CRR":
                selected = [s for s in selected if not _UNTIMED.fullmatch(s)]
        guards = [*GUARDS]
        if not is_rr(options) and sends(options):
            guards += ["LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS", "LOCAL_SEND_THROUGHPUT"]
        elif not is_rr(options):
            guards += ["LOCAL_RECV_CALLS", "REMOTE_SEND_CALLS", "REMOTE_SEND_THROUGHPUT"]
        if "mss" in options:
            guards.append("TRANSPORT_MSS")
        if "cpu_bind" in options:
            guards += ["LOCAL_CPU_BIND", "REMOTE_CPU_BIND", "LOCAL_CPU_COUNT", "REMOTE_CPU_COUNT"]
        if "congestion_control" in options:
            guards += ["LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL"]
        if "burst" in options:
            guards.append("BURST_SIZE")
        if "result_brand" in options:
            guards.append("RESULT_BRAND")
        if "confidence" in options:
            guards += ["THROUGHPUT_CONFID", "CONFIDENCE_INTERVAL"]
        if REPEATED & options.keys():
            guards.append("CONFIDENCE_ITERATION")
        return tuple(dict.fromkeys([*selected, *guards]))


def _flags(options: Mapping[str, Any], table: Mapping[str, str]) -> Iterator[str]:
    for option, flag in table.items():
        if option in options:
            yield flag
            yield str(options[option])


def _specific(options: Mapping[str, Any]) -> Iterator[str]:
    """The test-specific options, behind `--`."""
    if options.get("test", "omni") == "omni":
        yield from ("-T", options.get("protocol", "tcp"), "-d", options.get("direction", "send"))
    yield from _flags(options, SPECIFIC)
    if "request_size" in options or "response_size" in options:
        yield from ("-r", f"{options.get('request_size', 1)},{options.get('response_size', 1)}")
    if "data_port" in options:
        yield from ("-P", f",{options['data_port']}")
    if options.get("nodelay"):
        yield "-D"
    if options.get("route", True):
        yield from ("-R", "1")


def _family(address: str) -> str:
    return "6" if ":" in address else "4"


def _of_datagrams(options: Mapping[str, Any]) -> bool:
    protocol = str(options.get("protocol", ""))
    return str(options.get("test", "")).startswith("UDP") or "udp" in protocol.lower()
