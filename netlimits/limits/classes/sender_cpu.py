"""The sender's CPU: one of them, or the tool's thread there, has nothing left."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Sign
from netlimits.limits.figures import RunFigures

BUSY_PCT = 95.0


class SenderCpu:
    """`sender-cpu`."""

    name = "sender-cpu"
    title = "The sender's CPU"
    needs = ("cpu_peak_pct", "process_cpu_pct")
    intervention = Intervention("a second stream on another CPU", "streams", 2, 1.2)

    def sign(self, run: RunFigures) -> Sign | None:
        """The busiest CPU, or the tool's only thread there, whichever is busier."""
        peak = run.sent("cpu_peak_pct")
        if peak is None:
            return None
        busiest = max(peak, run.thread_pct(run.sender))
        return Sign(
            busiest / BUSY_PCT,
            f"The sender's CPU: its busiest one was {busiest:.0f} % busy.",
            {f"{run.sender}_cpu_peak_pct": peak},
        )
