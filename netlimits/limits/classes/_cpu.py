"""The CPU of one end: one of them, or the tool's thread there, has nothing left."""

from __future__ import annotations

from netlimits.limits.base import Sign
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
    busiest = run.thread_pct(end) if run.one_machine else run.busiest_pct(end)
    if busiest is None:
        return None
    what = "the tool's thread" if run.one_machine else "its busiest one"
    column = "process_cpu_pct" if run.one_machine else "cpu_peak_pct"
    return Sign(
        busiest / BUSY_PCT,
        f"The {whose}'s CPU: {what} was {busiest:.0f} % busy.",
        {f"{end}_{column}": busiest},
    )
