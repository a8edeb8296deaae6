"""Packets per second: the same number of them, whatever they carry."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign, least
from netlimits.limits.figures import RunFigures

WITHIN = 0.05
"""How far packets/s may be apart, as a share."""
OTHER_SIZE = 1.5
"""How many times larger one packet is than another that counts as of another size."""
CPU_PCT = 95.0

LABEL = Label(
    """factors: {mss: [312, 612, 1212], rate: [500mbit, 1gbit, 2gbit]}
settings:
  - roles: [sender]
    offload: {tso: off, gso: off}
    qdisc: {kind: netem, rate: "${rate}", packet_overhead: 60000, limit: 50}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, mss: "${mss}", send_size: 4096, local_buffer: 16384}
"""
)
"""Each packet takes the time of 60,000 bytes more: 1,000 to 4,000 of them a second at any size."""


class PacketRate:
    """`packet-rate`."""

    name = "packet-rate"
    title = "Packets per second"
    needs = ("tcp_out_segs", "udp_in_datagrams", "cpu_peak_pct")
    intervention = Intervention(
        "half the send size: the same packets/s", "send_size", 0.5, 0.45, 0.55
    )
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Packets/s at this size and at another one of the campaign, with CPU left on both ends."""
        size, rate = run.packet_bytes, run.packet_rate
        busiest = run.busiest
        others = {
            other: at
            for other, at in run.rates_by_size.items()
            if size and at and max(other / size, size / other) >= OTHER_SIZE
        }
        if not size or not rate or not others or busiest is None:
            return None
        other = min(others, key=lambda at: abs(others[at] / rate - 1))
        apart = abs(others[other] / rate - 1)
        strength = least(WITHIN / apart if apart else 2.0, CPU_PCT / busiest if busiest else 2.0)
        return Sign(
            strength,
            f"Packets per second: {rate:,.0f} of them at {size:,.0f} bytes each, and "
            f"{others[other]:,.0f} at {other:,.0f} bytes, while the busiest CPU was {busiest:.0f} "
            "% busy.",
            {"packets_per_s": rate, "packet_bytes": size, "other_packets_per_s": others[other]},
        )
