"""nuttcp (6.1.2 and later), through `-v -fparse`: both ends' figures as key=value.

The brief output has one rate and no MSS; the verbose one says what each end counted, the MSS in
use and the calls. The receiver's part is required: nuttcp 6.1.2 exits 0 when its server died, and
where no server answers it falls back to an old mode without one. Its `retrans` is not read, since
Debian's 6.1.2 always prints 0: the kernel's counters tell. Rates are taken over one window, the
receiver's, so that throughput times elapsed time is the bytes that arrived.

nuttcp cannot listen on one address: its server, which serves one run and no third party, is open
to every network of the host while it waits. Data goes to the port after the control port, and of
parallel streams to the ports after it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from netlimits.errors import InputError, OutputError, ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress, Work
from netlimits.tools import _affinity, _options, _refusals
from netlimits.tools._base import Features, SocketPace, Transfer
from netlimits.tools._clock import stamped, started
from netlimits.units.sizes import RATE, TIMESTAMPS, binary_bytes, decimal_bits

START_UP = 15.0
"""Seconds that a run may take beyond its own; a UDP receiver waits two for stragglers."""

_MEGABIT = 2**20 * 8 / 1e6
"""10⁶ bit in one of nuttcp's megabytes."""

_INTERIM = ("megabytes", "real_sec", "rate_Mbps")
_FALLBACK = "classic_mode"


class Nuttcp:
    """`measure: nuttcp:`."""

    name = "nuttcp"
    server_program = "nuttcp"
    port = 5000
    server_lasts: Literal["campaign", "run"] = "run"
    reuses_port = True
    control_apart = False
    counts_all = True
    socket_pace: SocketPace | None = None
    schema: Mapping[str, Any] = _options.schema(
        name,
        _options.ONE_OFF,
        seconds=_options.length("Length of a run (-T)."),
        protocol=_options.PROTOCOL,
        send_size=_options.SEND_SIZE,
        rate={
            **RATE,
            "description": "bit/s to send at (-R), K M G are 1000^n, 0 is unlimited. UDP needs "
            "it: nuttcp's default is 1 Mbit/s. Pacing takes the sender a whole CPU.",
        },
        mss=_options.mss(32767),
        window=_options.WINDOW,
        parallel=_options.parallel("Streams (-N), all in one process."),
        reverse=_options.switch("The server sends (-r)."),
        nodelay=_options.switch("TCP_NODELAY (-D)"),
        interim_seconds=_options.interim(
            3600, "Keep interim results of the receiver at this interval (-i)."
        ),
    )

    def probes(self) -> tuple[Command, ...]:
        """The version, and the options it knows."""
        return (Command(("nuttcp", "-V")), Command(("nuttcp", "-h")))

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """The version. Raises ToolFailure when nuttcp is not there or too old."""
        version, options = completed
        match = re.search(r"nuttcp-(\d[\w.]*)", version.stdout)
        if not match:
            output = version.complaint
            raise ToolFailure(
                f"nuttcp does not answer ({output or 'it printed nothing'}); install it "
                "(Debian and Ubuntu: nuttcp)"
            )
        if missing := [o for o in ("-fparse", "--nofork") if o not in options.stdout]:
            raise ToolFailure(
                f"nuttcp {match[1]} has no {' and no '.join(missing)}; install 6.1.2 or later"
            )
        return Features(match[1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError for options that contradict each other."""
        _affinity.check(self.name, options)
        udp = options.get("protocol", "tcp") == "udp"
        if udp and "rate" not in options:
            raise _wrong("rate", "UDP needs one (nuttcp's own is 1 Mbit/s); 0 is unlimited")
        for option in ("mss", "nodelay") if udp else ():
            if options.get(option):
                raise _wrong(option, "it is for TCP only; leave it out")
        if udp and binary_bytes(options.get("send_size", 1)) > _options.LARGEST_DATAGRAM:
            most = f"a UDP datagram holds {_options.LARGEST_DATAGRAM} bytes at most"
            raise _wrong("send_size", most)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """A server for one test, in the foreground."""
        once = ("-1", "--nofork", "--no3rdparty")
        argv = ("nuttcp", *_family(ends), *once, "-P", str(ends.port))
        return Command(_affinity.bound(argv, options.get("server_cpus")))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """`nuttcp -v -fparse …`, with a deadline beyond its length."""
        argv: tuple[str, ...] = (
            *("nuttcp", *_family(ends), "-v", "-fparse"),
            *("-r" if options.get("reverse") else "-t", f"-T{self.seconds(options):g}"),
            *(f"-P{ends.port}", f"-p{ends.port + 1}"),
            *_flags(options),
            ends.address,
        )
        argv = _affinity.bound(argv, options.get("cpus"))
        deadline = self.seconds(options) + START_UP
        return Command(stamped(argv) if "interim_seconds" in options else argv, deadline=deadline)

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """As its programs are."""
        return self.name, self.server_program

    def seconds(self, options: Mapping[str, Any]) -> float:
        """The length of a run."""
        return _options.run_seconds(options)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """By `protocol`, `reverse` and `send_size`."""
        return _options.transfer(options)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Less than a second; 5 Mbit/s of datagrams."""
        udp = options.get("protocol") == "udp"
        return {"seconds": 0.5, "rate": "5M"} if udp else {"seconds": 0.2}

    def bytes_of(self, size: int | str) -> int:
        """Powers of 1024, whatever the case."""
        return binary_bytes(size)

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """The receiver tells, but of datagrams over the sender's time, which a queue outlives."""
        return options.get("protocol") == "udp"

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """Its server takes one client at a time."""
        return None

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """The rate of all streams together."""
        rate = decimal_bits(options.get("rate", 0))
        return ("rate", rate) if rate > 0 else None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """The figures under their columns. Raises ToolFailure for a run that must not count."""
        start, printed = _printed(completed, options, self.seconds(options))
        sent, received = _Side(printed, "t", "sender"), _Side(printed, "r", "receiver")
        _refuse_ignored(options, sent)
        elapsed = received.elapsed()
        _refuse_nonsense(sent, received, elapsed, self.seconds(options))
        sender, receiver = ("remote", "local") if options.get("reverse") else ("local", "remote")
        arrived = received.number("rate_Mbps")
        ratio = max(1.0, sent.number("megabytes") / received.number("megabytes"))
        figures: dict[str, Scalar] = {
            "throughput_mbps": arrived,
            "elapsed_s": elapsed,
            f"{sender}_send_throughput_mbps": arrived * ratio,
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
        counted = sent_bytes if options.get("protocol") == "udp" else arrived_bytes
        work = Work(counted / 1024, (Flow(sender, sent_bytes, arrived_bytes),))
        return Measurement(figures, tuple(rows), work)


class _Side:
    """The output of one end: the first value of each key in its lines."""

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
        """A figure of at least 0. Raises ToolFailure for everything else."""
        text = self.text(key)
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?%?", text):
            raise OutputError(f"nuttcp printed {key}={text[:60]}, which is not a number")
        return float(text.removesuffix("%"))

    def elapsed(self) -> float:
        """Seconds, from bytes and rate, which are finer than the two decimals printed.

        Raises ToolFailure where they contradict the time printed.
        """
        printed = self.number("real_seconds")
        rate, megabytes = self.number("rate_Mbps"), self.number("megabytes")
        if rate == 0 or megabytes < 1:
            return printed
        seconds = megabytes * _MEGABIT / rate
        if not math.isclose(seconds, printed, rel_tol=0.01, abs_tol=0.02):
            raise OutputError(
                f"nuttcp's figures contradict each other: {megabytes:g} MB at {rate:g} Mbit/s in "
                f"{printed:g} s"
            )
        return seconds


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    """The options, each in one word with its value, as nuttcp wants them."""
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
    """When the client started (0 if not asked for) and what it printed. Raises ToolFailure."""
    if completed.timed_out:
        raise ToolFailure(
            f"nuttcp of {seconds:g} s had not ended after {completed.command.deadline:g} s and "
            "was killed: is the data link down?",
            status="timeout",
        )
    if completed.truncated:
        raise OutputError("nuttcp printed too much output to keep")
    if completed.status != 0:
        lines = [line.strip() for line in completed.stderr.splitlines()]
        reasons = [line for line in lines if line and "Info=" not in line]
        complaint = " ".join(reasons)[:300] or "it printed no reason"
        raise ToolFailure(f"nuttcp exited {completed.status}: {complaint}")
    if _FALLBACK in completed.stderr:
        raise ToolFailure(
            "no nuttcp server answered and the client fell back to a mode without one, which "
            "does not tell what arrived"
        )
    if "transfer interrupted" in completed.stdout:
        raise ToolFailure("nuttcp was interrupted", status="invalid")
    return started(completed.stdout) if "interim_seconds" in options else (0.0, completed.stdout)


def _refuse_ignored(options: Mapping[str, Any], sent: _Side) -> None:
    """Raise for options that nuttcp took and did not act on."""
    expected = {
        "mode": options.get("protocol", "tcp"),
        "nstream": str(options.get("parallel", 1)),
        "buflen": str(binary_bytes(options["send_size"])) if "send_size" in options else None,
    }
    for key, value in expected.items():
        if value is not None and sent.text(key) != value:
            raise ToolFailure(
                f"{key}={value} was asked for and {sent.text(key)} used", status="invalid"
            )


def _refuse_nonsense(sent: _Side, received: _Side, elapsed: float, seconds: float) -> None:
    """Raise for what nuttcp reports with exit status 0 although it is no measurement."""
    sent_mb, arrived_mb = sent.number("megabytes"), received.number("megabytes")
    if arrived_mb == 0 or received.number("rate_Mbps") == 0:
        what = f"nothing of {sent_mb:g} MB sent arrived" if sent_mb else "no data was sent"
        raise ToolFailure(f"throughput is 0: {what}; is the data path open?")
    if arrived_mb > 1.01 * sent_mb + 1:
        raise ToolFailure(
            f"nuttcp says that {arrived_mb:g} MB arrived of {sent_mb:g} MB sent", status="invalid"
        )
    _refusals.short_run(elapsed, seconds)


def _loss(received: _Side) -> float:
    """Datagrams sent that did not arrive, in percent, as the receiver counts them."""
    drops = received.text("drop")
    lost = 0.0 if drops.startswith("-") else received.number("drop")  # duplicates make it negative
    sent = received.number("pkt")
    if not sent or lost > sent:
        raise ToolFailure(f"nuttcp says that {lost:g} of {sent:g} datagrams were lost")
    return 100 * lost / sent


def _mss(options: Mapping[str, Any], sent: _Side) -> int:
    """The MSS in use, less timestamps. Raises ToolFailure when it is not the one asked for."""
    used = int(sent.number("mss"))
    mss = options.get("mss")
    if mss is not None and used not in (mss, mss - TIMESTAMPS):
        raise ToolFailure(
            f"an MSS of {mss} was asked for and {used} was used: is the MTU large enough?",
            status="invalid",
        )
    return used


def _interim(printed: str, start: float) -> Iterator[dict[str, float]]:
    """The receiver's interim results in order, one after another from the start of the client."""
    ending = start
    keys = (rf" *{key}= *([0-9]{{1,15}}\.[0-9]{{1,9}})" for key in _INTERIM)
    lines = re.findall(rf"^ *{_INTERIM[0]}=.*", printed, re.MULTILINE)
    results = re.findall("^" + "".join(keys), printed, re.MULTILINE)
    if len(results) != len(lines):
        raise OutputError("nuttcp printed an interim result that cannot be read")
    for fields in results:
        megabytes, seconds, rate = map(float, fields)
        if rate > 0:  # finer than the two decimals printed, which would add up to a drift
            seconds = megabytes * _MEGABIT / rate
        ending += seconds
        yield {"ending_s": ending, "interval_s": seconds, "throughput_mbps": rate}


def _wrong(option: str, problem: str) -> InputError:
    return InputError(f"measure.nuttcp.{option}: {problem}")
