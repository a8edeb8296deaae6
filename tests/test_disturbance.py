"""What `benchmarks/disturbance.py` prints, in a short form: only that it works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import LONG

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "disturbance.py"


@pytest.mark.lab
def test_two_pairs_have_ratios_with_intervals():
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--pairs", "2", "--seconds", "1"],
        capture_output=True, text=True, timeout=2 * LONG,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    head, *lines = ran.stdout.splitlines()
    assert head.startswith("2 pairs of 1 s")
    assert len(lines) == 2
    for line, name in zip(lines, ("THROUGHPUT", "LOCAL_SD"), strict=True):
        assert re.fullmatch(rf"{name} +[0-9.]+  \[[0-9.]+, [0-9.]+\]  two-way", line), line
