"""Packets per second: the same number of them, whatever they carry."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign, least
from netlimits.limits.classes import _cpu
from netlimits.limits.figures import RunFigures

WITHIN = 0.05
"""How far packets/s may be apart, as a share."""
OTHER_SIZE = 1.5
"""How many times larger one packet is than another that counts as of another size."""

LABELS = tuple(
    Label(
        """factors: {mss: [312, 612, 1212], send_size: [4096]}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, mss: "${mss}", send_size: "${send_size}"}
""",
        link=f"--packets {packets}",
    )
    for packets in (1000, 2000, 3000)
)
"""A path that carries so many packets of any size: what a cloud allows a machine is such a one."""


class PacketRate:
    """`packet-rate`."""

    name = "packet-rate"
    title = "Packets per second"
    needs = ("tcp_out_segs", "udp_in_datagrams", "cpu_peak_pct")
    intervention = Intervention(
        "packets of half the size: as many of them", "packet_size", 0.5, 0.45, 0.55
    )
    labels = LABELS

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
        strength = least(
            WITHIN / apart if apart else 2.0, _cpu.ROOM_PCT / busiest if busiest else 2.0
        )
        return Sign(
            strength,
            f"Packets per second: {rate:,.0f} of them at {size:,.0f} bytes each, and "
            f"{others[other]:,.0f} at {other:,.0f} bytes, while the busiest CPU was {busiest:.0f} "
            "% busy.",
            {"packets_per_s": rate, "packet_bytes": size, "other_packets_per_s": others[other]},
        )
