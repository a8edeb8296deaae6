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
    said = json.loads(ran.stdout)
    for one in said["targets"]:
        if one["finding"]:
            print(f"{one['target']} after {one['inputs']:,} inputs:\n{one['finding']}\n")
    rate = said["inputs"] / said["seconds"]
    most = max(one["megabytes"] for one in said["targets"])
    found = sum(bool(one["finding"]) for one in said["targets"])
    print(f"inputs        {said['inputs']:,} for {len(said['targets'])} readers")
    print(f"seconds       {said['seconds']}   ({rate:,.0f} inputs/s)")
    print(f"most memory   {most} MiB")
    print(f"findings      {found}")
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
