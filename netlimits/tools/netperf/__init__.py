"""netperf, through its omni output: `-k` (KEY=value), every key asked for checked to be there.

netperf keeps silent about much that goes wrong: an unknown selector is dropped with exit 0, a
black-holed data connection measures 0.00 with exit 0, an impossible CPU binding or congestion
control is ignored. So the command asks for the keys that tell (`GUARDS`), and `read` turns each
of these into a failed run with its reason.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress, Work
from netlimits.tools._base import Features
from netlimits.tools.netperf.columns import column, value
from netlimits.tools.netperf.options import EVERY_FEATURE, GLOBAL, SCHEMA, SPECIFIC
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
GUARDS = ("THROUGHPUT", "THROUGHPUT_UNITS", "SD_UNITS", "ELAPSED_TIME", "PROTOCOL")
"""Keys that every run asks for, since without them a run cannot be believed."""

START_UP = 15.0
"""Seconds that a run may take beyond its own before it counts as hung."""


class Netperf:
    """`measure: netperf:`."""

    name = "netperf"
    server_program = "netserver"
    port = 12865
    server_lasts: Literal["campaign", "run"] = "campaign"
    reuses_port = True
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
        found = re.search(r"Netperf version (\S+)", version.stdout)
        listed = frozenset(re.findall(r"[A-Z][A-Z0-9_]+", selectors.stdout))
        if not found or "THROUGHPUT" not in listed:
            said = (version.stderr or version.stdout or selectors.stderr).strip()[:200]
            raise ToolFailure(
                f"netperf does not answer ({' '.join(said.split()) or 'it printed nothing'}); "
                "install it (Debian: netperf in non-free; Ubuntu: in multiverse)"
            )
        said = features.stdout + features.stderr
        missing = {
            "burst": "burst functionality not compiled",  # the test's -b; the global one paces
            "intervals": "Packet rate control is not compiled in",
            "demo": "Demo Mode not configured",
            "pacing": "invalid option -- 'q'",
        }
        return Features(
            version=found[1],
            names=frozenset(name for name, complaint in missing.items() if complaint not in said),
            vocabulary=listed - {"OUTPUT_NONE", "OUTPUT_END"},
        )

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError for a selector or feature that this build does not have."""
        for selector in options.get("select", ()):
            if selector.upper() not in features.vocabulary:
                near = difflib.get_close_matches(selector.upper(), features.vocabulary, n=1)
                hint = f"; did you mean {near[0].lower()}?" if near else ""
                raise InputError(
                    f"measure.netperf.select: netperf {features.version} has no selector "
                    f"{selector!r}{hint}"
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
            *("-l", f"{self._length(options):g}"),
            *_flags(options, GLOBAL),
            # the count of CPUs, by which a binding is checked, comes only with -c -C
            *(("-c", "-C") if options.get("cpu", True) or "cpu_bind" in options else ()),
            # said again, or netserver waits for the data connection on every address of its host
            *("--", "-H", f"{ends.address},{_family(ends.address)}"),
            *_specific(options),
            *("-k", ",".join(self._keys(options))),
        ]
        return Command(tuple(argv), deadline=self.seconds(options) + START_UP)

    def seconds(self, options: Mapping[str, Any]) -> float:
        """The length of a run, times the most iterations that `confidence` may take."""
        most = int(str(options.get("iterations", "10,3")).split(",")[0])
        return self._length(options) * (most if "confidence" in options else 1)

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """The figures under their columns. Raises ToolFailure for a run that must not count."""
        _refuse_failure(completed, self.seconds(options))
        keys = _keys_of(completed.stdout)
        asked = self._keys(options)
        if missing := [key for key in asked if key not in keys]:
            raise ToolFailure(f"netperf printed no {', '.join(missing)}")
        figures: dict[str, Scalar] = {}
        for key in asked:
            if key.endswith("_UNITS"):
                continue
            name = column(key, keys["THROUGHPUT_UNITS"], keys["SD_UNITS"])
            figures[name] = value(key, keys[key])
        _refuse_stepped_clock(completed, float(keys["ELAPSED_TIME"]), self._length(options))
        _refuse_nonsense(options, keys, figures, self._length(options))
        figures |= _loss(options, keys)
        return Measurement(figures, tuple(_interim(keys, options)), _work(options, keys))

    def _length(self, options: Mapping[str, Any]) -> float:
        return float(options.get("seconds", 10))

    def _keys(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys to ask for, each once: what was selected, and what tells whether it is true."""
        usual: tuple[str, ...] = DEFAULT_SELECT if _sends(options) else RECV_SELECT
        if _is_rr(options):
            usual = RR_SELECT
        selected = [s.upper() for s in options.get("select", usual)]
        if not options.get("cpu", True) and "select" not in options:
            selected = [s for s in selected if "CPU" not in s and not s.endswith("_SD")]
        guards = [*GUARDS]
        if not _is_rr(options) and _sends(options):
            guards += ["LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS", "LOCAL_SEND_THROUGHPUT"]
        elif not _is_rr(options):
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
            guards += ["THROUGHPUT_CONFID", "CONFIDENCE_INTERVAL", "CONFIDENCE_ITERATION"]
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


SENT = "local_send_throughput_mbps"


def _sends(options: Mapping[str, Any]) -> bool:
    """Whether data flows from netperf to netserver."""
    return options.get("direction", "send") == "send" and options.get("test") != "TCP_MAERTS"


def _is_rr(options: Mapping[str, Any]) -> bool:
    test = options.get("test", "omni")
    return str(test).endswith("RR") or (test == "omni" and options.get("direction") == "rr")


def _family(address: str) -> str:
    return "6" if ":" in address else "4"


def _keys_of(stdout: str) -> dict[str, str]:
    """KEY=value lines; the last one wins, other lines are banners."""
    pairs = (line.partition("=") for line in stdout.splitlines())
    return {key: text for key, sep, text in pairs if sep and re.fullmatch(r"[A-Z0-9_\[\]]+", key)}


def _interim(keys: Mapping[str, str], options: Mapping[str, Any]) -> Iterator[Mapping[str, float]]:
    """Interim results in order: each is a rate over [ending − interval, ending].

    netperf counts what it gave to or took from its own kernel: where it sends, that is not what
    arrived, and their column says it.
    """
    columns = {"10^6bits/s": "throughput_mbps", "Trans/s": "transaction_rate_tps"}
    if _sends(options):
        columns["10^6bits/s"] = SENT
    for number in range(sum(key.startswith("NETPERF_INTERIM_RESULT[") for key in keys)):
        try:
            yield {
                "ending_s": float(keys[f"NETPERF_ENDING[{number}]"]),
                "interval_s": float(keys[f"NETPERF_INTERVAL[{number}]"]),
                columns[keys[f"NETPERF_UNITS[{number}]"]]: float(
                    keys[f"NETPERF_INTERIM_RESULT[{number}]"]
                ),
            }
        except (KeyError, ValueError) as error:
            raise ToolFailure(f"interim result {number} is not whole: {error}") from None


def _work(options: Mapping[str, Any], keys: Mapping[str, str]) -> Work:
    """All that was moved: netperf's rates and times are the mean of its iterations."""
    seconds = float(keys["ELAPSED_TIME"]) * max(1, int(keys.get("CONFIDENCE_ITERATION", 1)))
    rate = float(keys["THROUGHPUT"]) * seconds
    if _is_rr(options):
        sizes = {
            end: netperf_bytes(options.get(name, 1))
            for end, name in (("local", "request_size"), ("remote", "response_size"))
        }
        least = 0.0 if options.get("burst") else rate  # a packet may hold several of a burst
        flows = tuple(Flow(end, rate * size, rate * size, least) for end, size in sizes.items())
        return Work(rate, flows, transactions=True)
    sender = "local" if _sends(options) else "remote"
    arrived = rate * 1e6 / 8
    sent = max(arrived, float(keys[f"{sender.upper()}_SEND_THROUGHPUT"]) * seconds * 1e6 / 8)
    counted = sent if keys["PROTOCOL"].upper() == "UDP" else arrived
    return Work(counted / 1024, (Flow(sender, sent, arrived),))


def _loss(options: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Scalar]:
    """`loss_pct`: the share of what was sent that did not arrive."""
    if keys["PROTOCOL"].upper() != "UDP" or _is_rr(options) or options.get("direction") == "recv":
        return {}
    sent, arrived = float(keys["LOCAL_SEND_THROUGHPUT"]), float(keys["THROUGHPUT"])
    return {"loss_pct": max(0.0, 100 * (1 - arrived / sent))}


_SIGNALS = {
    139: "it crashed; netperf 2.7.0 does without /etc/protocols (Debian: package netbase)",
    141: "its connection to netserver broke (SIGPIPE): the server's child died",
}
"""What an exit status by a signal means, where netperf prints nothing."""


def _refuse_failure(completed: Completed, seconds: float) -> None:
    """Raise when netperf did not end by itself with exit status 0."""
    said = " ".join((completed.stderr.strip() or completed.stdout.strip()).split())[:300]
    if completed.timed_out:
        raise ToolFailure(
            f"netperf of {seconds:g} s had not ended after {completed.command.deadline:g} s and "
            "was killed: is the data link down?",
            status="timeout",
        )
    if completed.truncated:
        raise ToolFailure("netperf printed more than may be kept")
    if completed.status != 0:
        why = said or _SIGNALS.get(completed.status, "it printed nothing")
        raise ToolFailure(f"netperf exited {completed.status}: {why}")


def _refuse_nonsense(
    options: Mapping[str, Any],
    keys: Mapping[str, str],
    figures: Mapping[str, Scalar],
    seconds: float,
) -> None:
    """Raise for what netperf reports with exit status 0 although it is no measurement."""
    refuse_no_data(keys, _sends(options))
    _refuse_short_run(options, float(keys["ELAPSED_TIME"]), seconds)
    _refuse_ignored(options, keys)


def refuse_no_data(keys: Mapping[str, str], sending: bool) -> None:
    """Raise for a rate, or a count of calls in a test that sends, that is there and is zero."""
    rates = ("THROUGHPUT", "LOCAL_SEND_THROUGHPUT") if sending else ("THROUGHPUT",)
    rate = next((key for key in rates if key in keys), None)
    if rate and float(keys[rate]) <= 0:
        sent = float(keys.get("LOCAL_SEND_THROUGHPUT", 0))
        what = f"nothing of {sent:g} Mbit/s sent arrived" if sent > 0 else "no data was sent"
        raise ToolFailure(f"{rate} is {keys[rate]}: {what}; is the data path open?")
    if sending:
        for key in ("LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS"):
            if key in keys and float(keys[key]) == 0:
                raise ToolFailure(f"{key} is 0: no data went through")


def _refuse_stepped_clock(completed: Completed, elapsed: float, seconds: float) -> None:
    """Raise when netperf's own time cannot be: it reads the clock of day, which may be set.

    We measured how long it ran by a clock that is not. Where that is not known (what was read
    from a file has no time of its own) it ran until its deadline at most.
    """
    known = completed.seconds >= seconds
    longest = completed.seconds * 1.01 + 0.05 if known else completed.command.deadline
    if not 0 < elapsed <= longest:
        raise ToolFailure(
            f"netperf says that its {seconds:g} s took {elapsed:g} s, which it did not run: was "
            "the host's clock set meanwhile?",
            status="invalid",
        )


def _refuse_short_run(options: Mapping[str, Any], elapsed: float, seconds: float) -> None:
    if elapsed < 0.9 * seconds:
        raise ToolFailure(
            f"it ended after {elapsed:g} s of {seconds:g} s: something stopped it", status="invalid"
        )


def _refuse_ignored(options: Mapping[str, Any], keys: Mapping[str, str]) -> None:
    """Raise for options that netperf took and did not act on."""
    if "mss" in options and keys["PROTOCOL"].upper() == "TCP":
        asked, got = int(options["mss"]), _whole(keys, "TRANSPORT_MSS")
        if got not in (asked, asked - 12):  # TCP timestamps take 12 bytes of each segment
            raise ToolFailure(
                f"an MSS of {asked} was asked for and {got} was used: is the MTU large enough?",
                status="invalid",
            )
    if "cpu_bind" in options:
        wanted = str(options["cpu_bind"]).split(",")
        ends = zip(("LOCAL", "REMOTE"), wanted * (2 if len(wanted) == 1 else 1), strict=False)
        for end, cpu in ends:
            # netperf 2.7.0 echoes a CPU that does not exist, so the count has to say it
            count = _whole(keys, f"{end}_CPU_COUNT")
            if cpu and (keys[f"{end}_CPU_BIND"] != cpu or int(cpu) >= count):
                raise ToolFailure(
                    f"binding to CPU {cpu} did not take: {end.lower()} has {count} CPUs "
                    f"({end}_CPU_BIND is {keys[f'{end}_CPU_BIND']})",
                    status="invalid",
                )
    if "congestion_control" in options:
        for end in ("LOCAL", "REMOTE"):
            got_name = keys[f"{end}_CONG_CONTROL"]
            if got_name != options["congestion_control"]:
                raise ToolFailure(
                    f"congestion control {options['congestion_control']} did not take "
                    f"({end}_CONG_CONTROL is {got_name})",
                    status="invalid",
                )
    if "burst" in options and _whole(keys, "BURST_SIZE") != int(options["burst"]):
        raise ToolFailure(
            f"a burst of {options['burst']} did not take (BURST_SIZE is {keys['BURST_SIZE']})",
            status="invalid",
        )
    if "confidence" in options:
        width = float(str(options["confidence"]).split(",")[1])
        reached = float(keys["THROUGHPUT_CONFID"])
        if reached > width:
            raise ToolFailure(
                f"the confidence interval came out {reached:g} % wide, not {width:g} %",
                status="invalid",
            )


def _whole(keys: Mapping[str, str], name: str) -> int:
    """A whole number of the output. Raises ToolFailure where it is none."""
    if not re.fullmatch("-?[0-9]{1,18}", keys[name]):
        raise ToolFailure(f"{name} is {keys[name][:80]!r}, no whole number")
    return int(keys[name])
