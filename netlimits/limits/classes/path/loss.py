"""Loss: lost segments keep TCP's window small."""

from __future__ import annotations

from netlimits.limits import bounds
from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.premises import chance, cpus, queues

RETRANSMITTED = 0.001
"""Minimum share of segments retransmitted."""
SEGMENTS = 5.0
"""Minimum number of segments retransmitted. One of 240 segments is 0.4 %, but only one event."""
WAITS = {
    "app_limited_pct": "its program",
    "rwnd_limited_pct": "its receiver",
    "sndbuf_limited_pct": "send buffer",
}
WAITED_PCT = 40.0
"""Maximum % of the time, or of samples, in which the flow waits for its program, receiver or send
buffer. A flow that waits more does not fill its window."""
INFLATED = 2.3
"""Maximum ratio of rtt to min_rtt. Above it, a full queue drops the segments (`path-cap`)."""
NEAR = 0.5
"""Minimum ratio of throughput to cwnd x mss / rtt for the congestion window to be the limit."""
MODEL_PCT = 50.0
"""Maximum % of samples in which connections pace by a model of the path (BBR)."""
LEAST = 0.2
"""Minimum ratio of throughput to the bound for random losses (`bounds`). Timeouts can reduce
throughput to a quarter of the bound. Below this ratio, something else is the limit."""

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
    name = "loss"
    title = "Loss"
    needs = ("tcp_retrans_segs", "tcp_out_segs", "cwnd_segs", "mss_bytes", "rtt_us")
    intervention = Intervention(
        "a second stream: where loss is the path's, each has a window of its own",
        "streams",
        2,
        1.1,
        specific=False,
    )
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the share of segments retransmitted, if losses look random."""
        retransmitted, out = run.sent("tcp_retrans_segs"), run.sent("tcp_out_segs")
        rtt, least_rtt = run.sent("rtt_us"), run.sent("min_rtt_us")
        window, rate = run.window_mbps, run.throughput
        if retransmitted is None or not out or run.udp:
            return None
        if not rtt or not least_rtt or not window or rate is None:
            return None
        share = retransmitted / out
        figures = {"tcp_retrans_segs": retransmitted, "tcp_out_segs": out}
        text = f"{100 * share:.2g} % of the segments were sent again ({retransmitted:,.0f})"
        premises = [
            Premise.reached(share, RETRANSMITTED, f"only {text}"),
            Premise.reached(retransmitted, SEGMENTS, f"only {text}"),
        ]
        premises += waits(run)
        short = f"the round trip is {rtt / least_rtt:.1f} times its least: a full queue drops"
        premises.append(Premise.below(rtt / least_rtt, INFLATED, short))
        premises += cpus.room(run)  # if losses are the limit, the hosts' CPUs have time left
        short = f"its window would let {mbps(window)} through, and {mbps(rate)} arrived"
        premises.append(Premise.reached(rate / window, NEAR, short))
        if bound := bounds.of_mechanism("loss", run):
            short = f"losses by chance would allow {mbps(bound.mbps)}, and {mbps(rate)} arrived"
            premises.append(Premise.reached(rate / bound.mbps, LEAST, short))
            figures["loss_bound_mbps"] = bound.mbps
        own = run.sent("own_pace_pct")
        if own is not None:
            short = "BBR paces by its model of the path and ignores losses"
            premises.append(Premise.below(own, MODEL_PCT, short))
        against, what = chance.against(run)
        short = f"they may not be random: {what}"
        premises.append(Premise.below(against, chance.CHANCE, short))
        premises += [*queues.read_at_once(run), *queues.lost_on_path(run)]
        figures["window_mbps"] = window
        return Sign(tuple(premises), f"Loss: {text}.", figures)


def waits(run: RunFigures) -> list[Premise]:
    """Return the premises that the flow rarely waits for its program, receiver or buffer."""
    return [
        Premise.below(waited, WAITED_PCT, f"the flow waited for {what} {waited:.0f} % of the time")
        for name, what in WAITS.items()
        if (waited := run.sent(name))
    ]
