"""The sign that a CPU or the tool's thread at one end is fully used, and premises on CPU use."""

from __future__ import annotations

from netlimits.limits.base import BY_HAND, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.premises import goal, queues

BUSY_PCT = 95.0
WANTED_PCT = 90.0
"""Minimum use of a CPU, in percent, if the CPU is the limit. WANTED_PCT replaces BUSY_PCT for the
sum of a thread's CPU use and its waits for a CPU. It is lower, because samples miss uses and waits
that begin or end between two samples."""
ROOM_PCT = 75.0
"""Maximum use of the busiest CPU or tool thread, in percent, if something else limits a run."""

SHARE_PCT = 15.0
"""Minimum of a tool's CPU time plus its wait for a CPU, in % of a CPU, if it needs a whole CPU. A
tool that shares its CPU with six busy programs gets about this much. Tools that waited for a path,
a window or a timer used 0.6 to 8 %."""
READER_PCT = 25.0
"""Replaces SHARE_PCT for a receiver if the fill of its receive buffer is known."""
QUEUED_PCT = 30.0
"""Minimum fill of the receive buffer, in percent, if the program there gets too little CPU time."""
NEAR = 0.95
"""Maximum ratio of throughput to the link's goodput bound if a CPU is the limit."""
LOADED = 0.75
"""Maximum ratio of throughput with a load to throughput without it, if a CPU is the limit. The load
takes half of each CPU. The ratio is then 0.5 for a tool that needs a whole CPU, and 0.75 for a tool
that needs two thirds of a CPU. A tool that needs less has another limit."""
HELD_PCT = 50.0
"""Minimum % of the time that a thread waits for a CPU if a quota or a CPU binding holds it back.
Other CPUs are idle meanwhile."""

UNKNOWN = 0.9
"""Strength of a premise whose figures are missing. The premise fails narrowly, so it is only weak
evidence against the class."""

NEEDS = ("cpu_peak_pct", "process_cpu_pct")
"""Columns that `sign` requires (`LimitClass.needs`)."""


def sign(run: RunFigures, whose: str, end: str) -> Sign | None:
    """Return a sign from an end's busiest CPU, or the tool's only thread there if it is busier.

    `whose` is the end in words. The time that the thread waited for a CPU counts as use. If both
    ends share a machine, only the thread counts.
    """
    thread, peak = run.thread_pct(end), run.figure(f"{end}_cpu_peak_pct")
    waited = run.own(f"{end}_cpu_wait_pct") or 0.0
    wanted = None if thread is None else min(100.0, thread + waited)
    by_thread = thread is not None and (run.one_machine or peak is None or thread > peak)
    busiest = wanted if by_thread else peak
    if busiest is None or (run.one_machine and not by_thread):
        return None
    figures, held = {f"{end}_cpu_peak_pct": busiest}, False
    text = f"{whose}'s {run.cpu_name(end)} was {busiest:.0f} % busy"
    if by_thread:
        figures = {f"{end}_process_cpu_pct": thread or 0.0}
        text = f"tool's thread on the {whose} was {thread:.0f} % busy"
        if waited:
            figures[f"{end}_cpu_wait_pct"] = waited
            text += f" and waited {waited:.0f} % of the time for a CPU"
        held = waited >= HELD_PCT and peak is not None and peak < ROOM_PCT
        if held:
            text += (
                f", though CPUs were {peak:.0f} % busy at most (a quota, cpu.max, or a binding may "
                "hold it back)"
            )
    full = WANTED_PCT if by_thread and waited else BUSY_PCT
    premises = [Premise.reached(busiest, full, f"the {text}"), *_wanted(run, whose, end)]
    premises += goal.premises(run)
    if end == run.sender:
        premises += queues.arrived_as_sent(run)
    rate = run.throughput
    if run.bound_mbps and rate is not None:
        short = f"{mbps(rate)} are {100 * rate / run.bound_mbps:.1f} % of what the link leaves"
        premises.append(Premise.below(rate / run.bound_mbps, NEAR, short))
    clock = run.figure(f"{end}_cpu_mhz")
    at = decide = ""
    if clock:
        figures[f"{end}_cpu_mhz"] = clock
        at = f", at {clock:,.0f} MHz"
    if held:  # a faster clock or more CPUs do not help a thread that is held back
        at, decide = "", f"a larger quota or other CPUs for the tool on the {whose} ({BY_HAND})"
    return Sign(tuple(premises), f"The {text}{at}.", figures, decide)


def _wanted(run: RunFigures, whose: str, end: str) -> list[Premise]:
    """Return the premise that the tool needed CPU time.

    The evidence is the CPU time that it used, its waits for a CPU, or unread data in its buffer.
    The list is empty on a shared machine.
    """
    used, waited = run.process_pct(end), run.own(f"{end}_cpu_wait_pct")
    queued = run.own(f"{end}_rcvbuf_used_pct") if end == run.receiver else None
    if run.one_machine:
        return []
    if used is None:
        short = f"what the tool itself used of the {whose}'s CPUs was not measured"
        return [Premise(UNKNOWN, short)]
    share = SHARE_PCT if queued is None else READER_PCT
    # a sleeping reader leaves data unread too, so unread data counts only if waits are unknown
    waits = 0.0 if waited is not None else queued or 0.0
    strength = max((used + (waited or 0.0)) / share, waits / QUEUED_PCT)
    return [Premise(strength, f"the tool on the {whose} used only {used:.0f} % of a CPU")]


def its_own_pct(run: RunFigures) -> float | None:
    """Return the use of the busiest CPU of both ends by the run itself, %; None if unknown."""
    parts = []
    for end in ("local", "remote"):
        busiest = run.busiest_pct(end)
        if busiest is None:
            return None
        used, softirq = run.process_pct(end), run.own(f"{end}_cpu_peak_softirq_pct")
        waited = run.own(f"{end}_cpu_wait_pct")
        if used is not None and softirq is not None:
            if not run.one_machine:
                busiest = min(busiest, used + softirq)
            elif waited is not None:
                busiest = min(busiest, max(used + waited, softirq))
        parts.append(busiest)
    return max(parts)


def room(run: RunFigures) -> list[Premise]:
    """Return the premise that the run leaves CPU time free on each CPU; empty if unknown."""
    if not (busiest := its_own_pct(run)):
        return []
    return [Premise.below(busiest, ROOM_PCT, f"the busiest CPU was {busiest:.0f} % busy with it")]
