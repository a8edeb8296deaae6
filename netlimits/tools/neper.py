"""neper (1.1 and later): Google's `tcp_rr`, `tcp_stream` and their kin, by epoll over threads.

Both ends are the same program with the same options, and one server serves one run. Its client
prints `key=value`; what counts is the receiver's rate, which the ends tell each other at the end
(`remote_throughput`, `local_throughput`, bit/s). Bytes are told by `--iostat-ms` alone, and of the
client's sockets: so a stream's work is the receiver's rate over the client's time (within 1.1 % of
the kernels' counts at 1 s, 0.3 % from 2 s on), and its loss of datagrams is not told. Rates and
percentiles are of whole samples (`-I`): a hundredth of a run here, a tenth of a second at least.

Where no server answers a client tries again each second, thirty times. It exits 0 where it was
ended early, and where the kernel refuses an option, which stands on stderr alone. Data goes to the
port after the control port.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from netlimits.errors import InputError, OutputError, ToolFailure, one_line
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress, Work
from netlimits.tools import _affinity, _options, _refusals
from netlimits.tools._base import Features, SocketPace, Transfer
from netlimits.units.sizes import SIZE, binary_bytes

TESTS = ("tcp_rr", "tcp_crr", "tcp_stream", "udp_rr", "udp_stream")
"""neper's programs, each of which is a test."""

START_UP = 15.0
"""Seconds that a run may take beyond its own."""

_NO_FILE = "--nolog"
"""Else each process, one that tells its version too, writes a file into the login's folder."""

_NEEDED = ("--iostat-ms", _NO_FILE)
_PERCENTILES = (50, 90, 99)
_LATENCIES = ("min", "mean", "max", "stddev", *(f"p{number}" for number in _PERCENTILES))
_OF_RR = ("request_size", "response_size")
_OF_STREAMS = ("send_size", "reverse")
_FLAGS = {
    "parallel": "-F",
    "threads": "-T",
    "request_size": "-Q",
    "response_size": "-R",
    "send_size": "-B",
    "congestion_control": "--congestion-control",
}
_ECHOED = {
    "parallel": "num_flows",
    "threads": "num_threads",
    "request_size": "request_size",
    "response_size": "response_size",
    "send_size": "buffer_size",
    "congestion_control": "congestion_control",
}
"""Options, and the keys under which the client prints what it understood."""


class Neper:
    """`measure: neper:`."""

    name = "neper"
    server_program = "tcp_rr"
    port = 12866
    server_lasts: Literal["campaign", "run"] = "run"
    reuses_port = True
    control_apart = True
    counts_all = True
    socket_pace: SocketPace | None = None
    schema: Mapping[str, Any] = _options.schema(
        name,
        "One test of neper between the first role and the last; both run the same program.",
        test={"enum": list(TESTS), "default": "tcp_stream", "description": "The program."},
        seconds={
            "type": "integer",
            "minimum": 1,
            "maximum": 86400,
            "default": _options.SECONDS,
            "description": "Length of a run in whole seconds (-l).",
        },
        parallel=_options.parallel("Flows (-F), spread over the threads."),
        threads={
            "type": "integer",
            "minimum": 1,
            "maximum": 128,
            "default": 1,
            "description": "Threads of either end (-T).",
        },
        request_size={**SIZE, "description": "Bytes per request (-Q), K M G are 1024^n."},
        response_size={**SIZE, "description": "Bytes per response (-R), K M G are 1024^n."},
        send_size={
            **SIZE,
            "description": "Bytes per send of a stream (-B), K M G are 1024^n; of UDP datagrams.",
        },
        reverse=_options.switch("The server sends (tcp_stream -M)."),
        nodelay=_options.switch("TCP_NODELAY (--no-delay)"),
        congestion_control={
            "type": "string",
            "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,14}$",
            "description": "On both ends (--congestion-control).",
        },
    )

    def probes(self) -> tuple[Command, ...]:
        """The options that it knows, and the version of each program."""
        versions = (Command((name, _NO_FILE, "--version")) for name in TESTS)
        return (Command(("tcp_rr", _NO_FILE, "--help")), *versions)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        """The version, and which programs are there.

        Raises ToolFailure when neper is not there or too old.
        """
        options, *versions = completed
        numbers = [re.fullmatch(r"(\d+(\.\d+)+)\s*", each.stdout) for each in versions]
        present = [name for name, number in zip(TESTS, numbers, strict=True) if number]
        first = next(filter(None, numbers), None)
        if first is None:
            output = versions[0].complaint
            raise ToolFailure(
                f"neper's tcp_rr does not answer ({output or 'it printed no version'}); no "
                "distribution has it: build it from its source, or leave neper out"
            )
        if missing := [option for option in _NEEDED if option not in options.stdout]:
            raise ToolFailure(
                f"neper {first[1]} has no {' and no '.join(missing)}; build a newer one"
            )
        return Features(first[1], frozenset(present))

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        """Raise InputError for options that are not this test's, or a program that is not there."""
        _affinity.check(self.name, options)
        test = _test(options)
        if features.names and test not in features.names:
            raise _wrong("test", f"there is no {test} on this host; build all of neper")
        for option in _OF_STREAMS if test.endswith("rr") else _OF_RR:
            if options.get(option):
                raise _wrong(option, f"it is not for {test}; leave it out")
        for option in ("reverse", "nodelay", "congestion_control"):
            if options.get(option) and test.startswith("udp"):
                raise _wrong(option, "it is for TCP only; leave it out")
        for option in ("send_size", *_OF_RR):
            if test.startswith("udp") and binary_bytes(options.get(option, 1)) > _LARGEST:
                raise _wrong(option, f"a UDP datagram holds {_LARGEST} bytes at most")
        if options.get("threads", 1) > options.get("parallel", 1):
            raise _wrong("threads", "more threads than flows; raise `parallel` or lower `threads`")

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        """The same program as the client's, for one test, in the foreground."""
        argv = (_test(options), *_flags(options, ends, self.seconds(options)))
        return Command(_affinity.bound(argv, options.get("server_cpus")))

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        """`tcp_… -c …`, with a deadline beyond its length."""
        seconds = self.seconds(options)
        more = ("-p", ",".join(map(str, _PERCENTILES))) if _of_transactions(options) else ()
        argv = (
            *(_test(options), "-c", *_flags(options, ends, seconds)),
            *("--iostat-ms", "1000", *more),
        )
        return Command(_affinity.bound(argv, options.get("cpus")), deadline=seconds + START_UP)

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        """Both ends are the test's program."""
        return _test(options), _test(options)

    def seconds(self, options: Mapping[str, Any]) -> float:
        """The length of a run."""
        return _options.run_seconds(options)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        """By the test's name, `reverse` and the sizes."""
        if not _test(options).startswith("udp"):
            receiver: Literal["local", "remote"] = "local" if options.get("reverse") else "remote"
            return Transfer(receiver=None if _of_transactions(options) else receiver)
        names = _OF_RR if _of_transactions(options) else ("send_size",)
        datagram = max(binary_bytes(options.get(name, 0)) for name in names)
        return Transfer("udp", None if _of_transactions(options) else "remote", datagram)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same test for a second, over one flow."""
        return {"test": _test(options), "seconds": 1}

    def bytes_of(self, size: int | str) -> int:
        """Powers of 1024, whatever the case."""
        return binary_bytes(size)

    def untold(self, options: Mapping[str, Any], connections: int) -> bool:
        """The receiver tells."""
        return False

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        """Its server takes one client at a time."""
        return None

    def limit(self, options: Mapping[str, Any]) -> tuple[str, float] | None:
        """It is given no rate."""
        return None

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        """The figures under their columns. Raises ToolFailure for a run that must not count."""
        _refuse_failure(completed, self.seconds(options))
        printed = _Printed(completed.stdout)
        _refuse_ignored(options, printed)
        if _of_transactions(options):
            return _transactions(options, printed, self.seconds(options))
        return _stream(options, printed, self.seconds(options))


_LARGEST = _options.LARGEST_DATAGRAM


class _Printed:
    """The client's `key=value` lines, and its counts of what went through its sockets."""

    def __init__(self, stdout: str) -> None:
        lines = (line.partition("=") for line in stdout.splitlines())
        self.values = {key: text.strip() for key, separator, text in lines if separator}
        self.counts = [
            (float(t), int(sent), int(received))
            for t, sent, received in re.findall(
                r"^t=([0-9]{1,9}\.[0-9]{1,9}) +TX: +[0-9]+ ops, +([0-9]{1,18}) bytes,.*"
                r"RX: +[0-9]+ ops, +([0-9]{1,18}) bytes,",
                stdout,
                re.MULTILINE | re.ASCII,
            )
        ]
        begun = re.findall(r"^t=.*", stdout, re.MULTILINE)
        if len(begun) != len(self.counts):
            raise OutputError("neper printed a count of bytes (t=…) that cannot be read")

    def number(self, key: str) -> float:
        """A figure of at least 0. Raises ToolFailure for everything else."""
        text = self.values.get(key)
        if text is None:
            raise OutputError(f"neper printed no {key}: did it end early?")
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", text, re.ASCII):
            raise OutputError(f"neper printed {key}={text[:60]}, which is not a number")
        return float(text)


def _transactions(options: Mapping[str, Any], printed: _Printed, seconds: float) -> Measurement:
    rate = printed.number("throughput")
    if rate == 0:
        raise ToolFailure("throughput is 0: no transaction was done; is the data path open?")
    elapsed = printed.number("time_end") - printed.number("time_start")
    _refusals.short_run(elapsed, seconds)
    figures: dict[str, Scalar] = {"transaction_rate_tps": rate, "elapsed_s": elapsed}
    figures |= {f"latency_{n}_us": 1e6 * printed.number(f"latency_{n}") for n in _LATENCIES}
    count = rate * elapsed
    sizes = zip(("local", "remote"), _OF_RR, strict=True)
    moved = ((end, count * binary_bytes(options.get(name, 1))) for end, name in sizes)
    flows = tuple(Flow(end, size, size, count) for end, size in moved)
    return Measurement(figures, work=Work(count, flows, transactions=True))


def _stream(options: Mapping[str, Any], printed: _Printed, seconds: float) -> Measurement:
    back = bool(options.get("reverse"))
    rate = printed.number("local_throughput" if back else "remote_throughput") / 1e6
    if not printed.counts:
        raise OutputError("neper printed none of its counts (--iostat-ms)")
    elapsed = printed.counts[-1][0]
    handled = sum(count[2 if back else 1] for count in printed.counts)
    if rate == 0 or handled == 0:
        what = "nothing arrived" if back or handled else "no data was sent"
        raise ToolFailure(f"throughput is 0: {what}; is the data path open?")
    _refusals.short_run(elapsed, seconds)
    arrived = rate * 1e6 / 8 * elapsed
    sent = arrived if back else max(arrived, float(handled))
    sender, receiver = ("remote", "local") if back else ("local", "remote")
    figures: dict[str, Scalar] = {
        "throughput_mbps": rate,
        "elapsed_s": elapsed,
        f"{receiver}_recv_throughput_mbps": rate,
    }
    if not back:
        figures["local_send_throughput_mbps"] = sent * 8 / 1e6 / elapsed
    counted = sent if _test(options).startswith("udp") else arrived
    return Measurement(figures, work=Work(counted / 1024, (Flow(sender, sent, arrived),)))


def _test(options: Mapping[str, Any]) -> str:
    return str(options.get("test", "tcp_stream"))


def _of_transactions(options: Mapping[str, Any]) -> bool:
    return _test(options).endswith("rr")


def _flags(options: Mapping[str, Any], ends: ServerAddress, seconds: float) -> Iterator[str]:
    """What both ends are told."""
    yield from ("-H", ends.address, "-C", str(ends.port), "-P", str(ends.port + 1))
    yield from (_NO_FILE, "-l", f"{seconds:g}", "-I", f"{min(1.0, max(0.1, seconds / 100)):g}")
    for option, flag in _FLAGS.items():
        if options.get(option) is not None:
            yield from (flag, _written(option, options[option]))
    if options.get("reverse"):
        yield "-M"
    if options.get("nodelay"):
        yield "--no-delay"


def _written(option: str, value: Any) -> str:
    return str(binary_bytes(value)) if option.endswith("_size") else str(value)


def _refuse_failure(completed: Completed, seconds: float) -> None:
    """Raise when neper did not end by itself with exit status 0."""
    lines = dict.fromkeys(line.strip() for line in completed.stderr.splitlines() if line.strip())
    complaint = one_line(" ".join(lines))[:300]
    if completed.timed_out:
        why = complaint or "is the data link down?"
        raise ToolFailure(
            f"neper of {seconds:g} s had not ended after {completed.command.deadline:g} s and was "
            f"killed: {why}",
            status="timeout",
        )
    if completed.truncated:
        raise OutputError("neper printed too much output to keep")
    if completed.status != 0:
        why = complaint or _last_line(completed.stdout) or "it printed nothing"
        if "Read error" in why:
            why += "; its server is gone, or is another program"
        raise ToolFailure(f"neper exited {completed.status}: {why}")
    if ignored := [line for line in lines if line.startswith("setsockopt(")]:
        raise ToolFailure(f"an option did not take: {ignored[0]}", status="invalid")


def _last_line(text: str) -> str:
    return one_line(next((line for line in reversed(text.splitlines()) if line.strip()), ""))[:300]


def _refuse_ignored(options: Mapping[str, Any], printed: _Printed) -> None:
    """Raise for options that neper understood otherwise."""
    for option, key in _ECHOED.items():
        if options.get(option) is None:
            continue
        wanted, used = _written(option, options[option]), printed.values.get(key)
        if used != wanted:
            raise ToolFailure(
                f"{option} {wanted} was asked for and neper says {key}={used}", status="invalid"
            )


def _wrong(option: str, problem: str) -> InputError:
    return InputError(f"measure.neper.{option}: {problem}")
