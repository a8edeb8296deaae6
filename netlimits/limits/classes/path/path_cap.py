"""A cap on the path: a queue outside the hosts that fills, or a cloud's allowance."""

from __future__ import annotations

from netlimits.limits.base import SAME_SUM, Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.premises import allowance, chance, cpus, goal, queues

RTT_INFLATION = 2.3
"""Minimum ratio of rtt to min_rtt if packets wait in a queue."""
QUEUE_US, QUEUE_SEGMENTS = 200.0, 5.0
"""Minimum wait in the queue in µs, and minimum number of packets in it. A shorter wait may come
from the host's scheduling. A device that holds two packets and drops the others is a policer."""
MANY = 100.0
"""Sentences print a ratio of rtt to min_rtt that reaches this value as "over 100". On one machine
min_rtt is only a few µs, so the ratio can be huge."""
SHORT_INFLATION = 1.25
"""Replaces RTT_INFLATION for a queue that drops early (CoDel, BBR). Evidence of such a queue is
losses in runs that are steadier than random losses allow."""
OF_BOUND = 0.9
"""Maximum ratio of throughput to the link's goodput bound. Above it, the link may be the cap."""
OF_MOST = 0.8
"""Minimum ratio of the run's rate to the highest rate of all configurations on the same path,
because all of them have the same cap."""
OF_SHAPER = 0.7
"""Maximum ratio of the rate of frames to the rate of the sender's own qdisc. Above it, packets may
wait in this qdisc."""
OVERLIMITS_PER_PACKET = 0.1
"""Maximum number of overlimits per packet in the sender's own qdisc. Above it, packets may wait in
this qdisc."""
LOST = 0.001
"""Minimum share of segments lost to require that most of them were lost on the path."""
BUNCHED, ALIKE = 2.4, 0.93
"""Signs of a queue on the return path: minimum number of segments per acknowledgement, and maximum
ratio of the slowest to the fastest run. A full queue on the path to the receiver had 1.9 to 2.0
segments and a ratio of 0.95 to 1.0, or losses. A full queue on the return path had 2.5 to 11
segments and a ratio of 0.12 to 0.75."""
SPACED_US = 100.0
"""Minimum time between two segments, in µs, for BUNCHED to count. If segments follow each other
faster, one poll of the NIC receives several of them."""
STEADY = 0.75
"""Minimum ratio of a configuration's slowest run to its fastest run: both have the same cap."""

LABELS = tuple(
    Label(
        """factors: {send_size: [1448, 16384]}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: "${send_size}"}
""",
        link=f"--rate {rate} --delay {delay}",
    )
    for rate, delay in (("10mbit", "1ms"), ("20mbit", "500us"), ("40mbit", "0"), ("80mbit", "5ms"))
)

OF_FILE = "a file of runs tells neither the link's rate nor the one that the tool was told"
"""Note on runs from a file. A campaign's folder contains both rates, so verdicts can check whether
one of these rates is the limit."""


class PathCap:
    name = "path-cap"
    title = "A cap on the path"
    needs = ("rtt_us", "min_rtt_us", "cpu_peak_pct")
    intervention = Intervention(
        "a second stream: the same sum", "streams", 2, *SAME_SUM, specific=False
    )
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from a cloud's counter of excess bandwidth, or from a queue on the path."""
        counted = allowance.sign(run, "bw", "bandwidth")
        if counted and counted.fires:
            return counted
        rtt, least_rtt = run.sent("rtt_us"), run.sent("min_rtt_us")
        busiest, rate = cpus.its_own_pct(run), run.wire_mbps
        if rtt is None or not least_rtt or busiest is None or run.throughput is None or not rate:
            return counted
        inflation = rtt / least_rtt
        held = (rtt - least_rtt) * run.throughput / 8 / (run.sent("mss_bytes") or 1448.0)
        times = f"{inflation:.1f}" if inflation < MANY else f"over {MANY:.0f}"
        grown = f"to {rtt:,.0f} µs, {times} times its least"
        most = max(busiest, run.busiest or 0.0)
        cpu = f"neither host was short of CPU ({most:.0f} % at most)"
        if most >= cpus.BUSY_PCT:
            cpu = (
                f"other programs kept CPUs {most:.0f} % busy, of which the run took "
                f"{busiest:.0f} % at most"
            )
        premises = [
            Premise(
                max(inflation / RTT_INFLATION, _short_queue(run, inflation)),
                f"the round trip grew only {grown}",
            ),
            Premise.reached(
                rtt - least_rtt, QUEUE_US, f"what waits for {rtt - least_rtt:,.0f} µs is no queue"
            ),
            Premise.reached(held, QUEUE_SEGMENTS, f"{held:.0f} packets wait at once: no queue"),
            *queues.waits_on_path(run),
            Premise.below(
                busiest, cpus.ROOM_PCT, f"a CPU that is {busiest:.0f} % busy may be what queues"
            ),
        ]
        premises += [*goal.premises(run), *queues.read_at_once(run), *_way_there(run)]
        if (run.retransmitted or 0) >= LOST:
            premises += queues.lost_on_path(run)
        figures = {"rtt_us": rtt, "min_rtt_us": least_rtt, "own_cpu_pct": busiest}
        if run.bound_mbps:
            near = run.throughput / run.bound_mbps
            short = f"the link's own bound is reached to {100 * near:.1f} %"
            premises.append(Premise.below(near, OF_BOUND, short))
        premises += [*_not_in_qdisc(run, rate), *chance.steady(run, STEADY)]
        addition = f"; {OF_FILE}" if run.of_file and not run.goal_mbps else ""
        if run.most_mbps:
            short = (
                f"the path carried {run.most_mbps / rate:.2g} times as much for another "
                "configuration of this campaign"
            )
            premises.append(Premise.reached(rate / run.most_mbps, OF_MOST, short))
            figures["most_mbps"] = run.most_mbps
            addition = (
                f", and no configuration with as many streams got much more through{addition}"
            )
        return Sign(
            tuple(premises),
            f"A cap on the path of about {mbps(rate)} of frames: the round trip grew {grown}, "
            f"{cpu}{addition}.",
            figures,
        )


def _not_in_qdisc(run: RunFigures, rate: float) -> list[Premise]:
    """Return the premises that packets do not wait in the sender's own qdisc."""
    premises = []
    if run.figure("pace_mbps") is not None:
        premises.append(Premise(0.5, "the sender is paced, and packets may wait there"))
    if run.shaper_mbps:
        short = f"the sender's own qdisc lets {mbps(run.shaper_mbps)} through"
        premises.append(Premise.below(rate / run.shaper_mbps, OF_SHAPER, short))
    overlimits, packets = run.sent("qdisc_overlimits"), run.sent("tx_packets")
    if overlimits is not None and packets:
        short = f"the sender's own qdisc held packets back {overlimits:,.0f} times"
        premises.append(Premise.below(overlimits / packets, OVERLIMITS_PER_PACKET, short))
    return premises


def _short_queue(run: RunFigures, inflation: float) -> float:
    """Return the strength of signs of a short queue (CoDel, BBR): losses, but steady runs."""
    lost = (run.retransmitted or 0.0) >= LOST
    return chance.steadiness(run) if lost and inflation >= SHORT_INFLATION else 0.0


def way_back(run: RunFigures) -> bool:
    """Return True if the queue may be on the return path: no loss, bunched ACKs, unsteady runs."""
    bunched, rate = run.received("sampled_segments_per_ack"), run.throughput
    size = (run.sent("mss_bytes") or 1448.0) * 8
    return (
        (run.retransmitted or 0.0) < LOST
        and bool(rate)
        and size / (rate or 1.0) >= SPACED_US
        and bunched is not None
        and bunched >= BUNCHED
        and run.slowest is not None
        and run.slowest < ALIKE
    )


def _way_there(run: RunFigures) -> list[Premise]:
    """Return a premise against the class if the queue may be on the return path.

    The premise says that the queue is on the path to the receiver, and narrowly fails. Otherwise
    the list is empty.
    """
    if not way_back(run):
        return []
    bunched = run.received("sampled_segments_per_ack") or 0.0
    short = f"nothing was lost, and each acknowledgement is of {bunched:.1f} segments: the way back"
    return [Premise(0.9, f"{short} may be what queues")]
