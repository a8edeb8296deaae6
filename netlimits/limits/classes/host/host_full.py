"""Both ends run on one kernel, and all its CPUs are fully used."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import goal

FULL_PCT = 95.0
"""Minimum mean use of all CPUs, in percent."""
WANTED_PCT = 40.0
"""Minimum % of a CPU that one end of the tool uses or waits for. It was 0 to 18 % if the program
slept or the path was full, although other programs kept the machine busy."""

ALIKE, NEARLY = 1 / 3, 0.85
"""ALIKE is the minimum ratio of the two ends' waits for a CPU, shorter wait over longer wait. On a
full machine both ends wait (a ratio of 0.6 to 0.95). A quota or a CPU binding delays only one end
(0.2). With different waits, the premise fails narrowly: its strength is NEARLY or more."""


class HostFull:
    name = "host-full"
    title = "The CPUs that both ends share"
    needs = ("cpu_pct", "process_cpu_pct")
    intervention = Intervention("ends on two machines, or fewer others beside them", least=1.1)
    labels: tuple[Label, ...] = ()

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the CPU use of the machine that both ends share, if they share one."""
        busy = run.sent("cpu_pct")
        used = [run.own(f"{end}_process_cpu_pct") for end in ("local", "remote")]
        if not run.one_machine or busy is None or None in used:
            return None
        waited = [run.own(f"{end}_cpu_wait_pct") or 0.0 for end in ("local", "remote")]
        wanted = max((a or 0.0) + b for a, b in zip(used, waited, strict=True))
        softirq, others = run.sent("softirq_pct"), run.sent("other_cpu_pct")
        parts = [f"the tool {sum(filter(None, used)):.0f} % of one CPU"]
        parts += [f"softirq {softirq:.0f} % of all"] if softirq is not None else []
        parts += [f"other programs {others:.0f} % of one"] if others is not None else []
        text = f"both ends run on one machine, whose CPUs were {busy:.0f} % busy"
        return Sign(
            (
                Premise.reached(busy, FULL_PCT, text),
                Premise.reached(wanted, WANTED_PCT, f"the tool wanted {wanted:.0f} % of a CPU"),
                *_alike(run),
                *goal.premises(run),
            ),
            f"{text[:1].upper()}{text[1:]} ({', '.join(parts)}).",
            {f"{run.sender}_cpu_pct": busy, "process_cpu_pct": wanted},
        )


def _alike(run: RunFigures) -> list[Premise]:
    waits = [run.own(f"{end}_cpu_wait_pct") for end in ("local", "remote")]
    used = [run.process_pct(end) for end in ("local", "remote")]
    if None in waits or any(not a and not b for a, b in zip(used, waits, strict=True)):
        return []
    least, most = sorted(wait or 0.0 for wait in waits)
    short = f"one end waited for a CPU {most:.0f} % of the time, and the other {least:.0f} %"
    return [Premise(max(NEARLY, least / max(most, 1e-9) / ALIKE), short)]
