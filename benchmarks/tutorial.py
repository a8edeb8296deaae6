"""What the tutorial's commands print, on two machines of the lab with two CPUs each.

    sudo .venv/bin/python benchmarks/tutorial.py

The experiment is the one that the page shows. The lab is taken down whatever happens.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from netlimits.lab import labs

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
FILE = re.compile(r"^```yaml\n(# first\.yaml\n.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Run it, and print its tables and its verdicts; 1 where a run failed."""
    lab = f"t{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        file, results = Path(folder, "first.yaml"), Path(folder, "results")
        file.write_text("".join(FILE.findall(PAGE.read_text("utf-8"))), "utf-8")
        netlimits = [sys.executable, "-m", "netlimits"]
        try:
            hosts = labs.up(lab, guest=labs.Guest(cpus=2)).hosts_file
            words = ["run", file, "--hosts", hosts, "--out", results, "--quiet"]
            done = subprocess.run([*netlimits, *words], stdout=subprocess.DEVNULL)
        finally:
            labs.down(lab)
        for command in ("table", "explain"):
            subprocess.run([*netlimits, command, results], check=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
