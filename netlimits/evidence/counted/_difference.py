"""What a counter grew by between two readings: the one rule that all evidence shares."""

from __future__ import annotations

from netlimits.errors import ToolFailure


def growth(what: str, before: int, after: int, *, bits: int = 64) -> int:
    """How much a counter of so many bits grew.

    A 32-bit counter starts again at 0 after 2³² - 1: a step back is taken for that where it then
    is a growth of less than half the range. Raises ToolFailure for any other step back: the
    counter was reset in between, by a driver or a replaced qdisc: what it says is not the run's.
    """
    if after >= before:
        return after - before
    wrapped = after - before + 2**32
    if bits == 32 and wrapped < 2**31:
        return wrapped
    why = "it was reset meanwhile"
    if bits > 32 and before < 2**32 and wrapped < 2**31:
        why += ", or has only 32 bits and began again at 0: how often, nobody can tell"
    raise ToolFailure(
        f"{what} went back from {before} to {after} during the run: {why}", status="invalid"
    )
