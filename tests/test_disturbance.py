"""What the benchmarks of our own disturbance print, in a short form: only that they work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import LONG

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FIGURES = ("THROUGHPUT", "LOCAL_SD")


@pytest.mark.lab
@pytest.mark.parametrize(
    ("script", "count", "head", "ends"),
    [
        ("disturbance.py", "--pairs", "2 pairs of 1 s", [("", "  two-way")]),
        (
            "sampler.py",
            "--rounds",
            "2 rounds of 1 s",
            [("sampler", ""), ("sampler, usual priority", "")],
        ),
    ],
)
def test_ratios_have_intervals(script, count, head, ends):
    ran = subprocess.run(
        [sys.executable, BENCHMARKS / script, count, "2", "--seconds", "1"],
        capture_output=True, text=True, timeout=2 * LONG,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    first, *lines = ran.stdout.splitlines()
    assert first.startswith(head)
    expected = [(before, name, after) for before, after in ends for name in FIGURES]
    assert len(lines) == len(expected)
    for line, (before, name, after) in zip(lines, expected, strict=True):
        assert re.fullmatch(rf"{before} *{name} +[0-9.]+  \[[0-9.]+, [0-9.]+\]{after}", line), line
