"""The link: as much data arrives as its bit rate allows."""

from __future__ import annotations

from netlimits.limits.base import SAME_SUM, Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps

OF_BOUND = 0.95
"""Minimum ratio of throughput to the bound. A run of a few seconds stays below the bound because of
its start and of losses."""
CPU_PCT = 80.0
"""Maximum use of the busiest CPU of either end, in percent."""

LABELS = tuple(
    Label(
        f"""factors: {{send_size: [1448, 4096, 16384, 65536]}}
settings:
  - {{roles: [sender, receiver], link: {{speed: {speed}, duplex: full, autoneg: off}}}}
measure:
  netperf: {{test: TCP_STREAM, seconds: 2, send_size: "${{send_size}}"}}
""",
        lab="--machines --nic e1000e",
        link=f"--rate {speed * 1514 / 1538:.6g}mbit --mtu 1500",
    )
    for speed in (10, 100)
)
"""On a wire, preamble, frame check sequence and gap add 24 bytes to each frame. The lab's link does
not have these bytes, so its rate is multiplied by 1514 / 1538."""


class LinkRate:
    name = "link"
    title = "The link"
    needs = ("throughput_mbps", "cpu_peak_pct")
    intervention = Intervention(
        "a second stream: the same sum", "streams", 2, *SAME_SUM, specific=False
    )
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from throughput over the goodput bound, if both ends have CPU time left."""
        rate, bound = run.throughput, run.bound_mbps
        busiest = run.busiest
        if rate is None or bound is None or busiest is None:
            return None
        text = f"{100 * rate / bound:.1f} % of the {mbps(bound)} that it leaves for data"
        cpu = f"the busiest CPU was {busiest:.0f} % busy"
        return Sign(
            (
                Premise.reached(rate / bound, OF_BOUND, f"{mbps(rate)} are {text}"),
                Premise.below(busiest, CPU_PCT, f"{cpu}, and may be what holds it back"),
            ),
            f"The link: {mbps(rate)} arrived, {text}; {cpu}.",
            {"throughput_mbps": rate, "bound_mbps": bound, "cpu_peak_pct": busiest},
        )
