"""How busy the program was that received."""

from __future__ import annotations

from netlimits.limits.figures import RunFigures


def wanted_pct(run: RunFigures) -> float | None:
    """Return what the receiving tool used of a CPU and waited for one, %; None if not known."""
    used = run.process_pct(run.receiver)
    waited = run.own(f"{run.receiver}_cpu_wait_pct") or 0.0
    return None if used is None else min(100.0, used + waited)
