"""The CPU of one end: one of them, or the tool's thread there, has nothing left."""

from __future__ import annotations

from netlimits.limits.base import Sign
from netlimits.limits.figures import RunFigures

BUSY_PCT = 95.0

NEEDS = ("cpu_peak_pct", "process_cpu_pct")


def sign(run: RunFigures, whose: str, end: str) -> Sign | None:
    """The busiest CPU of an end, or the tool's only thread there, whichever is busier."""
    peak = run.figure(f"{end}_cpu_peak_pct")
    if peak is None:
        return None
    thread = run.thread_pct(end)
    busiest = peak if thread is None else max(peak, thread)
    return Sign(
        busiest / BUSY_PCT,
        f"The {whose}'s CPU: its busiest one was {busiest:.0f} % busy.",
        {f"{end}_cpu_peak_pct": peak},
    )
