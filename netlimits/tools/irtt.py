"""irtt: isochronous round trips over UDP, with the delay and the loss of each way.

One-way delays are differences between two hosts' clocks, so they are correct only if the clocks
agree.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlimits.errors import OutputError, one_line
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, ServerAddress, Work
from netlimits.tools import _commands, _options, _output
from netlimits.tools._base import Features, Tool, Transfer, run_seconds

INTERVAL, LENGTH = 0.01, 60
"""Default seconds between packets, and default bytes per packet, which hold irtt's own fields."""

INTERIM_SECONDS = 1.0
"""Default length of an interim result, in seconds."""

WAIT = 4.0
"""Seconds that irtt waits at the end if no answer came; otherwise 3 × the longest round trip."""

OPEN = 15.0
"""Seconds after which irtt gives up if no server answers (1 + 2 + 4 + 8)."""

LEAST_SENT = 0.8
"""Minimum share of the planned packets; if irtt is late, it skips packets."""

MOST = 20_000
"""Maximum number of packets of a run, since irtt prints about 900 bytes for each packet."""

_NEGOTIATED = {
    "interval": "an interval of {} ns",
    "length": "a length of {}",
    "dscp": "a ToS of {}",
}
"""Parameter that client and server negotiate -> its name in errors."""


class Irtt(Tool):
    name = "irtt"
    server_program = "irtt"
    port = 2112
    server_lasts = "campaign"
    listens_on = "udp"
    streams_of = "netperf"
    schema = _options.schema(
        name,
        "Round trips from the first role to the last over UDP, at a fixed interval. `bulk` adds "
        "TCP streams of netperf beside them.",
        seconds=_options.length("Length of a run (-d)."),
        interval={
            "type": "number",
            "minimum": 0.00001,
            "maximum": 15,
            "default": INTERVAL,
            "description": "Seconds between two packets (-i).",
        },
        length=_options.integer(
            LENGTH,
            _options.LARGEST_DATAGRAM,
            "Bytes of a packet and of its reply (-l).",
            default=LENGTH,
        ),
        dscp=_options.dscp("DSCP of the packets and of their replies (--dscp)."),
        interim_seconds=_options.interim(
            60, f"Seconds that an interim result covers; default: {INTERIM_SECONDS:g}."
        ),
    )

    def probes(self) -> tuple[Command, ...]:
        return (Command(("irtt", "version")),)

    def features(self, completed: tuple[Completed, ...]) -> Features:
        (version,) = completed
        match = re.search(r"^irtt version: (\S+)", version.stdout, re.MULTILINE)
        if not match:
            raise _output.absent("irtt", version, "install it (Debian and Ubuntu: irtt)")
        return Features(match[1])

    def check(self, options: Mapping[str, Any], features: Features) -> None:
        _options.check_cpus(self.name, options)
        packets = run_seconds(options) / options.get("interval", INTERVAL)
        if packets > MOST:
            problem = f"makes {packets:,.0f} packets, more than the {MOST:,} of a run; lengthen it"
            raise _options.wrong(self.name, "interval", problem)

    def server(self, options: Mapping[str, Any], ends: ServerAddress) -> Command:
        argv = ("irtt", "server", "-b", _at(ends), "-i", "0", "-l", "0", "-d", "0")
        return _commands.server(argv, options)

    def client(
        self, options: Mapping[str, Any], features: Features, ends: ServerAddress
    ) -> Command:
        argv = (
            *("irtt", "client", "-q", "-o", "-", "--fill=rand"),
            *("-d", f"{run_seconds(options):g}s", "-i", f"{1e9 * _interval(options):.0f}ns"),
            *("-l", str(options.get("length", LENGTH))),
            *((f"--dscp={4 * options['dscp']}",) if "dscp" in options else ()),
            _at(ends),
        )
        own = {name: value for name, value in options.items() if name != "interim_seconds"}
        return _commands.client(argv, own, run_seconds(options) + WAIT + OPEN)

    def shortest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"seconds": 0.1, "interval": 0.01}

    def transfer(self, options: Mapping[str, Any]) -> Transfer:
        return Transfer("udp", None, int(options.get("length", LENGTH)))

    def bulk(
        self, options: Mapping[str, Any], direction: str, seconds: int
    ) -> Mapping[str, Any] | None:
        test = "TCP_STREAM" if direction == "send" else "TCP_MAERTS"
        return {"test": test, "seconds": seconds, "cpu": False}

    def read(self, completed: Completed, options: Mapping[str, Any]) -> Measurement:
        return _measurement(_document(completed, options), options)


@dataclass(frozen=True, slots=True)
class _RoundTrip:
    """A packet: the time when it was sent (epoch seconds), and its delays in µs (None if lost)."""

    sent: float
    latency: float | None
    out: float | None
    back: float | None


def _at(ends: ServerAddress) -> str:
    address = f"[{ends.address}]" if ":" in ends.address else ends.address
    return f"{address}:{ends.port}"


def _interval(options: Mapping[str, Any]) -> float:
    return float(options.get("interval", INTERVAL))


def _document(completed: Completed, options: Mapping[str, Any]) -> Mapping[str, Any]:
    _output.check_ended(completed, "irtt", run_seconds(options))
    complaints = [line for line in completed.stderr.splitlines() if line.startswith("Error")]
    _output.check_status(completed, "irtt", one_line(complaints[-1])[:300] if complaints else "")
    text = completed.stdout[completed.stdout.find("{") : completed.stdout.rfind("}") + 1]
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise OutputError("irtt printed no whole JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("round_trips"), list):
        raise OutputError("irtt printed no round_trips")
    return document


def _measurement(document: Mapping[str, Any], options: Mapping[str, Any]) -> Measurement:
    stats = document.get("stats")
    sent, received, duration = (
        _number(stats, name) for name in ("packets_sent", "packets_received", "duration")
    )
    elapsed = max(duration / 1e9 + _interval(options), _interval(options))
    _output.check_length(elapsed, run_seconds(options))
    _refuse_ignored(document, options)
    wanted = elapsed / _interval(options)
    if sent < LEAST_SENT * wanted:
        raise _output.invalid(
            f"irtt sent {sent:.0f} packets where an interval of {_interval(options):g} s makes "
            f"{wanted:.0f}: the host is too slow or too busy for it"
        )
    trips = [*_round_trips(document["round_trips"])]
    latencies = [trip.latency for trip in trips if trip.latency is not None]
    if not latencies:
        raise _output.no_data(f"none of {sent:.0f} packets was answered", "there is no latency")
    figures: dict[str, Scalar] = {
        "transaction_rate_tps": received / elapsed,
        "elapsed_s": elapsed,
        **{f"latency_{name}_us": value for name, value in _summary(latencies).items()},
        "latency_stddev_us": statistics.pstdev(latencies),
        "loss_pct": _number(stats, "packet_loss_percent"),
        "irtt_send_loss_pct": _number(stats, "upstream_loss_percent"),
        "irtt_recv_loss_pct": _number(stats, "downstream_loss_percent"),
        "irtt_timer_missed_pct": _number(stats, "timer_miss_percent"),
    }
    steps = [abs(b - a) for a, b in itertools.pairwise(latencies)]
    if steps:
        figures["jitter_us"] = statistics.fmean(steps)
    for way in ("out", "back"):
        delays = [delay for trip in trips if (delay := getattr(trip, way)) is not None]
        name = {"out": "send_delay", "back": "recv_delay"}[way]
        figures |= {
            f"irtt_{name}_{part}_us": value
            for part, value in _summary(delays).items()
            if part in ("p50", "p99")
        }
    length = float(options.get("length", LENGTH))
    flows = (
        Flow("local", sent * length, _number(stats, "server_packets_received") * length, received),
        Flow("remote", received * length, received * length, received),
    )
    over = float(options.get("interim_seconds", INTERIM_SECONDS))
    rows = tuple(_interim(trips, over, _interval(options)))
    return Measurement(figures, rows, Work(received, flows, transactions=True))


def _refuse_ignored(document: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    params = document.get("config", {}).get("params", {})
    wanted = {
        "interval": round(1e9 * _interval(options)),
        "length": options.get("length", LENGTH),
        "dscp": options.get("dscp", 0) * 4,
    }
    for name, value in wanted.items():
        if params.get(name) != value:
            raise _output.invalid(
                f"{_NEGOTIATED[name].format(value)} was asked for, and {params.get(name)} used"
            )


def _round_trips(rows: Sequence[Any]) -> Iterator[_RoundTrip]:
    for row in rows:
        try:
            sent = row["timestamps"]["client"]["send"]["wall"] / 1e9
            delay = row["delay"]
            rtt, out, back = (
                float(delay[name]) / 1e3 if name in delay else None
                for name in ("rtt", "send", "receive")
            )
        except (KeyError, TypeError, ValueError):
            raise OutputError("irtt printed a round trip without its times") from None
        yield _RoundTrip(float(sent), rtt, out, back)


def _summary(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return {
        "min": ordered[0],
        "mean": statistics.fmean(ordered),
        "p50": at(0.5),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": ordered[-1],
    }


def _interim(
    trips: Sequence[_RoundTrip], over: float, every: float
) -> Iterator[Mapping[str, float]]:
    """Yield the latency and loss of the packets that were sent in each whole interval.

    Intervals last `over` seconds, and packets are sent every `every` seconds. An interval without
    replies has no latency.
    """
    begin = trips[0].sent
    count = int((trips[-1].sent - begin + every) / over + 1e-6)
    for number in range(count):
        low = begin + number * over
        those = [trip for trip in trips if low <= trip.sent < low + over]
        answered = [trip.latency for trip in those if trip.latency is not None]
        if not those:
            continue
        yield {
            "ending_s": low + over,
            "interval_s": over,
            "loss_pct": 100 * (1 - len(answered) / len(those)),
            **{
                f"latency_{part}_us": value
                for part, value in _summary(answered).items()
                if part in ("p50", "p99", "max")
            },
        }


def _number(node: Any, name: str) -> float:
    entry = node.get(name) if isinstance(node, dict) else None
    if isinstance(entry, bool) or not isinstance(entry, int | float) or not math.isfinite(entry):
        raise OutputError(f"irtt says {name} is {str(entry)[:60]!r}, which is not a number")
    return float(entry)
