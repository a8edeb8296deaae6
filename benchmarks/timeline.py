"""Planted changes of a link within a run: whether the timeline shows each, in its place.

Runs over the shaped link of a lab of namespaces. In half of them the link's rate changes once, to
another one, at a time of chance after data began to pass; the moment is this process's clock, which
is that of the hosts.
The change is one of a tbf of the switch, which is made at once, or with `--by link` another `lab
link`, which lets the traffic pass freely for some 0.4 s in between.
Printed: the share of the changes that are found within one sample of their place, and of the runs
without a change that show one. A change too near to an end of the data for levels on both sides is
not judged.

    sudo .venv/bin/python benchmarks/timeline.py [--runs 40] [--seconds 6]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import yaml
from in_turn import carried_out

import netlimits
from netlimits.archive.store import Archive
from netlimits.evidence.sample.changes import LEAST_INTERVALS
from netlimits.lab import labs

EXPERIMENT = """\
experiment: planted-changes
roles: [sender, receiver]
measure:
  netperf: {{test: TCP_STREAM, seconds: {seconds}, congestion_control: cubic}}
repeat: {{replicates: {runs}, order: listed, seed: 1}}
"""
RATES = (10_000_000, 14_000_000, 20_000_000, 30_000_000)
DELAY = 0.002
DATA = 300_000
"""Bytes after which data passes, not only what sets the run up."""
NEAR = LEAST_INTERVALS + 2
"""Samples with data that a change must have on either side: the start and the end are no levels."""
Planted = tuple[float, float, int, int]
"""Before and after the moment of a change, epoch seconds, and the rates in bit/s."""


class Planter:
    """Sets the link's rate before each run, and changes it during every second one."""

    def __init__(
        self, lab: labs.Lab, seconds: int, chance: random.Random, runs: int, by: str
    ) -> None:
        self.lab, self.seconds, self.chance, self.runs, self.by = lab, seconds, chance, runs, by
        self.planted: dict[int, Planted] = {}
        self._timer: threading.Thread | None = None

    def between(self, done: int, archive: Archive) -> None:
        """Wait for the last change, and prepare the next run."""
        del archive
        if self._timer:
            self._timer.join()
            self._timer = None
        first, second = self.chance.sample(RATES, 2)
        self._shape(first)
        if done % 2 == 0 and done < self.runs:
            wait = self.chance.uniform(2.0, self.seconds - 2.0)
            self._timer = threading.Thread(
                target=self._change, args=(done + 1, wait, first, second)
            )
            self._timer.start()

    def _change(self, run: int, wait: float, first: int, second: int) -> None:
        begin, until = self._passed(), time.monotonic() + 60
        while self._passed() < begin + DATA and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(wait)
        since = time.time()
        self._shape(second)
        self.planted[run] = since, time.time(), first, second

    def _passed(self) -> int:
        """Return the bytes that the switch sent to the receiver."""
        port = self.lab.data_port(self.lab.hosts[1])
        words = ["ip", "-n", self.lab.switch, "-s", "-j", "link", "show", "dev", port]
        (shown,) = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        return int(shown["stats64"]["tx"]["bytes"])

    def _shape(self, rate: int) -> None:
        if self.by == "link":
            labs.shape_link(self.lab.name, self.lab.hosts[0], labs.Shape(rate, DELAY))
            return
        port = self.lab.data_port(self.lab.hosts[1])
        words = ["tc", "-n", self.lab.switch, "qdisc", "replace", "dev", port, "root", "tbf"]
        words += ["rate", str(rate), "burst", "16kb", "limit", "64kb"]
        subprocess.run(words, check=True)


def main() -> None:
    """Run the campaign and print how many changes were found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by", choices=("link", "tbf"), default="tbf")
    parser.add_argument("--out", help="a folder to keep")
    arguments = parser.parse_args()
    lab = labs.up(f"tl{os.getpid()}", hosts=3)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = arguments.out or temporary
            given = yaml.safe_load(lab.hosts_file.read_text())
            own = dict(zip(("sender", "receiver"), (given[h] for h in lab.hosts[:2]), strict=True))
            hosts = Path(folder) / "hosts.yaml"
            hosts.write_text(yaml.safe_dump({"ssh_config": given["ssh_config"], **own}))
            chance = random.Random(arguments.seed)
            planter = Planter(lab, arguments.seconds, chance, arguments.runs, arguments.by)
            text = EXPERIMENT.format(seconds=arguments.seconds, runs=arguments.runs)
            carried_out(text, lab, Path(folder), planter.between, hosts)
            judge(Path(folder) / "results", planter.planted)
    finally:
        labs.down(lab.name)


def judge(results: Path, planted: dict[int, Planted]) -> None:
    """Print each planted change with those found, and the shares."""
    campaign = netlimits.open(results)
    hits = alarms = others = plain = 0
    judged = 0
    for run in campaign.ok_runs():
        frame = campaign.timeline(run)
        if "throughput_mbps" not in frame:
            print(f"run {run}: no samples of TCP")
            continue
        changes = [at + frame.attrs["begin_s"] for at, _, _ in frame.attrs["changes"]]
        if run not in planted:
            plain += 1
            alarms += bool(changes)
            continue
        since, until, first, second = planted[run]
        far = frame[frame["throughput_mbps"].fillna(0.0) > 0]
        times = (far["time_s"] + frame.attrs["begin_s"]).to_numpy()
        first_sample, last_sample = np.searchsorted(times, [since, until])
        if first_sample < NEAR or last_sample > len(times) - NEAR:
            print(f"run {run}: {first_sample} samples before the change, "
                  f"{len(times) - last_sample} after it: not judged")  # fmt: skip
            continue
        judged += 1
        near = [
            at for at in changes
            if first_sample - 1 <= np.searchsorted(times, at - 1e-6) <= last_sample + 1
        ]  # fmt: skip
        hits += bool(near)
        others += bool(set(changes) - set(near))
        off = ", ".join(f"{at - until:+.2f}" for at in changes) or "none"
        apart = float(far["interval_s"].median())
        print(f"run {run}, samples {apart:.2f} s apart, change after {first_sample} of "
              f"{len(times)}: {first / 1e6:g} to {second / 1e6:g} Mbit/s "
              f"in {until - since:.2f} s; found, s after it: {off}")  # fmt: skip
    print(f"changes within one sample of their place: {hits} of {judged}")
    print(f"runs with another one besides: {others}; runs without a change that show one: "
          f"{alarms} of {plain}")  # fmt: skip


if __name__ == "__main__":
    main()
