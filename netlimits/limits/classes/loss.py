"""Loss: what TCP lost keeps its window small."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign, least
from netlimits.limits.classes import _cpu
from netlimits.limits.figures import RunFigures

RETRANSMITTED = 0.001
SEGMENTS = 5.0
"""Segments sent again from which on they are more than chance: one of 240 is 0.4 %, and nothing."""
WAITED_PCT = 40.0
"""Of the looks, or of the time: a flow that waits for its program or receiver fills no window."""
NEAR = 0.5
"""Throughput over cwnd x mss / rtt from which on the window is what sets it."""

LABELS = tuple(
    Label(
        """factors: {send_size: [1448, 4096, 16384, 65536]}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: "${send_size}"}
""",
        link=f"--loss {loss} --delay {delay}",
    )
    for loss, delay in (("0.5%", "5ms"), ("2%", "10ms"))
)


class Loss:
    """`loss`."""

    name = "loss"
    title = "Loss"
    needs = ("tcp_retrans_segs", "tcp_out_segs", "cwnd_segs", "mss_bytes", "rtt_us")
    intervention = Intervention(
        "a second stream: where loss is the path's, each has a window of its own", "streams", 2, 1.2
    )
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Segments sent again, and how much of cwnd x mss / rtt arrived."""
        again, out = run.sent("tcp_retrans_segs"), run.sent("tcp_out_segs")
        if again is None or not out or run.udp:
            return None
        share = again / out
        figures = {"tcp_retrans_segs": again, "tcp_out_segs": out}
        strength = least(share / RETRANSMITTED, again / SEGMENTS)
        for waited in map(run.sent, ("app_limited_pct", "rwnd_limited_pct", "sndbuf_limited_pct")):
            if waited:
                strength = least(strength, WAITED_PCT / waited)
        if run.busiest:  # a flow that its losses hold back leaves both hosts time
            strength = least(strength, _cpu.ROOM_PCT / run.busiest)
        cwnd, mss, rtt = (run.sent(name) for name in ("cwnd_segs", "mss_bytes", "rtt_us"))
        rate, streams = run.throughput, run.sent("connections") or 1
        if cwnd and mss and rtt and rate is not None:
            window = cwnd * mss * 8 / rtt * streams  # bytes in µs: Mbit/s
            strength = least(strength, rate / window / NEAR)
            figures["window_mbps"] = window
        return Sign(
            strength,
            f"Loss: {100 * share:.2g} % of the segments were sent again ({again:,.0f}).",
            figures,
        )
