"""A run that ends while TCP still doubles its window."""

from __future__ import annotations

import math

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.bounds import INITIAL_WINDOW
from netlimits.limits.classes.path.loss import RETRANSMITTED
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import goal
from netlimits.limits.premises.start import LATE_PCT

RAMP = 0.3
"""Minimum share of the run that slow start takes."""
OVERSHOT = 2.0
"""Maximum number of recoveries that slow start itself causes when it overshoots. With more, or an
unknown number, a run can be too short only if it lost at most `loss.RETRANSMITTED` of its
segments."""
WAITED_PCT = 50.0
"""Maximum % of the busy time spent waiting for a receive window or send buffer. During these waits
TCP does not double its congestion window."""

LABELS = tuple(
    Label(
        """factors: {send_size: [4096, 16384, 65536, 131072]}
measure:
  netperf: {test: TCP_STREAM, seconds: 1, send_size: "${send_size}"}
""",
        link=f"--delay {delay}",
    )
    for delay in ("60ms", "100ms")
)


class TooShort:
    name = "too-short"
    title = "Slow start"
    needs = ("cwnd_segs", "min_rtt_us", "elapsed_s")
    intervention = Intervention("a run twice as long: a higher rate", "seconds", 2, 1.15)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the share of the run in which TCP doubled its window repeatedly."""
        cwnd, rtt, elapsed = run.sent("cwnd_segs"), run.sent("min_rtt_us"), run.elapsed
        if not cwnd or not rtt or not elapsed:
            return None
        trips = math.log2(max(1.0, cwnd / INITIAL_WINDOW))
        share = trips * rtt / 1e6 / elapsed
        text = (
            f"{trips:.1f} round trips of {rtt:,.0f} µs, in which the window grew to {cwnd:,.0f} "
            f"segments, are {100 * share:.0f} % of the run"
        )
        short = f"slow start took only {100 * share:.2g} % of the run"
        premises = [Premise.reached(share, RAMP, short), *goal.premises(run)]
        if (late := run.sent("late_data_pct")) is not None:
            short = f"its later half sent {late:.0f} % of the data"
            premises.append(Premise.reached(late, LATE_PCT, short))
        retransmitted, recoveries = run.retransmitted, run.sent("tcp_recoveries")
        if retransmitted is not None and (recoveries is None or recoveries > OVERSHOT):
            short = f"{100 * retransmitted:.2g} % of the segments were lost, again and again"
            premises.append(Premise.below(retransmitted, RETRANSMITTED, short))
        for name in ("rwnd_limited_pct", "sndbuf_limited_pct"):
            if (waited := run.sent(name)) is not None:
                short = f"the sender waited for a buffer or window {waited:.0f} % of the time"
                premises.append(Premise.below(waited, WAITED_PCT, short))
        return Sign(
            tuple(premises),
            f"Slow start: {text}.",
            {"cwnd_segs": cwnd, "min_rtt_us": rtt, "elapsed_s": elapsed},
        )
