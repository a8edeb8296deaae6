"""netperf with omni output (`-k`: KEY=value lines); every requested key must be present.

netperf hides many errors. It exits 0 if it drops an unknown selector, or if a firewall blocks the
data connection, which it reports as 0.00. It also ignores an impossible CPU binding or congestion
control. So the command also requests keys that reveal these errors (`GUARDS`, `_OF_OPTIONS`), and
`results` turns each error into a failed run with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from netlimits.errors import InputError, nearest
from netlimits.metrics.hints import alternatives
from netlimits.model import Command, Completed, Measurement, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, SocketPace, Tool, Transfer, run_seconds
from netlimits.tools._workloads import Measuring
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
_LATENCIES = tuple(
    f"{part}_latency" for part in ["min", "mean", "p50", "p90", "p99", "max", "stddev"]
)
REPEATED = frozenset(("confidence", "iterations"))
"""Options with which netperf measures several times and reports the mean."""

GUARDS = ("THROUGHPUT", "THROUGHPUT_UNITS", "SD_UNITS", "ELAPSED_TIME", "PROTOCOL")
"""Keys that every run requests in order to verify its result."""

_OF_OPTIONS = {
    "mss": ("TRANSPORT_MSS",),
    "cpu_bind": ("LOCAL_CPU_BIND", "REMOTE_CPU_BIND", "LOCAL_CPU_COUNT", "REMOTE_CPU_COUNT"),
    "congestion_control": ("LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL"),
    "dscp": ("LOCAL_SOCKET_TOS", "REMOTE_SOCKET_TOS"),
    "burst": ("BURST_SIZE",),
    "result_brand": ("RESULT_BRAND",),
    "confidence": ("THROUGHPUT_CONFID", "CONFIDENCE_INTERVAL"),
}
"""Option -> the keys that show the value in use."""

_OF_CPU = re.compile(r"CPU|_SD$")
_UNTIMED = re.compile(r"REMOTE_(CPU_(UTIL|PEAK_UTIL|PERCENT_.+)|SD)")
"""Figures that are up to 500 % wrong for TCP_CRR, since netserver measures longer than the test."""


class Netperf(Tool):
    name = "netperf"
    server_program = "netserver"
    port = 12865
    colour = "blue"
    measuring = Measuring(
        ("test", "streams", "send_size"),
        {
            "tcp": ("TCP_STREAM", 1, None),
            "tcp-4": ("TCP_STREAM", 4, None),
            "udp": ("UDP_STREAM", 1, 1472),
            "rr": ("TCP_RR", 1, None),
        },
        {"test": "${test}", "send_size": "${send_size}", "interim_seconds": 0.25},
        {"streams": "${streams}"},
    )
    server_lasts = "campaign"
    separate_control = True
    # netperf parses the value with atoi, which overflows beyond `most`
    socket_pace = SocketPace("pacing", "-q", most=2**31 - 1, feature="pacing")
    schema = SCHEMA

    def probes(self) -> tuple[Command, ...]:
        return (
            Command(("netperf", "-V")),
            Command(("netperf", "-t", "omni", "--", "-k", "?")),
            Command(("netperf", *EVERY_FEATURE, "-k", "?")),
        )

    def features(self, completed: tuple[Completed, ...]) -> Features:
        version, selectors, features = completed
        match = re.search(r"Netperf version (\S+)", version.stdout)
        listed = frozenset(re.findall(r"[A-Z][A-Z0-9_]+", selectors.stdout))
        if not match or "THROUGHPUT" not in listed:
            advice = "install it (Debian: netperf in non-free; Ubuntu: in multiverse)"
            raise _output.absent("netperf", version if version.complaint else selectors, advice)
        output = features.stdout + features.stderr
        missing = {
            "burst": "burst functionality not compiled",  # -b after `--`; the global -b paces
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
        for selector in options.get("select", ()):
            if selector.upper() not in features.vocabulary:
                raise _unknown(selector, features)
            if options.get("test") == "TCP_CRR" and _UNTIMED.fullmatch(selector.upper()):
                raise _options.wrong(
                    self.name,
                    "select",
                    f"{selector}: netserver counts its CPU over 4 s more than a TCP_CRR takes; "
                    "leave it out: netlimits measures remote_cpu_pct itself",
                )
        selected = [selector.lower() for selector in options.get("select", ())]
        if "result_brand" in selected and "result_brand" not in options:
            raise _options.wrong(
                self.name,
                "select",
                "netperf prints result_brand only if the option `result_brand:` is set; set it, "
                "or leave the selector out",
            )
        needs = {"interim_seconds": "demo", "burst": "burst", "pacing": "pacing"}
        for option, feature in needs.items():
            if option in options:
                _options.check_feature(self.name, option, feature, features)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        listening = f"{ends.address},{_family(ends.address)}"
        argv = ("netserver", "-D", "-L", listening, "-p", str(ends.port))
        return Command(_commands.bound(argv, None, options.get("server_numa")))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        argv = [
            *("netperf", "-P", "0", "-H", f"{ends.address},{_family(ends.address)}"),
            *("-p", str(ends.port), "-t", options.get("test", "omni")),
            *("-l", f"{run_seconds(options):g}"),
            *_commands.flags(options, GLOBAL),
            *(("-Y", f"{4 * options['dscp']},{4 * options['dscp']}") if "dscp" in options else ()),
            # only with -c -C netperf prints the number of CPUs, which is needed to verify a binding
            *(("-c", "-C") if options.get("cpu", True) or "cpu_bind" in options else ()),
            # without a second -H, netserver opens its data port on every address of its host
            *("--", "-H", f"{ends.address},{_family(ends.address)}"),
            *_specific(options),
            *("-k", ",".join(self._keys(options))),
        ]
        bound = _commands.bound(tuple(argv), None, options.get("numa"))
        return Command(bound, deadline=self.seconds(options) + _commands.START_UP)

    def seconds(self, options: Mapping[str, Any]) -> float:
        most = int(str(options.get("iterations", "10,3")).split(",")[0])
        return run_seconds(options) * (most if REPEATED & options.keys() else 1)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
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
        seconds = 1 if _of_datagrams(options) else -100_000  # a negative value is bytes to send
        # the number of the server's CPUs reveals a netserver of another version
        return {"seconds": seconds, "select": ["remote_cpu_count"]}

    def bytes_of(self, size: int | str) -> int:
        return netperf_bytes(size)

    def needs_watch(self, options: Mapping[str, Any], connections: int) -> bool:
        # netperf's interim results and datagram rates are those of the sender, and several
        # connections do not end at the same time
        return connections > 1 or "interim_seconds" in options or _of_datagrams(options)

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        if not is_rr(options):
            return None
        test = "TCP_STREAM" if direction == "send" else "TCP_MAERTS"
        return {"test": test, "seconds": seconds, "cpu": False}

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        return ("pacing", options["pacing"] * 8.0) if "pacing" in options else None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        return measurement(
            completed,
            options,
            self._keys(options),
            length=run_seconds(options),
            longest=self.seconds(options),
        )

    def _keys(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the keys to request: the selected keys, and the keys that verify the result."""
        sending = sends(options)
        ends = ("local_send", "remote_recv") if sending else ("local_recv", "remote_send")
        moved = [f"{end}_{what}" for what in ("throughput", "calls") for end in ends]
        usual = ("throughput", *(_LATENCIES if is_rr(options) else moved), *_COST)
        selected = [s.upper() for s in options.get("select", usual)]
        if "select" not in options:
            if not options.get("cpu", True):
                selected = [s for s in selected if not _OF_CPU.search(s)]
            elif options.get("test") == "TCP_CRR":
                selected = [s for s in selected if not _UNTIMED.fullmatch(s)]
        guards = [*GUARDS]
        if not is_rr(options):
            sender = "LOCAL" if sending else "REMOTE"
            calls = (f"{end.upper()}_CALLS" for end in ends)
            guards += [*calls, f"{sender}_SEND_THROUGHPUT"]
        guards += [key for option, keys in _OF_OPTIONS.items() if option in options for key in keys]
        if REPEATED & options.keys():
            guards.append("CONFIDENCE_ITERATION")
        return tuple(dict.fromkeys([*selected, *guards]))


def _unknown(selector: str, features: Features) -> InputError:
    alike = (name for name in alternatives(selector) if name.upper() in features.vocabulary)
    near = nearest(selector.upper(), features.vocabulary) or next(alike, "")
    hint = f"; did you mean {near.lower()}?" if near else ""
    problem = f"netperf {features.version} has no selector {selector!r}{hint}"
    return _options.wrong("netperf", "select", problem)


def _specific(options: Mapping[str, Any]) -> Iterator[str]:
    if options.get("test", "omni") == "omni":
        yield from ("-T", options.get("protocol", "tcp"), "-d", options.get("direction", "send"))
    yield from _commands.flags(options, SPECIFIC)
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
