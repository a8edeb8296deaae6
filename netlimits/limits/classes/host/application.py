"""The program: it sends less than the path could carry."""

from __future__ import annotations

from netlimits.limits.base import BY_HAND, Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps

MET_PCT, OVER_PCT = 2.0, 10.0
"""MET_PCT is the maximum % by which throughput may be below the tool's target rate.

OVER_PCT is the maximum % above it. Tools catch up after delays, and a short run includes their
first burst.
"""
BUSY_PCT, SHORT_PCT, USED_PCT = 50.0, 95.0, 50.0
"""A connection waits for its program in two cases. Either data is in flight for at most BUSY_PCT
of the time. Or the send buffer is at most USED_PCT full, and at least SHORT_PCT of the samples
find nothing to send. If the fill is unknown, both BUSY_PCT and SHORT_PCT must hold."""
CPU_PCT, ROOM_PCT, WAITED_PCT = 90.0, 75.0, 25.0
"""Maximum CPU use of the sender in percent; above it, the sender may be slow for lack of CPU.
ROOM_PCT replaces CPU_PCT if data is in flight most of the time. If both ends share a machine, the
program may also wait for a CPU at most WAITED_PCT of the time."""

LABELS = tuple(
    Label(
        """factors: {rate: [1M, 3M, 8M, 15M]}
measure:
  iperf3: {seconds: 2, rate: "${rate}", send_size: 1448}
""",
        link=link,
    )
    for link in ("", "--delay 2ms")
)


class Application:
    name = "application"
    title = "The program itself"
    needs = ("app_limited_pct", "busy_pct", "cpu_peak_pct")
    intervention = Intervention("twice the rate that the program is told", "rate", 2, least=1.3)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign if the tool met its target rate, or connections waited for the program."""
        goal, rate = run.goal_mbps, run.throughput
        if goal and rate is not None:
            off = 100 * (rate / goal - 1)
            met = OVER_PCT if off > 0 else MET_PCT
            text = f"it was told to send {mbps(goal)}, and {mbps(rate)} arrived"
            return Sign(
                (Premise.below(max(abs(off), met / 2), met, text),),
                f"The program: {text}.",
                {"throughput_mbps": rate, "goal_mbps": goal},
            )
        limited, busy = run.sent("app_limited_pct"), run.sent("busy_pct")
        if limited is None or busy is None or run.transactions:
            return None
        text = f"data was in flight {busy:.0f} % of the time"
        short = f"{limited:.0f} % of the samples found nothing to send"
        return Sign(
            (
                _idle(run, limited, busy, f"{text}, and {short}"),
                *_room(run, CPU_PCT if busy <= BUSY_PCT else ROOM_PCT),
            ),
            f"The program sent nothing most of the time: {text}."
            if busy <= BUSY_PCT
            else f"The program had no more to send: {short}, in a buffer that had room.",
            {"app_limited_pct": limited, "busy_pct": busy},
            f"more data from the program, or another program on the same path ({BY_HAND}); "
            f"{self.intervention.expectation} proves {self.name}",
        )


def _idle(run: RunFigures, limited: float, busy: float, short: str) -> Premise:
    used = run.sent("sndbuf_used_pct")
    strength = (100.0 - busy) / (100.0 - BUSY_PCT)
    if used is None:
        strength = min(strength, limited / SHORT_PCT)
    else:
        strength = max(strength, min(limited / SHORT_PCT, USED_PCT / max(used, 1.0)))
    return Premise(strength, short)


def _room(run: RunFigures, most: float) -> list[Premise]:
    """Return the premises that the sender (on a shared machine, its program) has CPU time left."""
    used, waited = (
        run.process_pct(run.sender),
        run.own(f"{run.sender}_cpu_wait_pct"),
    )
    cpu = run.busiest_pct(run.sender)
    if run.one_machine and used is not None and waited is not None:
        wanted = used + waited
        text = f"it used and waited for {wanted:.0f} % of a CPU"
        return [
            Premise.below(wanted, most, text),
            Premise.below(waited, WAITED_PCT, f"it waited for a CPU {waited:.0f} % of the time"),
        ]
    if cpu is None:
        return [Premise(0.9, "how busy the sender's CPUs were was not measured")]
    return [Premise.below(cpu, most, f"the sender's busiest CPU was {cpu:.0f} % busy")]
