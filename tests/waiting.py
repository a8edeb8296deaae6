"""Waiting in tests: for a condition, never for a time; and never a judgement of how fast it came."""

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
"""Seconds after which what is waited for never comes. Mostly it takes a blink; a machine that is
busy with other things may take a hundred times as long."""


BRIEF = 0.05
"""The longest pause between two looks for what passes by, such as a run of a second."""


def wait(
    until: Callable[[], T],
    what: str | Callable[[], str] = "it",
    seconds: float = LONG,
    longest: float = 1.0,
) -> T:
    """What `until` returns, once that is true; fails after `seconds`, naming what was awaited.

    `longest` is the longest pause between two looks: `BRIEF` for what does not stay.
    """
    limit = time.monotonic() + seconds
    while True:
        begin = time.monotonic()
        if value := until():
            return value
        now = time.monotonic()
        assert now < limit, f"not within {seconds:g} s: {what if isinstance(what, str) else what()}"
        # who looks often takes the CPU from what is awaited
        time.sleep(max(0.02, min(longest, 9 * (now - begin))))


def stopped(process: subprocess.Popen, when: Callable[[], object], what: str) -> None:
    """Stop a program when something is so, which is so still then, as long as it stands still.

    Between a look and a signal a busy machine may do much: it is stopped to be looked at again.
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
    """The processes in a network namespace, as `ip netns pids` names them: it is asked all the time."""
    its_own, pids = f"net:[{(layout.NAMESPACES / namespace).stat().st_ino}]", set()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208  five times as fast
        with suppress(OSError):
            if os.readlink(f"/proc/{name}/ns/net") == its_own:  # noqa: PTH115
                pids.add(int(name))
    return pids
