"""The receive window: the sender waits for the receiver to grant more data, not for the path."""

from __future__ import annotations

from netlimits.limits import bounds
from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.premises import goal, queues, start

LIMITED_PCT, PACED_PCT, AT_BOUND = 50.0, 20.0, (0.85, 1.1)
"""Minimum % of its busy time that the sender waits for the window. PACED_PCT applies if the
ratio of throughput to window / min_rtt is within AT_BOUND. A sender that paces itself (BBR)
waits less: 35 % was measured at a ratio of 0.92."""
OF_WINDOW = 0.5
"""Minimum ratio of throughput to window / rtt. It was 0.9 to 1.2 where the window limits."""
LOST = 0.05
"""Maximum share of segments lost. With more losses, a flow rarely fills its window."""
RTT_INFLATION = 2.0
"""Maximum ratio of rtt to min_rtt: above it the sender waits for a queue on the path."""

LABELS = tuple(
    Label(
        """factors: {buffer: [8192, 16384, 32768, 65536]}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: 16384, remote_buffer: "${buffer}"}
""",
        link=f"--delay {delay}",
    )
    for delay in ("5ms", "20ms")
)


class ReceiveWindow:
    name = "receive-window"
    title = "The receive window"
    needs = ("rwnd_limited_pct", "rtt_us", "min_rtt_us")
    intervention = Intervention("twice the receive buffer (rmem)", "receive_buffer", 2, 1.3)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the time spent waiting for the window, if the RTT shows no queue."""
        limited = run.sent("rwnd_limited_pct")
        rtt, least_rtt = run.sent("rtt_us"), run.sent("min_rtt_us")
        if limited is None or rtt is None or not least_rtt:
            return None
        granted, rate = run.sent("snd_wnd_bytes"), run.throughput
        filled, least = [], LIMITED_PCT
        bound = bounds.of_mechanism("receive window", run)
        if bound and rate and AT_BOUND[0] <= rate / bound.mbps <= AT_BOUND[1]:
            least = PACED_PCT
        if granted and rate is not None:
            most = granted * 8 / rtt  # bits per µs = Mbit/s
            short = f"its window would let {mbps(most)} through, and {mbps(rate)} arrived"
            filled = [Premise.reached(rate / most, OF_WINDOW, short)]
        if (lost := run.retransmitted) is not None:  # losses would keep the flow below its window
            short = f"{100 * lost:.2g} % of the segments were lost"
            filled.append(Premise.below(lost, LOST, short))
        return Sign(
            (
                *filled,
                *goal.premises(run),
                *queues.read_at_once(run),
                *start.over(run),
                Premise.reached(
                    limited, least, f"the sender waited for it {limited:.0f} % of the time"
                ),
                Premise.below(
                    rtt / least_rtt,
                    RTT_INFLATION,
                    f"the round trip of {rtt:,.0f} µs is {rtt / least_rtt:.1f} times its least, "
                    "so the sender waited for a queue",
                ),
            ),
            f"The receive window: the sender waited for it {limited:.0f} % of its busy time, at a "
            f"round trip of {rtt:,.0f} µs that is near its least, {least_rtt:,.0f} µs.",
            {"rwnd_limited_pct": limited, "rtt_us": rtt, "min_rtt_us": least_rtt},
        )
