"""Why a run of a tool must not count, where every tool says it alike."""

from __future__ import annotations

from netlimits.errors import ToolFailure

SHORTEST = 0.9
"""The share of its time below which a run was stopped."""


def short_run(elapsed: float, seconds: float) -> None:
    """Raise ToolFailure (`invalid`) for a run meant to take `seconds` that took far less."""
    if elapsed < SHORTEST * seconds:
        raise ToolFailure(
            f"it ended after {elapsed:g} s of {seconds:g} s: something stopped it", status="invalid"
        )
