"""The return path: acknowledgements queue or get lost on it, and the sender waits for them."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.classes.path.path_cap import QUEUE_US, RTT_INFLATION, way_back
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import cpus, goal, queues

LOST = 0.05
"""Minimum share of acknowledgements lost. Paths with 0.1 to 2 % random loss of frames lost 0.5
to 4 % of the acknowledgements."""
NEARLY = 0.95
"""Strength of the premise if acknowledgements are bunched but not lost."""
FORWARD = 0.01
"""Maximum share of segments retransmitted. Above it, the path to the receiver is full too."""


class AckPath:
    name = "ack-path"
    title = "The way back, of acknowledgements"
    needs = ("tx_packets", "rx_packets", "rtt_us", "min_rtt_us")
    intervention = Intervention(
        "a faster way back, or fewer acknowledgements (GRO, quickack 0)", least=1.2
    )
    labels: tuple[Label, ...] = ()

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from lost or bunched acknowledgements, if few segments are lost."""
        sent_back, arrived, resent = (
            run.received("tx_packets"),
            run.sent("rx_packets"),
            run.retransmitted,
        )
        inflation, queue = run.inflation, run.queueing_us
        if not sent_back or arrived is None or resent is None or inflation is None or queue is None:
            return None
        lost = max(0.0, 1 - arrived / sent_back)
        text = f"{100 * lost:.0f} % of the {sent_back:,.0f} packets on the way back were lost"
        grown = f"the round trip is {inflation:.1f} times its minimum"
        busiest = cpus.its_own_pct(run)
        premises = [
            Premise(max(lost / LOST, NEARLY * way_back(run)), f"only {text}"),
            Premise.reached(inflation, RTT_INFLATION, grown),
            Premise.reached(queue, QUEUE_US, grown),
            Premise.below(
                resent,
                FORWARD,
                f"{100 * resent:.1f} % were lost on the way there, too",
            ),
            *goal.premises(run),
            *queues.read_at_once(run),
        ]
        if busiest is not None:
            short = f"a CPU that is {busiest:.0f} % busy may be what queues"
            premises.append(Premise.below(busiest, cpus.ROOM_PCT, short))
        return Sign(
            tuple(premises),
            f"The way back: {text}, {grown}, and {100 * resent:.2g} % of the segments were sent "
            "again.",
            {f"{run.receiver}_tx_packets": sent_back, f"{run.sender}_rx_packets": arrived},
        )
