"""Packets per second: the packet rate does not depend on the size of the packets."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import allowance, cpus

WITHIN = 0.05
"""Maximum relative difference between packet rates that count as equal."""
OTHER_SIZE = 1.5
"""Minimum ratio of two packet sizes whose packet rates are compared."""

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
"""Paths that carry a fixed number of packets per second, like a cloud's allowance."""


class PacketRate:
    name = "packet-rate"
    title = "Packets per second"
    needs = ("tcp_out_segs", "udp_in_datagrams", "cpu_peak_pct")
    intervention = Intervention(
        "packets of half the size: as many of them", "packet_size", 0.5, 0.45, 0.55
    )
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from a cloud's counter of excess packets, or from equal packet rates."""
        counted = allowance.sign(run, "pps", "packets")
        if counted and counted.fires:
            return counted
        size, rate, busiest = run.packet_bytes, run.packet_rate, cpus.its_own_pct(run)
        if not size or not rate or busiest is None:
            return counted
        smaller = [other for other in run.rates_by_size if other * OTHER_SIZE <= size]
        larger = [other for other in run.rates_by_size if other >= size * OTHER_SIZE]
        compared = smaller or sorted(larger)[:1]
        differences = {other: abs(run.rates_by_size[other] / rate - 1) for other in compared}
        if not differences:
            return counted
        other = max(differences, key=differences.__getitem__)
        text = f"{rate:,.0f} of them at {size:,.0f} bytes each"
        other_rate = f"{run.rates_by_size[other]:,.0f} at {other:,.0f} bytes"
        cpu = f"the run took {busiest:.0f} % of a CPU at most"
        changes = f"it changes with their size: {text}, {other_rate}"
        widest = " and, furthest from it," if len(differences) > 1 else " and"
        return Sign(
            (
                Premise.below(differences[other], WITHIN, changes),
                Premise.below(busiest, cpus.ROOM_PCT, cpu),
            ),
            f"Packets per second: {text},{widest} {other_rate}, while {cpu}.",
            {
                "packets_per_s": rate,
                "packet_bytes": size,
                "other_packets_per_s": run.rates_by_size[other],
            },
        )
