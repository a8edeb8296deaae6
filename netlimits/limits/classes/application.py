"""The program: it hands over less than the path would take."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign, least
from netlimits.limits.figures import RunFigures

MET_PCT = 2.0
"""How far from the rate that the tool was told what arrived may be, percent."""
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
    intervention = Intervention("ask the program for twice as much", "rate", 2, least=1.3)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """The rate that the tool was told, met; else connections that waited for the program."""
        goal, rate = run.goal_mbps, run.throughput
        if goal and rate is not None:
            off = abs(100 * (rate / goal - 1))
            return Sign(
                MET_PCT / off if off > MET_PCT / 2 else 2.0,
                f"The program: it was told to send {goal:,.4g} Mbit/s, and {rate:,.4g} arrived.",
                {"throughput_mbps": rate, "goal_mbps": goal},
            )
        limited, busy = run.sent("app_limited_pct"), run.sent("busy_pct")
        cpu = run.busiest_pct(run.sender)
        if limited is None or busy is None or cpu is None:
            return None
        strength = least(
            limited / 100,
            BUSY_PCT / busy if busy else 2.0,
            CPU_PCT / cpu if cpu else 2.0,
        )
        return Sign(
            strength,
            f"The program had no more to send: data was in flight {busy:.0f} % of the time.",
            {"app_limited_pct": limited, "busy_pct": busy},
        )
