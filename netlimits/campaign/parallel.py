"""Parallel streams: start several clients at once on one host, and merge their results.

One shell script starts the clients within milliseconds. When all have ended, it prints their output
between markers. So the output of a failed stream is kept, too.

The sum of the streams' throughputs is too high, because at the start and the end some streams have
the link to themselves. So the total rate is computed from the receivers' interim results, over the
window that all streams share. The senders' results also count data that waits in a socket's buffer
or is lost on the way. With them, a path of 20 Mbit/s gave 25 Mbit/s.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, Flow, Measurement, Scalar, Work

RATES = ("throughput_mbps", "transaction_rate_tps")
SENT = "local_send_throughput_mbps"
RECEIVED = ("remote_recv_throughput_mbps", "local_recv_throughput_mbps")
TOTALS = (SENT, "remote_send_throughput_mbps", *RECEIVED)
"""Rates over a stream's own time. To merge streams, their data is added up, not their rates."""

COUNTS = (
    "local_send_calls",
    "remote_recv_calls",
    "remote_send_calls",
    "local_recv_calls",
    "local_transport_retrans",
    "remote_transport_retrans",
)
LEAST, MOST = ("latency_min_us",), ("latency_max_us",)
SAME = ("transport_mss_bytes", "local_send_size_bytes")

LONGEST = 120_000
"""Maximum size of a script in bytes: the kernel accepts 128 KiB in one argument."""

_MARK = "=== netlimits stream"
_HEAD = re.compile(rf"^{_MARK} (\d+) (out|err) (\d+)$", re.MULTILINE)
SETUP = (
    "d=$(mktemp -d) || exit 125\ntrap 'rm -rf \"$d\"' EXIT\ntrap : TERM INT HUP\nexec </dev/null\n"
)


def together(commands: Sequence[Command]) -> Command:
    """Return a command that runs all `commands` at once. Raises InputError if they are too many."""
    if len(commands) == 1:
        return commands[0]
    start = [
        f'{shlex.join(c.argv)} >"$d/{n}.out" 2>"$d/{n}.err" & p{n}=$!\n'
        for n, c in enumerate(commands, 1)
    ]
    numbers = range(1, len(commands) + 1)
    script = "".join((SETUP, *start, waiting(numbers), showing(numbers)))
    if len(script.encode()) > LONGEST:
        raise InputError(f"{len(commands)} streams from one host are too many; take fewer")
    return Command(("sh", "-c", script), deadline=max(c.deadline for c in commands))


def waiting(numbers: Iterable[int]) -> str:
    """Return the lines of a script that wait for clients and keep their exit status."""
    return "".join(f"wait $p{n}; s{n}=$?\n" for n in numbers)


def showing(numbers: Iterable[int]) -> str:
    """Return the lines of a script that print the clients' output between markers."""
    return "".join(
        f'echo "{_MARK} {n} {kind} $s{n}"; cat "$d/{n}.{kind}"; echo\n'
        for n in numbers
        for kind in ("out", "err")
    )


def split(completed: Completed, count: int) -> tuple[Completed, ...]:
    """Return the output and exit status of each stream of `together`."""
    if count == 1:
        return (completed,)
    pieces = _HEAD.split(completed.stdout)[1:]
    heads = list(zip(*(iter(pieces),) * 4, strict=True))
    if completed.timed_out or completed.truncated or len(heads) != 2 * count:
        printed = completed.complaint or f"exit status {completed.status}"
        why = (
            "were killed at their deadline" if completed.timed_out else f"were cut short: {printed}"
        )
        raise ToolFailure(
            f"{count} parallel streams {why}", status="timeout" if completed.timed_out else "failed"
        )
    return tuple(
        replace(completed, status=int(out[2]), stdout=_unframed(out[3]), stderr=_unframed(err[3]))
        for out, err in zip(heads[::2], heads[1::2], strict=True)
    )


def _unframed(text: str) -> str:
    """Return the text between two markers, without the line breaks that the script added."""
    return text.removeprefix("\n").removesuffix("\n")


@dataclass(frozen=True, slots=True)
class _Curve:
    """A stream's cumulative data, interpolated linearly between the ends of interim results."""

    times: Sequence[float]
    sums: Sequence[float]

    def at(self, time: float) -> float:
        place = bisect_right(self.times, time)
        if place == 0 or place == len(self.times):
            return self.sums[0] if place == 0 else self.sums[-1]
        before, after = self.times[place - 1], self.times[place]
        share = (time - before) / (after - before)
        return self.sums[place - 1] + share * (self.sums[place] - self.sums[place - 1])


def merged(measurements: Sequence[Measurement]) -> Measurement:
    """Merge the streams into one measurement, with the rate of the window that all streams share.

    The rate is computed over `window_s`, or over `elapsed_s` if the interim results are the
    senders'. The rates of TOTALS are computed over `elapsed_s`, the time from the first start to
    the last end. So rate times `elapsed_s` is the amount of data. Counts of calls are summed. The
    result also has `streams`, `start_skew_s` and `end_skew_s`. Figures that cannot be merged (a
    percentile of latency) are left out. Interim rows get a column `stream`, which counts from 1.

    A single measurement is returned unchanged. Raises ToolFailure if one of several streams has no
    interim results, or the streams share no time.
    """
    if len(measurements) == 1:
        return measurements[0]
    figures = [m.figures for m in measurements]
    rate = next((name for name in RATES if name in figures[0]), RATES[0])
    curves = [_curve(m, rate, n) for n, m in enumerate(measurements, 1)]
    starts, ends = [c.times[0] for c in curves], [c.times[-1] for c in curves]
    begin, end = max(starts), min(ends)
    if end <= begin:
        raise ToolFailure(
            f"the {len(curves)} streams never ran all together: one ended {begin - end:.3g} s "
            "before another began",
            status="invalid",
        )
    # a tool may omit its last interim result; then `elapsed_s` says when the stream ended
    over = [
        max(c.times[-1], c.times[0] + number(f, "elapsed_s")) if "elapsed_s" in f else c.times[-1]
        for c, f in zip(curves, figures, strict=True)
    ]
    span = max(over) - min(starts)
    if all(rate in m.interim[0] for m in measurements):
        combined: dict[str, Scalar] = {
            rate: sum(c.at(end) - c.at(begin) for c in curves) / (end - begin),
            "window_s": end - begin,
        }
    else:
        combined = {rate: _volume(figures, rate) / span}
    for name in TOTALS:
        if all(name in f for f in figures):
            combined[name] = _volume(figures, name) / span
    ways = [name for name in RECEIVED if name in combined]
    if "window_s" in combined and rate == RATES[0] and len(ways) == 1:
        combined[ways[0]] = combined[rate]  # one direction: both are the same rate
    if all("loss_pct" in f for f in figures):
        combined["loss_pct"] = 100 * (1 - _volume(figures, rate) / _volume(figures, SENT))
    for names, add in ((COUNTS, sum), (LEAST, min), (MOST, max)):
        for name in names:
            if all(name in f for f in figures):
                combined[name] = add([number(f, name) for f in figures])
    for name in SAME:
        if len({f.get(name) for f in figures}) == 1 and name in figures[0]:
            combined[name] = figures[0][name]
    combined |= {
        "elapsed_s": span,
        "streams": len(curves),
        "start_skew_s": begin - min(starts),
        "end_skew_s": max(over) - min(over),
    }
    interim = tuple(
        {"stream": n, **row} for n, m in enumerate(measurements, 1) for row in m.interim
    )
    return Measurement(combined, interim, summed([m.work for m in measurements]))


def summed(works: Sequence[Work | None]) -> Work | None:
    """Return the sum of several clients' work, or None if the work of one client is unknown."""
    parts = [work for work in works if work is not None]
    if not parts or len(parts) < len(works):
        return None
    senders = dict.fromkeys(flow.sender for work in parts for flow in work.flows)
    flows = []
    for sender in senders:
        own = [flow for work in parts for flow in work.flows if flow.sender == sender]
        sums = (sum(getattr(f, name) for f in own) for name in ("sent", "arrived", "packets"))
        flows.append(Flow(sender, *sums))
    units = sum(work.units for work in parts)
    return Work(units, tuple(flows), parts[0].transactions)


def arrived(
    streams: Sequence[Measurement], figures: Mapping[str, Scalar], seconds: float
) -> Iterator[tuple[str, float]]:
    """Yield each end that sent data, and the rate in Mbit/s at which it arrived at the other end.

    Yield nothing for transactions, or if the data of a stream is unknown.
    """
    work = summed([stream.work for stream in streams])
    if work is None or work.transactions:
        return
    for flow in work.flows:
        receiver = "remote" if flow.sender == "local" else "local"
        name = "throughput_mbps" if len(work.flows) == 1 else f"{receiver}_recv_throughput_mbps"
        rate = figures.get(name)
        if rate is not None:
            yield flow.sender, float(rate)
        elif seconds > 0:
            yield flow.sender, flow.arrived * 8 / 1e6 / seconds


def _curve(measured: Measurement, rate: str, stream: int) -> _Curve:
    rows = sorted(measured.interim, key=lambda row: row["ending_s"])
    if not rows:
        raise ToolFailure(
            f"stream {stream} has no interim results, without which parallel streams cannot be "
            "added up: set interim_seconds"
        )
    column = rate if rate in rows[0] else SENT
    times = [rows[0]["ending_s"] - rows[0]["interval_s"], *(row["ending_s"] for row in rows)]
    sums = accumulate((row[column] * row["interval_s"] for row in rows), initial=0.0)
    return _Curve(times, list(sums))


def _volume(figures: Sequence[Mapping[str, Scalar]], rate: str) -> float:
    """Return the amount of data of all streams: the sum of each stream's rate times its time."""
    return sum(number(f, rate) * number(f, "elapsed_s") for f in figures)


def number(figures: Mapping[str, Scalar], name: str) -> float:
    """Return a stream's figure. Raises ToolFailure if it is missing, which must not count as 0."""
    value = figures.get(name)
    if value is None:
        raise ToolFailure(f"a stream reports no {name}: the streams cannot be added up")
    return float(value)
