"""Wait for conditions in tests, never for a time, and never judge how long it took."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from netlimits.lab import layout

T = TypeVar("T")

LONG = 300.0
"""Timeout in seconds. Most conditions are true at once, but a busy machine may take a hundred times
as long."""


BRIEF = 0.05
"""The longest pause between checks for a short-lived condition, such as a run of a second."""


def wait(
    until: Callable[[], T],
    what: str | Callable[[], str] = "it",
    seconds: float = LONG,
    longest: float = 1.0,
) -> T:
    """Return the value of `until` once it is true; fail with `what` after `seconds`.

    `longest` is the longest pause between checks: `BRIEF` for a short-lived condition.
    """
    limit = time.monotonic() + seconds
    while True:
        begin = time.monotonic()
        if value := until():
            return value
        now = time.monotonic()
        assert now < limit, f"not within {seconds:g} s: {what if isinstance(what, str) else what()}"
        # frequent checks would take CPU from the awaited program
        time.sleep(max(0.02, min(longest, 9 * (now - begin))))


def stopped(process: subprocess.Popen, when: Callable[[], object], what: str) -> None:
    """Stop a program (SIGSTOP) while a condition is true.

    The condition is checked again after the signal, since it may have become false before.
    """

    def still() -> bool:
        if process.poll() is not None:
            return True
        if not when():
            return False
        process.send_signal(signal.SIGSTOP)
        if when():
            return True
        process.send_signal(signal.SIGCONT)
        return False

    wait(still, what, longest=BRIEF)
    assert process.poll() is None, process.communicate()


def inside(namespace: str) -> set[int]:
    """Return the processes in a network namespace, faster than `ip netns pids`."""
    its_own, pids = f"net:[{(layout.NAMESPACES / namespace).stat().st_ino}]", set()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208  five times as fast
        with suppress(OSError):
            if os.readlink(f"/proc/{name}/ns/net") == its_own:  # noqa: PTH115
                pids.add(int(name))
    return pids
