"""One look at sockets and processes in mid-run."""

from __future__ import annotations

from collections.abc import Sequence

from netlimits.model import Command, Completed, Scalar


def command(wait_s: float, program: str, peers: Sequence[str], port: int) -> Command:
    """The look, after `wait_s` seconds."""
    return Command(("sleep", f"{wait_s:g}"), deadline=wait_s + 5)


def figures(completed: Sequence[Completed]) -> dict[str, Scalar]:
    """What it says."""
    return {}
