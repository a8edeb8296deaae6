"""Something on the path that neither host can see: a queue that fills, or losses."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign, least
from netlimits.limits.classes import _cpu
from netlimits.limits.classes.link import OF_BOUND
from netlimits.limits.figures import RunFigures

RTT_INFLATION = 2.3
"""rtt over min_rtt from which on packets wait in a queue: without one it varies by less."""
QUEUE_US = 200.0
"""What packets wait there, at least, µs: less is a host's own scheduling."""

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


class PathCap:
    """`path-cap`."""

    name = "path-cap"
    title = "A cap on the path"
    needs = ("rtt_us", "min_rtt_us", "cpu_peak_pct")
    intervention = Intervention("a second stream: the same sum", "streams", 2, 0.97, 1.03)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """rtt over its least, with CPU left on both ends and room on the link where it is known."""
        rtt, least_rtt = run.sent("rtt_us"), run.sent("min_rtt_us")
        busiest = run.busiest
        if rtt is None or not least_rtt or busiest is None or run.throughput is None:
            return None
        inflation = rtt / least_rtt
        parts = [inflation / RTT_INFLATION, (rtt - least_rtt) / QUEUE_US]
        parts.append(_cpu.ROOM_PCT / busiest if busiest else 1.0)
        if run.bound_mbps:
            parts.append(OF_BOUND / (run.throughput / run.bound_mbps))
        return Sign(
            least(*parts),
            f"A cap on the path: the round trip grew to {rtt:,.0f} µs, {inflation:.0f} times its "
            f"least, and neither host was short of CPU ({busiest:.0f} % at most).",
            {"rtt_us": rtt, "min_rtt_us": least_rtt, "cpu_peak_pct": busiest},
        )
