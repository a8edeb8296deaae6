"""How long `netlimits --help` takes, as a ratio to importing click alone, in turn in one run.

.venv/bin/python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 15
HELP = [sys.executable, "-m", "netlimits", "--help"]
CLICK = [sys.executable, "-c", "import click"]


def seconds(argv: list[str]) -> float:
    """Wall time of one process."""
    begin = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    """Print both medians and the median of the paired ratios."""
    pairs = [(seconds(HELP), seconds(CLICK)) for _ in range(ROUNDS + 1)][1:]
    ours, click = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"netlimits --help        {ours:.3f} s")
    print(f"python -c 'import click' {click:.3f} s")
    print(f"ratio                   {ratio:.2f}   (reach: 3)")


if __name__ == "__main__":
    main()
