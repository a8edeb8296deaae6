"""Datagrams larger than the MTU: IP cuts each into fragments."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures

PER_DATAGRAM = 0.5
"""Minimum number of fragments per datagram sent."""

LABELS = tuple(
    Label(
        """factors: {rate: [5M, 15M], send_size: [16384, 4096]}
measure:
  iperf3: {protocol: udp, seconds: 2, rate: "${rate}", send_size: "${send_size}"}
""",
        link=f"--rate 100mbit --loss {loss}",
    )
    for loss in ("3%", "1%")
)


class Fragmentation:
    name = "fragmentation"
    title = "IP fragmentation"
    needs = ("ip_frag_creates", "udp_out_datagrams")
    intervention = Intervention("a send size of the MTU without headers", "datagram", least=1.02)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the number of fragments per datagram sent; None for TCP."""
        fragments, datagrams = run.sent("ip_frag_creates"), run.sent("udp_out_datagrams")
        if fragments is None or not datagrams or not run.udp:
            return None
        text = f"{fragments:,.0f} fragments for {datagrams:,.0f} datagrams"
        return Sign(
            (Premise.reached(fragments / datagrams, PER_DATAGRAM, f"there were {text}"),),
            f"IP fragmentation: {text}.",
            {"ip_frag_creates": fragments, "udp_out_datagrams": datagrams},
        )
