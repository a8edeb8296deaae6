"""The controller's clock steps by an hour in the middle of runs; `test_machines` has a host's.

The lab's hosts share this machine's clock, which is not ours to change. `clock.c` steps the
real-time clock of a program and leaves its monotonic one alone, as a step of the real one does.
(libfaketime would, but its sleeps fail at random in a program with threads: "Invalid argument".)
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from faults.ground import statuses, wait

import netlimits as nl

pytestmark = pytest.mark.lab

TEXT = """\
experiment: clocks
settings:
  - roles: [sender, receiver]
    offload: {tso: off}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 3, order: listed}
"""
HOUR = 3600


class Clock:
    """A clock that programs are given, and its step to the real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source, library = Path(__file__).with_name("clock.c"), folder / "clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        self.environment = {"LD_PRELOAD": str(library), "STEPS": str(folder / "clock")}
        self.step(0)

    def step(self, seconds: int) -> None:
        """To so much before or after the real time."""
        beside = self.folder / "clock.new"
        beside.write_text(f"{seconds}\n")
        beside.replace(self.folder / "clock")


def test_the_controllers_clock_steps(ground):
    clock, out = Clock(ground.folder), ground.folder / "out"
    held = TEXT.replace("send_size: 1024", "test: TCP_RR")  # a stream held in mid-send ends at once
    process = ground.campaign(held, out, env={**os.environ, **clock.environment})
    for number, to in enumerate((HOUR, -HOUR), 1):
        with ground.held(process, out):
            clock.step(to)
        wait(lambda n=number: len(ground.ends(out)) >= n, f"run {number} has ended")
    printed = ground.ended(process)
    assert "0/3 done" in printed
    rows = ground.settled(out)
    assert statuses(rows) == [(n, 1, "ok") for n in (1, 2, 3)]
    first, second, third = nl.open(out).records()
    assert second.started - first.started > 0.9 * HOUR, "the step was real"
    assert second.started - third.started > 1.9 * HOUR
    assert all(1 <= record.duration_s < HOUR / 2 for record in (first, second, third))
    frame = nl.open(out).frame()
    assert list(frame["run"]) == [1, 2, 3], "in the order in which they were, not by the clock"
