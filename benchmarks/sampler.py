"""Measure how much the sampler of runs disturbs netperf.

Each round measures netperf alone, with the samplers of a run on both hosts, and with samplers at
the usual priority instead of the lowest, in random order. Prints the ratios of throughput and of
the sender's service demand to netperf alone, with intervals over the rounds.

    sudo .venv/bin/python benchmarks/sampler.py [--rounds 30] [--seconds 2]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
from contextlib import ExitStack

import numpy as np
from disturbance import FIGURES, figures, serving

from netlimits.analysis.statistics import contrasts
from netlimits.evidence.sample.command import command
from netlimits.lab import labs

PORT = 32865
ALONE, LOWEST, USUAL = "alone", "sampler", "sampler, usual priority"
STEP = "sub rank {"


def sampler(
    lab: labs.Lab, host: str, peer: str, seconds: float, kind: str
) -> subprocess.Popen[str]:
    """Start the sampler of a host."""
    argv = command("netperf", [lab.data(peer)], PORT, seconds=seconds, deadline=60).argv
    assert any(STEP in word for word in argv)
    if kind == USUAL:
        argv = tuple(word.replace(STEP, f"{STEP} return;") for word in argv)
    words = ["ip", "netns", "exec", lab.namespace(host), "setsid", "-w", "timeout", "60", *argv]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


def run(lab: labs.Lab, kind: str, seconds: int) -> tuple[float, ...]:
    """Measure once; return the figures."""
    sender, receiver = lab.hosts[:2]
    words = ["ip", "netns", "exec", lab.namespace(sender), "netperf", "-t", "TCP_STREAM"]
    words += ["-H", lab.data(receiver), "-p", str(PORT), "-l", str(seconds), "-c", "-C"]
    words += ["-T", "0,1"] if (os.cpu_count() or 1) > 1 else []
    words += ["--", "-m", "1024", "-k", ",".join(FIGURES)]
    with ExitStack() as last:
        last.enter_context(serving(lab, PORT))
        if kind != ALONE:
            for host, peer in ((sender, receiver), (receiver, sender)):
                last.callback(sampler(lab, host, peer, seconds, kind).wait)
        return figures(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=2)
    arguments = parser.parse_args()
    kinds = [ALONE, LOWEST, USUAL]
    measured: dict[str, list[tuple[float, ...]]] = {kind: [] for kind in kinds}
    lab = labs.up(f"k{os.getpid()}")
    try:
        for _ in range(arguments.rounds):
            for kind in random.sample(kinds, len(kinds)):
                measured[kind].append(run(lab, kind, arguments.seconds))
    finally:
        labs.down(lab.name)
    rounds = np.arange(arguments.rounds)
    print(f"{arguments.rounds} rounds of {arguments.seconds} s, over netperf alone")
    for kind in kinds[1:]:
        for place, name in enumerate(FIGURES):
            sides = (np.array([row[place] for row in measured[k]]) for k in (kind, ALONE))
            ratio = contrasts.ratio(*sides, (rounds, rounds))
            print(f"{kind:34}{name:10}  {ratio.value:.4f}  [{ratio.low:.4f}, {ratio.high:.4f}]")


if __name__ == "__main__":
    main()
