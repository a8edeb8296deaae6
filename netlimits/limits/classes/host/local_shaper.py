"""A shaper on the sender itself: its qdisc holds packets back."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps

OF_RATE, UNCOUNTED = 0.9, 0.97
"""Minimum ratio of the rate of frames to the qdisc's rate. UNCOUNTED replaces OF_RATE if the qdisc
counted no overlimits. Such a qdisc delayed nothing, unless it is `fq`, which never counts them."""
OVERLIMITS_PER_PACKET = 0.5
"""Minimum number of overlimits per packet, from runs on veth and virtio with tbf and htb. A full
qdisc without a rate counts drops, not overlimits."""

LABEL = Label(
    """factors: {kind: [tbf, htb], rate: [4mbit, 10mbit, 20mbit, 40mbit]}
settings:
  - roles: [sender]
    when: kind == "tbf"
    qdisc: {kind: tbf, rate: "${rate}", burst: 16kb, limit: 300kb}
  - roles: [sender]
    when: kind == "htb"
    qdisc: {kind: htb, rate: "${rate}", burst: 16kb}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: 16384}
"""
)


class LocalShaper:
    name = "local-shaper"
    title = "A shaper on the sender"
    needs = ("qdisc_overlimits", "tx_packets")
    intervention = Intervention("20 % more rate of the sender's own qdisc", "shaper", 1.2, 1.1)
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the rate of frames, or from overlimits if no qdisc rate is known."""
        overlimits, packets = run.sent("qdisc_overlimits"), run.sent("tx_packets")
        rate, shaper = run.wire_mbps, run.shaper_mbps
        if rate is not None and shaper:
            least = UNCOUNTED if overlimits == 0 else OF_RATE
            who = "the experiment" if run.shapers.get(run.sender) else "it"
            text = f"frames of {mbps(rate)}, where {who} lets {mbps(shaper)} through"
            return Sign(
                (Premise.reached(rate / shaper, least, f"there were {text}"),),
                f"The sender's own qdisc: {text}.",
                {"wire_mbps": rate, "shaper_mbps": shaper},
            )
        if overlimits is None or not packets:
            return None
        text = f"held packets back {overlimits:,.0f} times for {packets:,.0f} packets sent"
        return Sign(
            (
                Premise.reached(
                    overlimits / packets, OVERLIMITS_PER_PACKET, f"the sender's own qdisc {text}"
                ),
            ),
            f"The sender's own qdisc: it {text}.",
            {"qdisc_overlimits": overlimits, "tx_packets": packets},
        )
