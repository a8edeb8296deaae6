"""neper (1.1 and later): Google's `tcp_rr`, `tcp_stream` and similar programs.

neper prints bytes only with `--iostat-ms`, and only for the client's sockets. So the work of a
stream is the receiver's rate times the client's time, and the loss of datagrams is unknown. neper
exits 0 even if it was interrupted, or if the kernel rejected an option. Only stderr shows that an
option was rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from netlimits.errors import OutputError, one_line
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool, Transfer
from netlimits.units.sizes import SIZE, binary_bytes

TESTS = ("tcp_rr", "tcp_crr", "tcp_stream", "udp_rr", "udp_stream")
"""neper's programs; each is a test."""

_NO_LOG = "--nolog"
"""Flag without which every call, even `--version`, writes a log file into the home directory."""

_NEEDED = ("--iostat-ms", _NO_LOG)
_PERCENTILES = (50, 90, 99)
_LATENCIES = ("min", "mean", "max", "stddev", *(f"p{number}" for number in _PERCENTILES))
_OF_RR = ("request_size", "response_size")
_OF_STREAMS = ("send_size", "reverse", "zerocopy", "rx_zerocopy", "skip_rx_copy")
_FLAGS = {
    "parallel": "-F",
    "threads": "-T",
    "request_size": "-Q",
    "response_size": "-R",
    "send_size": "-B",
    "congestion_control": "--congestion-control",
}
_SWITCHES = {
    "zerocopy": "--zerocopy",
    "rx_zerocopy": "--rx-zerocopy",
    "skip_rx_copy": "--skip-rx-copy",
}
"""Option of a stream -> its flag, which some builds lack."""

_ECHOED = {
    "parallel": "num_flows",
    "threads": "num_threads",
    "request_size": "request_size",
    "response_size": "response_size",
    "send_size": "buffer_size",
    "congestion_control": "congestion_control",
}
"""Option -> the key under which the client prints the value that it uses."""


class Neper(Tool):
    name = "neper"
    server_program = "tcp_rr"
    port = 12866
    separate_control = True
    schema = _options.schema(
        name,
        "One test of neper between the first role and the last; both run the same program.",
        test={
            "enum": list(TESTS),
            "default": "tcp_stream",
            "description": "The program of neper to run.",
        },
        seconds=_options.whole_seconds("Length of a run in whole seconds (-l)."),
        parallel=_options.parallel("Number of flows (-F), spread over the threads."),
        threads=_options.parallel("Number of threads on each end (-T)."),
        request_size={**SIZE, "description": "Bytes per request (-Q), K M G are 1024^n."},
        response_size={**SIZE, "description": "Bytes per response (-R), K M G are 1024^n."},
        send_size={
            **SIZE,
            "description": "Bytes per send of a stream (-B), or size of UDP datagrams; K M G are "
            "1024^n.",
        },
        reverse=_options.switch("The server sends (tcp_stream -M)."),
        nodelay=_options.switch("Set TCP_NODELAY (--no-delay)."),
        zerocopy=_options.switch(
            "Send with MSG_ZEROCOPY (-Z). neper does not report whether the kernel copied anyway."
        ),
        rx_zerocopy=_options.switch("Receive with TCP_ZEROCOPY_RECEIVE (-z)."),
        skip_rx_copy=_options.switch("Discard received data without copying it (--skip-rx-copy)."),
        congestion_control=_options.congestion_control(
            "Congestion control of both ends (--congestion-control)."
        ),
    )

    def probes(self) -> tuple[Command, ...]:
        versions = (Command((name, _NO_LOG, "--version")) for name in TESTS)
        usages = (Command((name, _NO_LOG, "--help")) for name in ("tcp_rr", "tcp_stream"))
        return (*usages, *versions)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        options, of_streams, *versions = completed
        numbers = [re.fullmatch(r"(\d+(\.\d+)+)\s*", each.stdout) for each in versions]
        present = [name for name, number in zip(TESTS, numbers, strict=True) if number]
        first = next(filter(None, numbers), None)
        if first is None:
            advice = "no distribution has it: build it from its source, or leave neper out"
            raise _output.absent("neper's tcp_rr", versions[0], advice)
        _output.check_features(f"neper {first[1]}", _NEEDED, options.stdout, "build a newer one")
        usage = of_streams.stdout + of_streams.stderr
        present += [flag for flag in _SWITCHES.values() if flag in usage]
        return Features(first[1], frozenset(present))

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)
        test = _test(options)
        wrong = partial(_options.wrong, self.name)
        if features.names and test not in features.names:
            raise wrong("test", f"there is no {test} on this host; build all of neper")
        for option, flag in _SWITCHES.items():
            if options.get(option):
                _options.check_feature(self.name, option, flag, features)
        if options.get("rx_zerocopy") and options.get("skip_rx_copy"):
            raise wrong("rx_zerocopy", "it does not go with skip_rx_copy; leave one of them out")
        for option in _OF_STREAMS if test.endswith("rr") else _OF_RR:
            if options.get(option):
                raise wrong(option, f"it is not for {test}; leave it out")
        if test.startswith("udp"):
            for option in ("reverse", "nodelay", "congestion_control"):
                if options.get(option):
                    raise wrong(option, "it is for TCP only; leave it out")
            for option in ("send_size", *_OF_RR):
                _options.check_datagram(self.name, options, option)
        if options.get("threads", 1) > options.get("parallel", 1):
            raise wrong("threads", "more threads than flows; raise `parallel` or lower `threads`")

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        argv = (_test(options), *_flags(options, ends, self.seconds(options)))
        return _commands.server(argv, options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        seconds = self.seconds(options)
        percentiles = ("-p", ",".join(map(str, _PERCENTILES))) if _is_rr(options) else ()
        argv = (
            *(_test(options), "-c", *_flags(options, ends, seconds)),
            *("--iostat-ms", "1000", *percentiles),
        )
        return _commands.client(argv, options, seconds)

    def processes(self, options: Mapping[str, Any]) -> tuple[str, str]:
        return _test(options), _test(options)

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        udp, both = _test(options).startswith("udp"), _is_rr(options)
        names = _OF_RR if both else ("send_size",)
        datagram = max(binary_bytes(options.get(name, 0)) for name in names) if udp else 0
        receiver = super().transfer(options).receiver
        return Transfer("udp" if udp else "tcp", None if both else receiver, datagram)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"test": _test(options), "seconds": 1}

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        _refuse_failure(completed, self.seconds(options))
        printed = _Printed(completed.stdout)
        _refuse_ignored(options, printed)
        if _is_rr(options):
            return _transactions(options, printed, self.seconds(options))
        return _stream(options, printed, self.seconds(options))


class _Printed:
    """The client's output: the `key=value` lines, and the byte counts of its sockets."""

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
        if len(re.findall(r"^t=.*", stdout, re.MULTILINE)) != len(self.counts):
            raise OutputError("neper printed a count of bytes (t=…) that cannot be read")

    def number(self, key: str) -> float:
        text = self.values.get(key)
        if text is None:
            raise OutputError(f"neper printed no {key}: did it end early?")
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", text, re.ASCII):
            raise OutputError(f"neper printed {key}={text[:60]}, which is not a number")
        return float(text)


def _transactions(options: Mapping[str, Any], printed: _Printed, seconds: float) -> Measurement:
    rate = printed.number("throughput")
    if rate == 0:
        raise _output.no_data("no transaction was done")
    elapsed = printed.number("time_end") - printed.number("time_start")
    _output.check_length(elapsed, seconds)
    figures: dict[str, Scalar] = {"transaction_rate_tps": rate, "elapsed_s": elapsed}
    figures |= {f"latency_{n}_us": 1e6 * printed.number(f"latency_{n}") for n in _LATENCIES}
    count = rate * elapsed
    request, response = (binary_bytes(options.get(name, 1)) for name in _OF_RR)
    work = _output.transaction_work(count, request, response, packets=count)
    return Measurement(figures, work=work)


def _stream(options: Mapping[str, Any], printed: _Printed, seconds: float) -> Measurement:
    back = bool(options.get("reverse"))
    rate = printed.number("local_throughput" if back else "remote_throughput") / 1e6
    if not printed.counts:
        raise OutputError("neper printed none of its counts (--iostat-ms)")
    elapsed = printed.counts[-1][0]
    handled = sum(count[2 if back else 1] for count in printed.counts)
    if rate == 0 or handled == 0:
        raise _output.no_data("nothing arrived" if back or handled else "no data was sent")
    _output.check_length(elapsed, seconds)
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
    flows = [Flow(sender, sent, arrived)]
    work = _output.stream_work(flows, datagrams=_test(options).startswith("udp"))
    return Measurement(figures, work=work)


def _test(options: Mapping[str, Any]) -> str:
    return str(options.get("test", "tcp_stream"))


def _is_rr(options: Mapping[str, Any]) -> bool:
    return _test(options).endswith("rr")


def _flags(options: Mapping[str, Any], ends: ServerAddress, seconds: float) -> Iterator[str]:
    yield from ("-H", ends.address, "-C", str(ends.port), "-P", str(ends.port + 1))
    yield from (_NO_LOG, "-l", f"{seconds:g}", "-I", f"{min(1.0, max(0.1, seconds / 100)):g}")
    yield from _commands.flags(_in_bytes(options), _FLAGS)
    if options.get("reverse"):
        yield "-M"
    if options.get("nodelay"):
        yield "--no-delay"
    yield from (flag for option, flag in _SWITCHES.items() if options.get(option))


def _in_bytes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert sizes to bytes, since neper accepts no suffixes."""
    return {
        name: binary_bytes(value) if name.endswith("_size") and value is not None else value
        for name, value in options.items()
    }


def _refuse_failure(completed: Completed, seconds: float) -> None:
    """Raise ToolFailure unless neper ended in time, exited 0 and set all socket options."""
    lines = dict.fromkeys(line.strip() for line in completed.stderr.splitlines() if line.strip())
    complaint = one_line(" ".join(lines))[:300]
    _output.check_ended(completed, "neper", seconds, complaint or "is the data link down?")
    reason = complaint or _last_line(completed.stdout)
    if "Read error" in reason:
        reason += "; its server is gone, or is another program"
    _output.check_status(completed, "neper", reason)
    if ignored := [line for line in lines if line.startswith("setsockopt(")]:
        raise _output.invalid(f"an option did not take: {ignored[0]}")


def _last_line(text: str) -> str:
    return one_line(next((line for line in reversed(text.splitlines()) if line.strip()), ""))[:300]


def _refuse_ignored(options: Mapping[str, Any], printed: _Printed) -> None:
    requested = _in_bytes(options)
    for option, key in _ECHOED.items():
        wanted, used = requested.get(option), printed.values.get(key)
        if wanted is not None and used != str(wanted):
            raise _output.invalid(f"{option} {wanted} was asked for and neper says {key}={used}")
