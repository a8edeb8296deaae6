"""The program: it hands over less than the path would take."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps

MET_PCT, OVER_PCT = 2.0, 10.0
"""How far below the rate that the tool was told what arrived may be, and how far above, percent.

Tools catch up with what they did not send in time, and a short run has their first burst in it."""
BUSY_PCT = 50.0
CPU_PCT = 90.0
"""A sender whose CPU has less left than the rest may hand over little for want of it."""

LABELS = tuple(
    Label(
        """factors: {rate: [1M, 3M, 8M, 15M]}
measure:
  iperf3: {seconds: 2, rate: "${rate}", send_size: 1448}
""",
        link=f"--delay {delay}",
    )
    for delay in ("0", "2ms")
)


class Application:
    """`application`."""

    name = "application"
    title = "The program itself"
    needs = ("app_limited_pct", "busy_pct", "cpu_peak_pct")
    intervention = Intervention("twice the rate that the program is told", "rate", 2, least=1.3)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """The rate that the tool was told, met; else connections that waited for the program."""
        goal, rate = run.goal_mbps, run.throughput
        if goal and rate is not None:
            off = 100 * (rate / goal - 1)
            met = OVER_PCT if off > 0 else MET_PCT
            told = f"it was told to send {mbps(goal)}, and {mbps(rate)} arrived"
            return Sign(
                (Premise.below(max(abs(off), met / 2), met, told),),
                f"The program: {told}.",
                {"throughput_mbps": rate, "goal_mbps": goal},
            )
        limited, busy = run.sent("app_limited_pct"), run.sent("busy_pct")
        cpu = run.busiest_pct(run.sender)
        if limited is None or busy is None or cpu is None:
            return None
        told = f"data was in flight {busy:.0f} % of the time"
        return Sign(
            (
                Premise.reached(limited, 100, f"{limited:.0f} % of the looks found it short"),
                Premise.below(busy, BUSY_PCT, told),
                Premise.below(cpu, CPU_PCT, f"the sender's busiest CPU was {cpu:.0f} % busy"),
            ),
            f"The program had no more to send: {told}.",
            {"app_limited_pct": limited, "busy_pct": busy},
        )
