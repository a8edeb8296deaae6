"""Parse and check what all tools have in common: start time, failures and the data moved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from netlimits.errors import OutputError, ToolFailure
from netlimits.model import Completed, Flow, Work
from netlimits.units.sizes import TIMESTAMPS

SHORTEST = 0.9
"""Minimum share of the requested time; a shorter run counts as stopped early."""


def started(completed: Completed, options: Mapping[str, Any]) -> tuple[float, str]:
    """Return (epoch seconds of the start, the tool's output).

    The client's command prints the start if `interim_seconds` is set; otherwise it is 0.
    """
    if "interim_seconds" not in options:
        return 0.0, completed.stdout
    match = re.match(r"([0-9]{9,12}\.[0-9]{1,9})\n", completed.stdout)
    if not match:
        raise ToolFailure("the client's host printed no time before the client started")
    return float(match[1]), completed.stdout[match.end() :]


_SHELL = re.compile(r"^[0-9a-f]{32}: [0-9]+: ")
"""The prefix of a shell's error message if the shell's $0 is a random word."""


def absent(tool: str, completed: Completed, advice: str) -> ToolFailure:
    output = _SHELL.sub("", completed.complaint) or "it printed nothing"
    return ToolFailure(f"{tool} does not answer ({output}); {advice}")


def check_features(tool: str, needed: Sequence[str], usage: str, advice: str) -> None:
    """Raise ToolFailure if a tool's usage text lacks options that netlimits needs."""
    if missing := [option for option in needed if option not in usage]:
        raise ToolFailure(f"{tool} has no {' and no '.join(missing)}; {advice}")


def invalid(problem: str) -> ToolFailure:
    """Return the error for a run that measured something other than what was requested."""
    return ToolFailure(problem, status="invalid")


def check_ended(
    completed: Completed, tool: str, seconds: float, cause: str = "is the data link down?"
) -> None:
    """Raise ToolFailure if the client hung, or OutputError if it printed too much."""
    if completed.timed_out:
        raise ToolFailure(
            f"{tool} of {seconds:g} s had not ended after {completed.command.deadline:g} s and "
            f"was killed: {cause}",
            status="timeout",
        )
    if completed.truncated:
        raise OutputError(f"{tool} printed too much output to keep")


def check_status(completed: Completed, tool: str, reason: str) -> None:
    if completed.status != 0:
        raise ToolFailure(f"{tool} exited {completed.status}: {reason or 'it printed no reason'}")


def check_length(elapsed: float, seconds: float) -> None:
    """Raise ToolFailure (`invalid`) for a run that was stopped early."""
    if elapsed < SHORTEST * seconds:
        raise invalid(f"it ended after {elapsed:g} s of {seconds:g} s: something stopped it")


def check_mss(requested: int | None, used: int) -> None:
    if requested is not None and used not in (requested, requested - TIMESTAMPS):
        raise invalid(
            f"an MSS of {requested} was asked for and {used} was used: is the MTU large enough?"
        )


def no_data(problem: str, figure: str = "throughput is 0") -> ToolFailure:
    return ToolFailure(f"{figure}: {problem}; is the data path open?")


def stream_work(flows: Sequence[Flow], *, datagrams: bool) -> Work:
    """Return the work of streams in KiB: datagrams that were sent, or TCP data that arrived."""
    return Work(sum(f.sent if datagrams else f.arrived for f in flows) / 1024, tuple(flows))


def transaction_work(
    count: float, request_size: int, response_size: int, *, packets: float
) -> Work:
    """Return the work of transactions; each direction took at least `packets` packets."""
    sizes = (("local", request_size), ("remote", response_size))
    flows = tuple(Flow(end, count * size, count * size, packets) for end, size in sizes)
    return Work(count, flows, transactions=True)
