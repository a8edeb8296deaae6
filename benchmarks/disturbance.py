"""What netlimits changes of what it measures: netperf by itself and through us, in turn.

A campaign, with all evidence and samples read, and between its runs the very same netperf command
on the same hosts, bare: ours, bare, bare, ours, and so on, so that what drifts is in both alike.
Where there are two CPUs each end has its own, or the scheduler's choice would be most of what
differs; sends are of 1 KiB, with which the runs of one command differ least.
Printed: the ratio, through us over bare, of throughput and of the sender's service demand, both
netperf's own figures, with its interval over the pairs. The reach is 0.99 to 1.01, on a machine
that does nothing else. With `--keep FILE` the pairs are added to those of the file, and all of them
are judged: they need not be made at a stretch.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from in_turn import carried_out

from netlimits.analysis.statistics import contrasts
from netlimits.archive.store import Archive
from netlimits.lab import labs

EXPERIMENT = """\
experiment: disturbance
measure:
  netperf: {{seconds: {seconds}, send_size: 1024, {pinned}select: [throughput, local_sd]}}
repeat: {{replicates: {replicates}, order: listed, seed: 1}}
"""
PINNED = 'cpu_bind: "0,1", ' if (os.cpu_count() or 1) > 1 else ""
PORT = 32866
FIGURES = ("THROUGHPUT", "LOCAL_SD")


def figures(printed: str) -> tuple[float, ...]:
    """Throughput and service demand in netperf's output."""
    return tuple(
        float(re.findall(rf"^{name}=([0-9.]+)$", printed, re.MULTILINE)[-1]) for name in FIGURES
    )


@contextmanager
def serving(lab: labs.Lab, port: int) -> Iterator[None]:
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


def bare(lab: labs.Lab, argv: Sequence[str]) -> tuple[float, ...]:
    """The same command with a server of its own, and nobody who looks."""
    port = argv.index("-p") + 1
    words = ["ip", "netns", "exec", lab.namespace(lab.hosts[0])]
    words += [*argv[:port], str(PORT), *argv[port + 1 :]]
    return figures(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


Pair = tuple[tuple[float, ...], tuple[float, ...]]


def in_pairs(pairs: int, seconds: int, keep: Path | None) -> list[Pair]:
    """The figures through us, and of the bare command beside them, of so many pairs.

    The campaign's first run is left out: it is there for the command, and for what begins with it.
    Where they are to be kept they are added to that file as they are made.
    """
    text = EXPERIMENT.format(seconds=seconds, pinned=PINNED, replicates=1 + pairs)
    alone: list[tuple[float, ...]] = []
    ours: list[tuple[float, ...]] = []
    lab = labs.up(f"d{os.getpid()}")

    def bares_turn(done: int, archive: Archive) -> None:
        if not done:
            return
        (client,) = (e for e in archive.raw.read(done, 1) if e.step == "client")
        ours.append(figures(client.stdout))
        if done % 2 == 0:
            alone.extend(bare(lab, client.argv) for _ in range(2))
        if keep and done > 1:  # an even pair's bare run comes after it, an odd one's before
            with keep.open("a") as file:
                file.write(json.dumps((ours[-1], alone[done - 2])) + "\n")

    try:
        with tempfile.TemporaryDirectory() as folder, serving(lab, PORT):
            carried_out(text, lab, Path(folder), bares_turn)
    finally:
        labs.down(lab.name)
    return list(zip(ours[1:], alone, strict=False))[:pairs]


def main() -> None:
    """Run the pairs and print the intervals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    pairs = in_pairs(arguments.pairs, arguments.seconds, arguments.keep)
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
