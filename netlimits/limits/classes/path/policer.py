"""A policer: it drops packets above its rate and has no queue."""

from __future__ import annotations

from netlimits.limits import places
from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.classes.path.loss import RETRANSMITTED, waits
from netlimits.limits.classes.path.path_cap import QUEUE_SEGMENTS, QUEUE_US, STEADY
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import chance, cpus, goal, queues

SEGMENTS = 30.0
"""Minimum number of segments retransmitted. With this number, their share is known to within a
fifth. A smaller number gives no reliable bound for random losses. Paths with 0.1 % random loss lost
7 to 15 segments in 3 s, and their rate was 1.3 to 3.2 times the bound."""
STILL = 1.25
"""Maximum ratio of rtt to min_rtt. Below it, below QUEUE_US or below QUEUE_SEGMENTS there is no
queue."""
COUNTED = 0.1
"""Minimum ratio of the drops that the receiver's own policer counts to the segments lost. The
policer counts packets of up to 45 segments, because GRO has merged them. In one run, 42 packets
contained 178 segments."""

LABELS = tuple(
    Label(
        f"""factors: {{send_size: [4096, 16384]}}
settings:
  - roles: [receiver]
    switch:
      verify: [sh, -c, "tc qdisc show dev data0 | grep -c ingress || :"]
      command:
        "0": [tc, qdisc, del, dev, data0, ingress]
        "1":
          - sh
          - -c
          - >-
            tc qdisc add dev data0 ingress && tc filter add dev data0 ingress matchall
            action police rate {rate} burst 64k conform-exceed drop
      to: "1"
measure:
  netperf: {{test: TCP_STREAM, seconds: 2, send_size: "${{send_size}}"}}
""",
        link=f"--delay {delay}",
    )
    for rate, delay in (("10mbit", "5ms"), ("20mbit", "8ms"), ("40mbit", "2ms"), ("30mbit", "15ms"))
)


SEND_LESS = Intervention(
    "95 % of what arrived is sent: nothing is lost, and as much arrives",
    "arrived",
    0.95,
    0.88,
    1.05,
)
"""The intervention for limits that drop packets above their rate: `policer`, `udp-above-path`."""


class Policer:
    name = "policer"
    title = "A policer"
    needs = ("tcp_retrans_segs", "tcp_out_segs", "rtt_us", "min_rtt_us", "mss_bytes")
    intervention = SEND_LESS
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from drops that a policer counts, else from losses that are not random."""
        counted = _counted(run)
        if counted and counted.fires:
            return counted
        share, retransmitted, rate = run.retransmitted, run.sent("tcp_retrans_segs"), run.throughput
        inflation, queue = run.inflation, run.queueing_us
        if share is None or retransmitted is None or not rate or inflation is None or queue is None:
            return counted
        lost = f"{100 * share:.2g} % of the segments were sent again ({retransmitted:,.0f})"
        against, what = chance.against(run)
        held = queue * rate / 8 / (run.sent("mss_bytes") or 1448.0)
        grown = f"the round trip is {inflation:.1f} times its minimum: packets wait in a queue"
        premises = [
            Premise.reached(share, RETRANSMITTED, f"only {lost}"),
            Premise.reached(retransmitted, SEGMENTS, f"only {lost}"),
            Premise(against, f"they may be by chance: {what}"),
            Premise(
                max(
                    STILL / inflation,
                    QUEUE_US / max(queue, 1.0),
                    QUEUE_SEGMENTS / max(held, 0.1),
                ),
                grown,
            ),
            *goal.premises(run),
            *queues.read_at_once(run),
            *queues.lost_on_path(run),
        ]
        premises += [*waits(run), *cpus.room(run), *chance.steady(run, STEADY)]
        return Sign(
            tuple(premises),
            f"A policer on the path: {lost} with hardly a packet in a queue, and not by chance: "
            f"{what}.",
            {
                "tcp_retrans_segs": retransmitted,
                "rtt_us": run.sent("rtt_us") or 0.0,
                "throughput_mbps": rate,
            },
        )


def _counted(run: RunFigures) -> Sign | None:
    """Return the sign from the drops that a policer on the receiver counts."""
    drops, lost = run.received("ingress_drops"), places.lost(run)
    if drops is None or not lost:
        return None
    clause = (
        f"{lost:,.0f} datagrams were lost" if run.udp else f"{lost:,.0f} segments were sent again"
    )
    text = f"the receiver's own policer dropped {drops:,.0f} packets, and {clause}"
    enough = lost / max(1.0, run.sent("udp_out_datagrams" if run.udp else "tcp_out_segs") or 1.0)
    return Sign(
        (
            Premise.reached(drops / lost, COUNTED, text),
            Premise.reached(enough, RETRANSMITTED, f"only {100 * enough:.2g} % of all were lost"),
        ),
        f"A policer: {text}.",
        {f"{run.receiver}_ingress_drops": drops},
    )
