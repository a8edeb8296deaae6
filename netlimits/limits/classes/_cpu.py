"""The CPU of one end: one of them, or the tool's thread there, has nothing left."""

from __future__ import annotations

from netlimits.limits.base import Premise, Sign
from netlimits.limits.figures import RunFigures

BUSY_PCT = 95.0
ROOM_PCT = 75.0
"""How busy CPUs and the tool's threads are, at most, where something else holds a run back: what
waits for a CPU now and then is not fully busy, either."""

NEEDS = ("cpu_peak_pct", "process_cpu_pct")


def sign(run: RunFigures, whose: str, end: str) -> Sign | None:
    """The busiest CPU of an end, or the tool's only thread there, whichever is busier.

    Where both ends share a machine, a CPU that is busy is neither end's: the thread alone counts.
    """
    thread, peak = run.thread_pct(end), run.figure(f"{end}_cpu_peak_pct")
    busiest = thread if run.one_machine else run.busiest_pct(end)
    if busiest is None:
        return None
    by_thread = run.one_machine or peak is None or busiest > peak
    what = f"tool's thread on the {whose}" if by_thread else f"{whose}'s {run.cpu_name(end)}"
    figures = {f"{end}_{'process_cpu_pct' if by_thread else 'cpu_peak_pct'}": busiest}
    told = f"{what} was {busiest:.0f} % busy"
    clock = run.figure(f"{end}_cpu_mhz")
    at = ""
    if clock:
        figures[f"{end}_cpu_mhz"] = clock
        at = f", at {clock:,.0f} MHz"
    return Sign((Premise.reached(busiest, BUSY_PCT, f"the {told}"),), f"The {told}{at}.", figures)
