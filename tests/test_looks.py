"""What `benchmarks/looks.py` prints, in a short form: only that it works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import LONG

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "looks.py"


@pytest.mark.lab
def test_two_rounds_have_ratios_of_both_ranks():
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--rounds", "2", "--seconds", "1"],
        capture_output=True, text=True, timeout=2 * LONG,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(
        r"2 rounds of 1 s, .*\n"
        r"(with looks +(THROUGHPUT|LOCAL_SD) +[0-9.]+  \[[0-9.]+, [0-9.]+\]\n){2}"
        r"(with looks of the rank of others +(THROUGHPUT|LOCAL_SD) +[0-9.]+  \[[0-9.]+, [0-9.]+\]\n){2}",
        ran.stdout,
    ), ran.stdout
