"""What a run cost here, against the kernel's own words for this process."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from netlimits.archive import raw
from netlimits.campaign import controller

TICK = 1 / os.sysconf("SC_CLK_TCK")


def test_cpu_and_memory_are_those_of_this_process() -> None:
    watched = controller.Controller()
    before = time.process_time()
    while time.process_time() < before + 0.3:
        pass
    entry = watched.entry()
    used = time.process_time() - before
    figures = controller.figures([entry])
    share = float(figures["controller_cpu_pct"]) / 100 * entry.completed.seconds
    assert used - 3 * TICK <= share <= used + 3 * TICK + 0.05
    resident = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert figures["controller_memory_mib"] == pytest.approx(int(resident[1]) / 1024, rel=0.2)
    busy = float(figures["controller_busy_pct"]) / 100 * entry.completed.seconds * os.cpu_count()
    # idle time is counted in ticks of each CPU, which a busy machine may count late
    assert busy >= used / 2, "the machine was about as busy as we were, or more"


def test_it_is_kept_as_raw_output_is() -> None:
    entry = controller.Controller().entry()
    assert raw.entries(raw.line(entry)) == [entry]
    assert entry.step == raw.CONTROLLER


@pytest.mark.parametrize("printed", ["", "{}", "nonsense", '{"seconds": 0}', '["cpu_s"]'])
def test_an_older_or_damaged_run_says_nothing(printed: str) -> None:
    entry = controller.Controller().entry()
    entry = replace(entry, completed=replace(entry.completed, stdout=printed))
    assert controller.figures([entry]) == {}
    assert controller.figures([]) == {}
