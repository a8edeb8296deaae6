"""Time and memory of a plan of a million runs, beside csv.writer writing as many plain rows.

    python benchmarks/plan.py

Each case runs in a process of its own, so that its peak memory is its own; the time is that of
the process, imports included. The plans have a derived value and an `exclude`; the baseline
writes rows of the same width with nothing to compute. Exits 1 when a plan takes too much memory,
or too long by the clock and by the ratio to the baseline, which a busy machine slows alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS_LIMIT = 10.0
RATIO_LIMIT = 11.0
"""10 s are 11 times the baseline's 0.9 s on the machine that the limit was set for."""
MEGABYTES_LIMIT = 200.0

PLAN = """
experiment: million
factors:
  protocol: [tcp, udp]
  send_size: {sizes}
  buffer: {buffers}
derive:
  mss: send_size + 12
exclude:
  - protocol == "udp" and buffer > {most}
measure:
  netperf: {{protocol: "${{protocol}}", send_size: "${{send_size}}", mss: "${{mss}}"}}
repeat: {{replicates: {replicates}, order: {order}, seed: 1}}
"""
BASELINE = """
import csv, sys
with open(sys.argv[1], "w", newline="") as file:
    csv.writer(file, lineterminator="\\n").writerows(
        (i, 1, "0123456789ab", "tcp", 1024, 16384, 1036) for i in range(1, 1_000_001)
    )
"""


def plan(sizes: int, buffers: int, replicates: int, order: str) -> str:
    """An experiment of sizes × buffers configurations for TCP and about half as many for UDP."""
    return PLAN.format(
        sizes=list(range(1000, 1000 + sizes)),
        buffers=list(range(10_000, 10_000 + buffers)),
        most=10_000 + buffers // 2 - 1,
        replicates=replicates,
        order=order,
    )


CASES = {
    "1,000,000 × 1, blocked": plan(1000, 667, 1, "blocked"),
    "1,000,000 × 1, shuffled": plan(1000, 667, 1, "shuffled"),
    "1,000 × 1,000, blocked": plan(10, 67, 1000, "blocked"),
    "1,000 × 1,000, shuffled": plan(10, 67, 1000, "shuffled"),
}


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and peak resident megabytes (10⁶ bytes) of one process."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} exited {process.returncode}")
    return seconds, usage.ru_maxrss * 1024 / 1e6


def main() -> int:
    """Print a line for each case; 1 when one passes a limit."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        baseline, megabytes = measured([sys.executable, "-c", BASELINE, str(rows)])
        print(f"{'csv.writer, plain rows':26} {baseline:6.2f} s {megabytes:6.0f} MB")
        for name, text in CASES.items():
            experiment = Path(folder, "experiment.yaml")
            experiment.write_text(text, encoding="utf-8")
            command = ["netlimits", "plan", str(experiment), "--csv", str(rows), "--json"]
            start = "from netlimits.cli import main; main()"
            seconds, megabytes = measured([sys.executable, "-c", start, *command[1:]])
            with rows.open(encoding="utf-8") as file:
                count = sum(1 for _ in file) - 1
            quick = seconds < SECONDS_LIMIT or seconds / baseline < RATIO_LIMIT
            good = count == 1_000_000 and quick and megabytes < MEGABYTES_LIMIT
            failed += not good
            print(
                f"{name:26} {seconds:6.2f} s {megabytes:6.0f} MB   {seconds / baseline:4.1f} × "
                f"the plain rows   {'ok' if good else f'FAILED ({count:,} rows)'}"
            )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
