"""What a run costs beside netperf's own time, next to the published bash loop on the same lab.

Each run lasts 1 s and toggles the stateless offloads on both hosts. netlimits reads them before
and after every change; the loop, as published, writes them and never looks. In the same run of
this script, in turn, on the same lab:

- the loop: `ethtool -K` here, `ssh HOST ethtool -K` there, `netperf`;
- netlimits: a campaign of as many runs.

Printed for both: the median time of a run beyond netperf's own wall time, and the ratio.

    sudo .venv/bin/python benchmarks/overhead.py [--runs 12]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from netlimits.archive.store import Archive
from netlimits.lab import labs

NAME = "bench"

EXPERIMENT = """\
experiment: overhead
factors: {{offloads: [on, off]}}
settings:
  - roles: [sender, receiver]
    offload:
      tso: "${{offloads}}"
      gso: "${{offloads}}"
      gro: "${{offloads}}"
measure:
  netperf: {{seconds: 1, protocol: tcp, send_size: 1024}}
repeat: {{replicates: {replicates}, order: listed, seed: 1}}
"""

LOOP = r"""
config=$1 destination=$2 address=$3 runs=$4
switch() { ethtool -K data0 tso "$1" gso "$1" gro "$1"; }
for i in $(seq 1 "$runs"); do
  if [ $((i % 2)) = 1 ]; then state=on; else state=off; fi
  begin=$(date +%s.%N)
  switch $state >/dev/null
  ssh -F "$config" "$destination" "ethtool -K data0 tso $state gso $state gro $state" >/dev/null
  started=$(date +%s.%N)
  netperf -P 0 -H "$address" -t omni -l 1 -c -C \
    -- -T tcp -d send -m 1024 -R 1 -k THROUGHPUT >/dev/null
  ended=$(date +%s.%N)
  echo "$begin $started $ended $(date +%s.%N)"
done
"""


def loop(hosts_file: Path, runs: int) -> list[float]:
    """Seconds beyond netperf's own, for each run of the bash loop, run on the sender."""
    config = hosts_file.parent / "ssh_config"
    lab = labs.find(NAME)
    address = lab.data("receiver")
    argv = ["ip", "netns", "exec", f"nl-{NAME}-sender", "bash", "-c", LOOP, "loop"]
    server = subprocess.Popen(
        ["ip", "netns", "exec", f"nl-{NAME}-receiver", "netserver", "-D", "-L", f"{address},4"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(0.3)
    try:
        ran = subprocess.run(
            [*argv, str(config), f"nl-{NAME}-receiver", address, str(runs)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        server.terminate()
        server.wait()
    rows = [[float(word) for word in line.split()] for line in ran.stdout.splitlines()]
    return [end - begin - (ended - started) for begin, started, ended, end in rows]


def campaign(hosts_file: Path, runs: int) -> list[float]:
    """Seconds beyond netperf's own, for each run of a campaign, from its journal and raw output."""
    with tempfile.TemporaryDirectory() as folder:
        experiment, out = Path(folder) / "overhead.yaml", Path(folder) / "results"
        experiment.write_text(EXPERIMENT.format(replicates=runs // 2))
        command = [sys.executable, "-m", "netlimits", "run", experiment]
        subprocess.run(
            [*command, "--hosts", hosts_file, "--out", out], check=True, capture_output=True
        )
        archive = Archive.open(out)
        starts = [e["at"] for e in archive.events() if e["event"] == "start"]
        ends = [e["at"] for e in archive.events() if e["event"] == "end"]
        # from one start to the next is all that a run costs, whoever spends it
        spans = [b - a for a, b in zip(starts, [*starts[1:], ends[-1]], strict=True)]
        own = []
        for number in range(1, len(spans) + 1):
            entries = archive.read_raw(number, 1)
            assert sum(" -K " in f" {' '.join(e.argv)} " for e in entries) == 2 or number == 1
            own += [e.completed.seconds for e in entries if e.step == "client"]
    return [span - netperf for span, netperf in zip(spans, own, strict=True)]


def main() -> None:
    """Run both in turn and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=12)
    runs = parser.parse_args().runs
    lab = labs.up(NAME)
    try:
        loop_s = statistics.median(loop(lab.hosts_file, runs))
        ours_s = statistics.median(campaign(lab.hosts_file, runs))
    finally:
        labs.down(NAME)
    print(f"beyond netperf's own time, median of {runs} runs of 1 s, offloads toggled on two hosts")
    print(f"bash loop, nothing read back   {loop_s:8.4f} s")
    print(f"netlimits, read back each time {ours_s:8.4f} s   (reach: 0.05 s)")
    print(f"ratio                          {ours_s / loop_s:8.3f}     (reach: 0.15)")


if __name__ == "__main__":
    main()
