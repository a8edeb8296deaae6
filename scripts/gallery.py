#!/usr/bin/env python3
"""Run the experiments in a lab of their own, and keep the charts that experiments/README.md shows.

    scripts/gallery.py                      all of them: about half an hour, on an idle machine
    scripts/gallery.py tcp-mss rr-bursts    some of them
    scripts/gallery.py --results DIR        keep the campaigns there, to look into

Every configuration of an experiment is run, in shorter and fewer runs than its file asks for (the
`sets` below). The lab's hosts share this machine's CPUs: the charts show what a chart looks like
and how to read it, not what a network does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netlimits import experiment as experiments
from netlimits import lab as labs
from netlimits import machines

EXPERIMENTS = Path(__file__).resolve().parent.parent / "experiments"
NETLIMITS = (sys.executable, "-m", "netlimits")


@dataclass(frozen=True)
class Form:
    """How an experiment is run for the gallery, and which of its charts is kept."""

    chart: str
    sets: Sequence[str] = ()
    hosts: int = 2
    options: Sequence[str] = ()


def _short(tools: str, seconds: int, replicates: int) -> list[str]:
    each = [f"measure.{tool}.seconds={seconds}" for tool in tools.split()]
    return [*each, f"repeat.replicates={replicates}"]


def _window(seconds: int, *entries: int) -> list[str]:
    return [f"report.{entry}.window_s={seconds}" for entry in entries]


FORMS = {
    "quickstart": Form("percentiles-throughput", options=("--local",)),
    "udp-send-size": Form("cost-local_sd", ["measure.netperf.seconds=2"]),
    "tcp-mss": Form("percentiles-throughput", ["measure.netperf.seconds=2"]),
    "stateless-offloads": Form("percentiles-throughput", _short("netperf", 2, 5)),
    "stateless-offloads-gro-hw": Form("percentiles-throughput", _short("netperf", 2, 4)),
    "packets-per-second": Form("packet_rate-local_send_throughput", _short("netperf", 2, 2)),
    "constant-bitrate": Form("pacing", ["measure.netperf.seconds=2", "derive.rate=50e6"]),
    "ack-overhead": Form(
        "acks-local_sd",
        [*_short("netperf", 2, 2), "derive.link=300000000", "derive.burst=10000"],
    ),
    "rr-bursts": Form("first_bursts", _short("netperf", 2, 5)),
    "mtu-aggregate": Form(
        "highest_average", [*_short("netperf", 14, 1), *_window(10, 0, 1, 2)], hosts=3
    ),
    "mtu-aggregate-capped": Form(
        "highest_average", [*_short("netperf", 14, 1), *_window(10, 0, 1)], hosts=3
    ),
    "tool-comparison": Form("spread-throughput", _short("iperf3 nuttcp netperf", 1, 2)),
    "tso": Form("spread-throughput", _short("iperf3 nuttcp", 1, 2)),
    "jumbo": Form("spread-throughput", _short("iperf3 nuttcp", 1, 2)),
    "cpu-stress": Form("spread-throughput", _short("iperf3 nuttcp", 1, 1)),
}


def main() -> None:
    """Each experiment in turn; one that fails ends it, with what it said."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *FORMS])
    parser.add_argument("--results", type=Path, help="Keep the campaigns in this folder.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.results or Path(temporary)
        for name in asked.names or FORMS:
            _run(name, FORMS[name], folder / name)


def _run(name: str, form: Form, out: Path) -> None:
    """One experiment in a lab of its own, its charts to experiments/figures."""
    sets = [word for one in form.sets for word in ("--set", one)]
    made = None if "--local" in form.options else labs.up(f"g{os.getpid()}", form.hosts)
    try:
        experiment = EXPERIMENTS / f"{name}.yaml"
        where = form.options
        if made:
            where = ("--hosts", _hosts_file(made, experiment, out.with_suffix(".hosts.yaml")))
        _netlimits("run", experiment, "--out", out, *where, *sets)
    finally:
        if made:
            labs.down(made.name)
    drawn = out / "figures"
    _netlimits("figures", out, "--format", "png", "--out", drawn)
    kept = EXPERIMENTS / "figures" / f"{name}-{form.chart}.png"
    shutil.copy(drawn / f"{form.chart}.png", kept)
    print(kept, flush=True)


def _hosts_file(lab: labs.Lab, experiment: Path, path: Path) -> Path:
    """The lab's hosts in their order under the experiment's roles, as without --hosts."""
    there = machines.machines(lab.hosts_file)
    roles = experiments.load(experiment).roles
    lines = [
        f"{role}: {{ssh: {m.ssh}, interface: {m.interface}, address: {m.address}}}"
        for role, m in zip(roles, there.values(), strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"ssh_config: {lab.folder / 'ssh_config'}", *lines]) + "\n")
    return path


def _netlimits(*argv: object) -> None:
    words = [str(word) for word in argv]
    print("netlimits", *words, flush=True)
    status = subprocess.run([*NETLIMITS, *words]).returncode
    if status not in (0, 1):  # 1: some runs failed, and netlimits said why
        sys.exit(status)


if __name__ == "__main__":
    main()
