"""Millions of inputs for every reader, guided by coverage, and how many a second.

    python benchmarks/fuzz.py                       # 3,000,000 inputs
    python benchmarks/fuzz.py --runs 20000000 --seed 5 --keep /tmp/fuzz

tests/fuzz/guided.py does the work; the options are its. What is found is printed, and with --keep
its input is kept as FOLDER/TARGET/found-…: put that under tests/fuzz/regressions/TARGET/, and the
tests read it from then on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GUIDED = Path(__file__).parents[1] / "tests" / "fuzz" / "guided.py"


def main() -> int:
    """Run it and print a line for each finding; the exit status is 1 when there is one."""
    given = sys.argv[1:] if "--runs" in sys.argv else ["--runs", "3000000", *sys.argv[1:]]
    ran = subprocess.run(
        [sys.executable, str(GUIDED), *given], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    report = json.loads(ran.stdout)
    for outcome in report["targets"]:
        if outcome["finding"]:
            print(
                f"{outcome['target']} after {outcome['inputs']:,} inputs:\n{outcome['finding']}\n"
            )
    rate = report["inputs"] / report["seconds"]
    most = max(outcome["megabytes"] for outcome in report["targets"])
    findings = sum(bool(outcome["finding"]) for outcome in report["targets"])
    print(f"inputs        {report['inputs']:,} for {len(report['targets'])} readers")
    print(f"seconds       {report['seconds']}   ({rate:,.0f} inputs/s)")
    print(f"most memory   {most} MiB")
    print(f"findings      {findings}")
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
