"""A control group's quota: the tool is ready and CPUs are free, but its quota is used up."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import goal

QUOTA_PCT = 20.0
"""Minimum % of the time in which the quota held the tool back."""


class CpuQuota:
    name = "cpu-quota"
    title = "A CPU quota"
    needs = ("process_cpu_pct",)  # not `throttled_pct`: hosts without a quota lack it
    intervention = Intervention("a quota (cpu.max) a quarter larger", least=1.1)
    labels: tuple[Label, ...] = ()

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the % of the time in which a quota held the tool back at an end."""
        held = {
            end: share
            for end in (run.sender, run.receiver)
            if (share := run.own(f"{end}_throttled_pct")) is not None
        }
        if not held:
            return None
        end = max(held, key=held.__getitem__)
        who = "sender" if end == run.sender else "receiver"
        text = f"it held the tool back {held[end]:.0f} % of the time"
        return Sign(
            (Premise.reached(held[end], QUOTA_PCT, text), *goal.premises(run)),
            f"The {who}'s CPU quota: {text}.",
            {f"{end}_throttled_pct": held[end]},
        )
