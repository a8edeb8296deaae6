"""What netlimits changes of what it measures: netperf by itself and through us, in turn.

Each pair is one run of the very same netperf command on one lab of namespaces: bare, and as a
campaign of one run with all evidence and samples read; which of them comes first alternates. Where
there are two CPUs each end has its own, or the scheduler's choice would be most of what differs;
sends are of 1 KiB, with which the runs of one command differ least.
Printed: the ratio, through us over bare, of throughput and of the sender's service demand, both
netperf's own figures, with its interval over the pairs. The reach is 0.99 to 1.01, on a machine
that does nothing else. With `--keep FILE` the pairs are added to those of the file, and all of them
are judged: forty need not be made at a stretch.

    sudo .venv/bin/python benchmarks/disturbance.py [--pairs 40] [--seconds 5] [--keep FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from netlimits.analysis import contrasts
from netlimits.archive.store import Archive
from netlimits.lab import labs

EXPERIMENT = """\
experiment: disturbance
measure:
  netperf: {{seconds: {seconds}, send_size: 1024, {pinned}select: [throughput, local_sd]}}
repeat: {{replicates: 1, order: listed, seed: 1}}
"""
PINNED = 'cpu_bind: "0,1", ' if (os.cpu_count() or 1) > 1 else ""
FIGURES = ("THROUGHPUT", "LOCAL_SD")


def figures(printed: str) -> tuple[float, ...]:
    """Throughput and service demand in netperf's output."""
    return tuple(
        float(re.findall(rf"^{name}=([0-9.]+)$", printed, re.MULTILINE)[-1]) for name in FIGURES
    )


def through_us(lab: labs.Lab, seconds: int) -> tuple[tuple[float, ...], list[str]]:
    """A campaign of one run: its figures, and the client's command."""
    with tempfile.TemporaryDirectory() as folder:
        experiment, out = Path(folder) / "disturbance.yaml", Path(folder) / "results"
        experiment.write_text(EXPERIMENT.format(seconds=seconds, pinned=PINNED))
        words = ("run", experiment, "--hosts", lab.hosts_file, "--out", out)
        subprocess.run([sys.executable, "-m", "netlimits", *words], check=True, capture_output=True)
        entries = Archive.open(out).read_raw(1, 1)
        (client,) = [entry for entry in entries if entry.step == "client"]
        return figures(client.stdout), list(client.argv)


@contextmanager
def serving(lab: labs.Lab, port: int | str) -> Iterator[None]:
    """A netserver of its own at the receiver, once it listens."""
    receiver = lab.hosts[1]
    there = ("ip", "netns", "exec", lab.namespace(receiver))
    server = subprocess.Popen(
        [*there, "netserver", "-D", "-L", f"{lab.data(receiver)},4", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        listening = [*there, "ss", "-Hltn", f"sport = {port}"]
        while not subprocess.run(listening, capture_output=True, check=True).stdout:
            if server.poll() is not None:
                sys.exit(f"netserver ended with status {server.returncode}")
            time.sleep(0.02)
        yield
    finally:
        server.terminate()
        server.wait()


def bare(lab: labs.Lab, argv: list[str]) -> tuple[float, ...]:
    """The same command, and nobody who looks."""
    with serving(lab, argv[argv.index("-p") + 1]):
        command = ["ip", "netns", "exec", lab.namespace(lab.hosts[0]), *argv]
        return figures(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Run the pairs and print the intervals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    lab = labs.up(f"d{os.getpid()}")
    ours: list[tuple[float, ...]] = []
    alone: list[tuple[float, ...]] = []
    try:
        _, argv = through_us(lab, arguments.seconds)  # the first is for the command alone
        for pair in range(arguments.pairs):
            if pair % 2:
                ours.append(through_us(lab, arguments.seconds)[0])
            alone.append(bare(lab, argv))
            if not pair % 2:
                ours.append(through_us(lab, arguments.seconds)[0])
            if arguments.keep:
                with arguments.keep.open("a") as file:
                    file.write(json.dumps((ours[-1], alone[-1])) + "\n")
    finally:
        labs.down(lab.name)
    pairs = list(zip(ours, alone, strict=True))
    if arguments.keep:
        pairs = [json.loads(line) for line in arguments.keep.read_text().splitlines()]
    blocks = np.arange(len(pairs))
    print(f"{len(pairs)} pairs of {arguments.seconds} s, through netlimits over bare netperf")
    for place, name in enumerate(FIGURES):
        sides = (np.array([row[place] for row in side]) for side in zip(*pairs, strict=True))
        ratio = contrasts.ratio(*sides, (blocks, blocks))
        print(f"{name:10}  {ratio.value:.4f}  [{ratio.low:.4f}, {ratio.high:.4f}]  {ratio.method}")


if __name__ == "__main__":
    main()
