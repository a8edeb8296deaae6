"""What a run costs beside netperf's own time, next to the published bash loop, run by run in turn.

Each run lasts 1 s and toggles the stateless offloads on both hosts. netlimits reads them before
and after every change, reads all evidence, and guards the hosts; the loop, as published, writes
and never looks. Each has a lab of its own, two namespaces alike, since both toggle; in turn:

- the loop: `ethtool -K` here, `ssh HOST ethtool -K` there, `netperf`;
- netlimits: the next run of its campaign, from one run's start to the next one's.

Printed for both: the median time of a run beyond netperf's own wall time; and the median of the
ratios of neighbours, which what else the machine does at the time changes least. Exits 1 where one
of them is missed.

Then what a campaign pays once: the hosts' whole network state, read before the first change and
after the last restore, and compared; both hosts at the same time. The median of several, in a lab
of namespaces, with `--machines` also in one of machines.

    sudo .venv/bin/python benchmarks/overhead.py [--runs 12] [--machines]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from in_turn import carried_out

from netlimits.archive.store import Archive
from netlimits.hosts.connect import connect_all
from netlimits.lab import labs
from netlimits.model import Command, Completed
from netlimits.restore.comparison import StateComparison

LOOPS, OURS, MACHINES = "bench", "bench2", "bench3"
REACH_S, REACH_RATIO = 0.03, 0.10
STATE_S, STATES = 0.5, 7
"""Seconds a campaign for the comparison of the whole state, and how often it is measured."""

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
config=$1 destination=$2 address=$3 state=off
switch() { ethtool -K data0 tso "$1" gso "$1" gro "$1"; }
while read -r _; do
  if [ $state = off ]; then state=on; else state=off; fi
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


class Loop:
    """The bash loop on the sender, which makes a run whenever it is told."""

    def __init__(self, script: subprocess.Popen[str]) -> None:
        self._script = script
        self.seconds: list[float] = []

    def run(self) -> None:
        """One run; the seconds beyond netperf's own are kept."""
        assert self._script.stdin
        assert self._script.stdout
        self._script.stdin.write("run\n")
        self._script.stdin.flush()
        begin, started, ended, end = map(float, self._script.stdout.readline().split())
        self.seconds.append(end - begin - (ended - started))


@contextmanager
def looping() -> Iterator[Loop]:
    """The loop, with its lab and its server."""
    lab = labs.up(LOOPS)
    address, config = lab.data("receiver"), lab.hosts_file.parent / "ssh_config"
    inside = [["ip", "netns", "exec", f"nl-{LOOPS}-{role}"] for role in ("sender", "receiver")]
    words = [str(config), f"nl-{LOOPS}-receiver", address]
    server = subprocess.Popen(
        [*inside[1], "netserver", "-D", "-L", f"{address},4"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    script = subprocess.Popen(
        [*inside[0], "bash", "-c", LOOP, "loop", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(0.3)
    try:
        yield Loop(script)
    finally:
        script.communicate()
        server.terminate()
        server.wait()
        labs.down(LOOPS)


def campaign(folder: Path, runs: int, loop: Loop) -> list[float]:
    """Seconds beyond netperf's own, for each run of a campaign but the first; the loop's between.

    The first is left out: it writes down what was found, and starts guards and the server.
    """
    between: list[tuple[float, float]] = []

    def loops_turn(done: int, _: Archive) -> None:
        began = time.time()
        if 1 < done <= runs:
            loop.run()
        between.append((began, time.time()))

    archive = carried_out(
        EXPERIMENT.format(replicates=runs // 2 + 1), labs.up(OURS), folder, loops_turn
    )
    spans = []
    # from what came after one run to what came after the next is all that it costs, whoever spends
    for number, ((_, left), (back, _)) in enumerate(itertools.pairwise(between), 1):
        entries = archive.raw.read(number, 1)
        client = sum(e.completed.seconds for e in entries if e.step == "client")
        if 1 < number <= runs:
            assert sum(" -K " in f" {' '.join(e.argv)} " for e in entries) == 2, "nothing toggled"
            assert client > 1
            spans.append(back - left - client)
    return spans


def compared(lab: labs.Lab, folder: Path) -> list[float]:
    """Seconds for the comparison of the hosts' whole state, as a campaign makes it, several times.

    The campaign is one of two runs, which must have left every host as it was.
    """
    archive = carried_out(EXPERIMENT.format(replicates=1), lab, folder, lambda *_: None)
    sets = {role: {"offload": []} for role in archive.machines}
    seconds = []
    with connect_all(archive.machines) as hosts:
        for _ in range(STATES):
            states = StateComparison(archive, hosts.__getitem__, sets)
            began = time.perf_counter()
            states.take()
            taken = time.perf_counter() - began
            assert set(states.kept()) == set(sets), "nothing was read"
            began = time.perf_counter()
            found = states.compare(_never)
            seconds.append(taken + time.perf_counter() - began)
            assert not found.ours, found
    return seconds


def _never(role: str, command: Command) -> Completed:
    raise AssertionError(f"{role} differs: {command}")


def main() -> None:
    """Run both in turn, print the medians and their ratio, and exit 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--machines", action="store_true")
    given = parser.parse_args()
    states = {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            with looping() as loop:
                ours = campaign(Path(folder), given.runs, loop)
                theirs = loop.seconds[: len(ours)]
            place = Path(folder) / "state"
            place.mkdir()
            states["namespaces"] = compared(labs.find(OURS), place)
            if given.machines:
                place = Path(folder) / "machines"
                place.mkdir()
                states["machines"] = compared(labs.up(MACHINES, guest=labs.Guest()), place)
    finally:
        for name in (OURS, MACHINES):
            labs.down(name)
    seconds = statistics.median(ours)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(f"beyond netperf's own time, {len(ours)} runs of 1 s each in turn, offloads toggled")
    print(f"bash loop, nothing read back   {statistics.median(theirs):8.4f} s")
    print(f"netlimits, all read each time  {seconds:8.4f} s   (reach: {REACH_S:g} s)")
    print(f"  its quickest run             {min(ours):8.4f} s")
    print(f"ratio                          {ratio:8.3f}     (reach: {REACH_RATIO:g})")
    for kind, some in states.items():
        once = statistics.median(some)
        print(f"whole state, once, {kind:<12} {once:8.4f} s   (reach: {STATE_S:g} s)")
    within = all(statistics.median(some) <= STATE_S for some in states.values())
    sys.exit(0 if seconds <= REACH_S and ratio <= REACH_RATIO and within else 1)


if __name__ == "__main__":
    main()
