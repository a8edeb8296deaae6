"""One CPU that does nothing but packets: softirq fills it."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign
from netlimits.limits.figures import RunFigures

SOFTIRQ_PCT = 90.0

LABEL = Label(
    """factors: {mss: [216, 536], send_size: [16384, 32768, 65536, 131072]}
settings:
  - {roles: [receiver], offload: {gro: off, rx-gro-hw: off}, irq: {cpus: 0}}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, mss: "${mss}", send_size: "${send_size}", cpu_bind: "0,1"}
""",
    lab="--machines --cpus 2",
)


class SoftirqCore:
    """`softirq-core`."""

    name = "softirq-core"
    title = "Softirq on one CPU"
    needs = ("cpu_peak_softirq_pct", "softnet_dropped")
    intervention = Intervention("RPS, RSS or the interrupt on another CPU", least=1.1)
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """The highest softirq share of any CPU, on either end, and what the backlog dropped."""
        shares = {
            end: share
            for end in (run.receiver, run.sender)
            if (share := run.figure(f"{end}_cpu_peak_softirq_pct")) is not None
        }
        if not shares:
            return None
        end = max(shares, key=shares.__getitem__)
        who = "receiver" if end == run.receiver else "sender"
        dropped = run.figure(f"{end}_softnet_dropped")
        tail = f"; {dropped:,.0f} packets were dropped at the backlog" if dropped else ""
        figures = {f"{end}_cpu_peak_softirq_pct": shares[end]}
        if dropped is not None:
            figures[f"{end}_softnet_dropped"] = dropped
        return Sign(
            shares[end] / SOFTIRQ_PCT,
            f"The {who}'s softirq on one CPU ({shares[end]:.0f} %){tail}.",
            figures,
        )
