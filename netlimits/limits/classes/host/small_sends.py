"""Calls that carry less than a segment, from a thread that makes as many calls as it can."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import cpus, goal, queues

THREAD_PCT = 75.0
"""Minimum % of a CPU that the sending thread uses and waits for. Softirq for its packets uses the
rest."""
FRAME = 1460.0
"""Maximum bytes of a full segment, if the size of calls is unknown. Over loopback the MSS is up to
64 KiB, and netperf's sends of 16 KiB would otherwise count as small."""
OF_SEGMENT = 0.5
"""Maximum share of a segment that a small call carries."""

LABEL = Label(
    """factors: {send_size: [32, 64, 128, 256], recv_size: [16384, 65536]}
measure:
  netperf:
    test: TCP_STREAM
    seconds: 2
    send_size: "${send_size}"
    recv_size: "${recv_size}"
    nodelay: true
"""
)


class SmallSends:
    name = "small-sends"
    title = "Small sends"
    needs = ("send_calls", "process_cpu_pct", "mss_bytes")
    intervention = Intervention("four times the send size", "send_size", 4, 1.5)
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the bytes per call (or segment) and the CPU of the sending thread."""
        size, per, column = _bytes_per_call(run), "call", "bytes_per_call"
        mss = run.figure("transport_mss_bytes") or run.sent("mss_bytes")
        segment = None if run.udp else run.packet_bytes
        if size is None and segment and mss and segment < OF_SEGMENT * min(mss, FRAME):
            # a stream that is not made of small calls fills its segments
            size, per, column = segment, "segment", "packet_bytes"
        busy = run.process_pct(run.sender)
        waited = run.own(f"{run.sender}_cpu_wait_pct") or 0.0
        used = busy
        if busy is None:
            busy = run.sent("cpu_peak_pct")
        elif waited:
            busy = min(100.0, busy + waited)  # what the thread would use of a CPU of its own
        if size is None or mss is None or busy is None:
            return None
        cpu = cpus.sign(run, "sender", run.sender)
        text = f"{size:,.0f} bytes a {per}, where a segment takes {mss:,.0f}"
        calls_told = f"a sender that is {busy:.0f} % busy with calls"
        if used is not None and waited >= 1:
            calls_told = (
                f"a sender that used {used:.0f} % of a CPU and waited {waited:.0f} % for one"
            )
        full = max(cpu.strength if cpu else 0.0, busy / cpus.BUSY_PCT)
        return Sign(
            (
                Premise(full, f"no CPU of the sender is full: {calls_told}"),
                Premise.reached(busy, THREAD_PCT, f"it is {calls_told}"),
                Premise.below(size, OF_SEGMENT * mss, f"they are not small: {text}"),
                *goal.premises(run),
                *queues.arrived_as_sent(run),
            ),
            f"Small sends: {text}, from {calls_told}.",
            {column: size, "mss_bytes": mss, "process_cpu_pct": busy},
        )


def _bytes_per_call(run: RunFigures) -> float | None:
    calls, rate, elapsed = run.sent("send_calls"), run.throughput, run.elapsed
    if not calls or rate is None or elapsed is None:
        return run.send_bytes
    sent = run.own(f"{run.sender}_send_throughput_mbps") or rate
    return sent * 1e6 / 8 * elapsed / calls
