"""The round trip: each transaction waits for the previous transaction."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import cpus

OF_ROUND_TRIPS = 0.7
"""Minimum share of the time that transactions spend on their round trips."""
CPU_PCT = 80.0
"""Maximum load that the run puts on a CPU, in percent."""
IMPOSSIBLE = 1.5
"""Maximum ratio of transactions per round trip to transactions in flight. Above it, the sampled RTT
must be wrong. On a busy host the sampled RTT was 116 µs, but a transaction took 24 µs."""

LABEL = Label(
    """factors: {request: [1, 64, 512, 1024], response: [1, 512]}
measure:
  netperf: {test: TCP_RR, seconds: 2, request_size: "${request}", response_size: "${response}"}
""",
    link="--delay 5ms",
)


class Latency:
    name = "latency"
    title = "The round trip"
    needs = ("transaction_rate_tps", "rtt_us", "cpu_peak_pct")
    intervention = Intervention(
        "twice the round trip (netem): half the transactions", "delay", 2, most=0.7
    )
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the transactions per round trip, if the CPUs had time left."""
        rate, busiest = run.transactions, cpus.its_own_pct(run)
        rtt = run.sent("rtt_us") or run.received("rtt_us") or run.figure("latency_mean_us")
        if not rate or not rtt or busiest is None:
            return None
        each = rate * rtt / 1e6
        under_way = run.flows * (1 + (run.figure("burst_size") or 0))
        if each > IMPOSSIBLE * under_way:
            return None
        text = f"{rate:,.0f} transactions/s at a round trip of {rtt:,.0f} µs"
        cpu = f"the run took {busiest:.0f} % of a CPU at most"
        return Sign(
            (
                Premise.reached(each, OF_ROUND_TRIPS, text),
                Premise.below(busiest, CPU_PCT, cpu),
            ),
            f"The round trip: {text}, {each:.2g} in each; {cpu}.",
            {"transaction_rate_tps": rate, "rtt_us": rtt, "cpu_peak_pct": busiest},
        )
