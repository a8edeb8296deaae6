"""nuttcp (6.1.2 and later) with `-v -fparse`, which prints both ends' figures as key=value.

The receiver's figures are required. If the server dies, nuttcp exits 0 without them; if no server
answers, nuttcp falls back to a mode without a server. `retrans` is ignored, since Debian's 6.1.2
always prints 0. The server cannot be bound to an address: while the server waits, every network
of the host can reach it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import OutputError, ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool
from netlimits.units.sizes import RATE, binary_bytes, decimal_bits

_MEGABITS_PER_MEGABYTE = 2**20 * 8 / 1e6
"""Factor from nuttcp's megabytes (2²⁰ bytes) to its megabits (10⁶ bits)."""

_INTERIM = ("megabytes", "real_sec", "rate_Mbps")
_FALLBACK = "classic_mode"


class Nuttcp(Tool):
    name = "nuttcp"
    server_program = "nuttcp"
    port = 5000
    colour = "orange"
    schema = _options.schema(
        name,
        _options.ONE_OFF,
        seconds=_options.length("Length of a run (-T)."),
        protocol=_options.PROTOCOL,
        send_size=_options.SEND_SIZE,
        rate={
            **RATE,
            "description": "bit/s to send at (-R); K M G are 1000^n, 0 is unlimited. Required for "
            "UDP, where nuttcp's default is 1 Mbit/s. Pacing keeps one CPU of the sender busy.",
        },
        mss=_options.mss(32767),
        window=_options.WINDOW,
        parallel=_options.parallel("Number of streams (-N), all in one process."),
        reverse=_options.switch("The server sends (-r)."),
        nodelay=_options.switch("Set TCP_NODELAY (-D)."),
        interim_seconds=_options.interim(
            3600, "Keep interim results of the receiver at this interval (-i)."
        ),
    )

    def probes(self) -> tuple[Command, ...]:
        return (Command(("nuttcp", "-V")), Command(("nuttcp", "-h")))

    def features(self, completed: tuple[Completed, ...]) -> Features:
        version, usage = completed
        match = re.search(r"nuttcp-(\d[\w.]*)", version.stdout)
        if not match:
            raise _output.absent("nuttcp", version, "install it (Debian and Ubuntu: nuttcp)")
        needed = ("-fparse", "--nofork")
        advice = "install 6.1.2 or later"
        _output.check_features(f"nuttcp {match[1]}", needed, usage.stdout, advice)
        return Features(match[1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)
        _options.check_transport(self.name, options, tcp=("mss", "nodelay"))

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        once = ("-1", "--nofork", "--no3rdparty")
        argv = ("nuttcp", *_family(ends), *once, "-P", str(ends.port))
        return _commands.server(argv, options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        argv = (
            *("nuttcp", *_family(ends), "-v", "-fparse"),
            *("-r" if options.get("reverse") else "-t", f"-T{self.seconds(options):g}"),
            *(f"-P{ends.port}", f"-p{ends.port + 1}"),
            *_flags(options),
            ends.address,
        )
        return _commands.client(argv, options, self.seconds(options))

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        udp = options.get("protocol") == "udp"
        return {"seconds": 0.5, "rate": "5M"} if udp else {"seconds": 0.2}

    def needs_watch(self, options: Mapping[str, Any], connections: int) -> bool:
        # nuttcp's interim rates of datagrams end when the sender ends, before queues are empty
        return options.get("protocol") == "udp"

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        rate = decimal_bits(options.get("rate", 0))  # the sum of all streams
        return ("rate", rate) if rate > 0 else None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        start, printed = _printed(completed, options, self.seconds(options))
        sent, received = _Side(printed, "t", "sender"), _Side(printed, "r", "receiver")
        _refuse_ignored(options, sent)
        elapsed = received.elapsed()
        _refuse_nonsense(sent, received)
        _output.check_length(elapsed, self.seconds(options))
        sender, receiver = ("remote", "local") if options.get("reverse") else ("local", "remote")
        arrived = received.number("rate_Mbps")
        figures: dict[str, Scalar] = {
            "throughput_mbps": arrived,
            "elapsed_s": elapsed,
            f"{sender}_send_throughput_mbps": sent.number("rate_Mbps"),
            f"{receiver}_recv_throughput_mbps": arrived,
            f"{sender}_send_calls": int(sent.number("io_calls")),
            f"{receiver}_recv_calls": int(received.number("io_calls")),
            f"nuttcp_{sender}_process_cpu_pct": sent.number("cpu"),
            f"nuttcp_{receiver}_process_cpu_pct": received.number("cpu"),
        }
        if options.get("protocol") == "udp":
            figures["loss_pct"] = _loss(received)
        else:
            figures["transport_mss_bytes"] = _mss(options, sent)
        rows = _interim(printed, start) if "interim_seconds" in options else ()
        arrived_bytes = received.number("megabytes") * 2**20
        sent_bytes = max(arrived_bytes, sent.number("megabytes") * 2**20)
        flows = [Flow(sender, sent_bytes, arrived_bytes)]
        work = _output.stream_work(flows, datagrams=options.get("protocol") == "udp")
        return Measurement(figures, tuple(rows), work)


class _Side:
    def __init__(self, printed: str, letter: str, name: str) -> None:
        self.name = name
        self.values: dict[str, str] = {}
        for line in re.findall(rf"^nuttcp-{letter}: (.*)$", printed, re.MULTILINE):
            for key, text in re.findall(r"(\w+)=(\S+)", line):
                self.values.setdefault(key, text)

    def text(self, key: str) -> str:
        if key not in self.values:
            raise OutputError(f"nuttcp printed no {key} of the {self.name}: did its server die?")
        return self.values[key]

    def number(self, key: str) -> float:
        text = self.text(key)
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?%?", text):
            raise OutputError(f"nuttcp printed {key}={text[:60]}, which is not a number")
        return float(text.removesuffix("%"))

    def elapsed(self) -> float:
        """Compute the seconds from bytes and rate, since the printed time has only two decimals."""
        printed = self.number("real_seconds")
        rate, megabytes = self.number("rate_Mbps"), self.number("megabytes")
        if rate == 0 or megabytes < 1:
            return printed
        seconds = megabytes * _MEGABITS_PER_MEGABYTE / rate
        if not math.isclose(seconds, printed, rel_tol=0.01, abs_tol=0.02):
            raise OutputError(
                f"nuttcp's figures contradict each other: {megabytes:g} MB at {rate:g} Mbit/s in "
                f"{printed:g} s"
            )
        return seconds


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the flags; flag and value are one word, as nuttcp requires."""
    if options.get("protocol") == "udp":
        yield "-u"
    if "send_size" in options:
        yield f"-l{binary_bytes(options['send_size'])}"
    if "rate" in options:
        kilobits = f"{decimal_bits(options['rate']) / 1000:.3f}".rstrip("0").rstrip(".")
        yield f"-R{'u' if kilobits == '0' else kilobits}"
    if "mss" in options:
        yield f"-M{options['mss']}"
    if "window" in options:
        yield f"-w{binary_bytes(options['window'])}b"
    if options.get("parallel", 1) > 1:
        yield f"-N{options['parallel']}"
    if options.get("nodelay"):
        yield "-D"
    if "interim_seconds" in options:
        yield f"-i{options['interim_seconds']:g}"


def _family(ends: ServerAddress) -> tuple[str, ...]:
    return ("-6",) if ":" in ends.address else ("-4",)


def _printed(completed: Completed, options: Mapping[str, Any], seconds: float) -> tuple[float, str]:
    _output.check_ended(completed, "nuttcp", seconds)
    lines = [line.strip() for line in completed.stderr.splitlines()]
    reasons = [line for line in lines if line and "Info=" not in line]
    _output.check_status(completed, "nuttcp", " ".join(reasons)[:300])
    if _FALLBACK in completed.stderr:
        raise ToolFailure(
            "no nuttcp server answered and the client fell back to a mode without one, which "
            "does not report what arrived"
        )
    if "transfer interrupted" in completed.stdout:
        raise _output.invalid("nuttcp was interrupted")
    return _output.started(completed, options)


def _refuse_ignored(options: Mapping[str, Any], sent: _Side) -> None:
    expected = {
        "mode": options.get("protocol", "tcp"),
        "nstream": str(options.get("parallel", 1)),
        "buflen": str(binary_bytes(options["send_size"])) if "send_size" in options else None,
    }
    for key, value in expected.items():
        if value is not None and sent.text(key) != value:
            raise _output.invalid(f"{key}={value} was asked for and {sent.text(key)} used")


def _refuse_nonsense(sent: _Side, received: _Side) -> None:
    sent_mb, arrived_mb = sent.number("megabytes"), received.number("megabytes")
    if arrived_mb == 0 or received.number("rate_Mbps") == 0:
        problem = f"nothing of {sent_mb:g} MB sent arrived" if sent_mb else "no data was sent"
        raise _output.no_data(problem)
    if arrived_mb > 1.01 * sent_mb + 1:
        raise _output.invalid(f"nuttcp says that {arrived_mb:g} MB arrived of {sent_mb:g} MB sent")


def _loss(received: _Side) -> float:
    drops = received.text("drop")
    lost = 0.0 if drops.startswith("-") else received.number("drop")  # duplicates make it negative
    sent = received.number("pkt")
    if not sent or lost > sent:
        raise ToolFailure(f"nuttcp says that {lost:g} of {sent:g} datagrams were lost")
    return 100 * lost / sent


def _mss(options: Mapping[str, Any], sent: _Side) -> int:
    used = int(sent.number("mss"))
    _output.check_mss(options.get("mss"), used)
    return used


def _interim(printed: str, start: float) -> Iterator[dict[str, float]]:
    """Yield the receiver's interim results, one after the other from the start of the client."""
    ending = start
    keys = (rf" *{key}= *([0-9]{{1,15}}\.[0-9]{{1,9}})" for key in _INTERIM)
    lines = re.findall(rf"^ *{_INTERIM[0]}=.*", printed, re.MULTILINE)
    results = re.findall("^" + "".join(keys), printed, re.MULTILINE)
    if len(results) != len(lines):
        raise OutputError("nuttcp printed an interim result that cannot be read")
    for fields in results:
        megabytes, seconds, rate = map(float, fields)
        if rate > 0:  # the printed time has two decimals, and its rounding errors would add up
            seconds = megabytes * _MEGABITS_PER_MEGABYTE / rate
        ending += seconds
        yield {"ending_s": ending, "interval_s": seconds, "throughput_mbps": rate}
