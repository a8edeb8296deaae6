"""The receiver's CPU: one of them, or the tool's thread there, has nothing left."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Sign
from netlimits.limits.figures import RunFigures

BUSY_PCT = 95.0


class ReceiverCpu:
    """`receiver-cpu`."""

    name = "receiver-cpu"
    title = "The receiver's CPU"
    needs = ("cpu_peak_pct", "process_cpu_pct")
    intervention = Intervention(
        "a load on the receiver's CPUs: throughput falls", "load", 1, most=0.9
    )

    def sign(self, run: RunFigures) -> Sign | None:
        """The busiest CPU, or the tool's only thread there, whichever is busier."""
        peak = run.received("cpu_peak_pct")
        if peak is None:
            return None
        busiest = max(peak, run.thread_pct(run.receiver))
        return Sign(
            busiest / BUSY_PCT,
            f"The receiver's CPU: its busiest one was {busiest:.0f} % busy.",
            {f"{run.receiver}_cpu_peak_pct": peak},
        )
