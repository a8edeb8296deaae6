"""What machines in the lab cost: until they answer, in memory, and for each run.

Two machines are built with each accelerator asked for, and timed from the start of `lab up`, image
there, until both have answered a login. Then a short form of experiments/stateless-offloads.yaml
runs on them, with a socket's room that these have the memory for, and files fill what their memory
has left. Printed: the time to be up, the most memory that a machine has resident then, and the
median of what a run takes beyond the seconds that it measures, checks before the campaign left
out. Beside the times stand the CPU seconds of the busier machine, until it was up and for a run
with the seconds that it measures: what the times come near to on idle cores.

    sudo .venv/bin/python benchmarks/machines.py [--accel tcg kvm] [--replicates 3]
        [--cpus 1] [--nic virtio]

KVM is measured only where it works. Times are those of this machine with all else that it does.
Exits with 1 where one of the bounds is missed, which it names, or a run failed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from netlimits.archive.store import Archive
from netlimits.lab import labs
from netlimits.lab.guests import NICS, prepared

UP_S, RESIDENT_MB, BEYOND_S = 20, 400, 3
"""What is to be reached under TCG, on two idle cores."""

NAME = "benchm"
SECONDS = 1
EXPERIMENT = Path(__file__).parents[1] / "experiments/stateless-offloads.yaml"
ROOM = "settings.1.sysctl={net.core.rmem_default: 16777216}"
FULL = "dd if=/dev/zero of=/full bs=64k 2>/dev/null; sync; rm -f /full"
"""Fills a machine's memory: its files lie there."""


def processes(lab: labs.Lab) -> list[Path]:
    """The machines' QEMU processes, in /proc."""
    return [
        Path("/proc", (lab.host_folder(host) / "qemu.pid").read_text().strip())
        for host in lab.hosts
    ]


def resident(lab: labs.Lab) -> float:
    """MB that the largest machine has resident, all of its memory in use."""
    for host in lab.hosts:
        ssh = ["ssh", "-F", str(lab.ssh_config), lab.login(host, "root"), FULL]
        subprocess.run(ssh, check=False, stdin=subprocess.DEVNULL)
    pages = [int((process / "statm").read_text().split()[1]) for process in processes(lab)]
    return max(pages) * os.sysconf("SC_PAGESIZE") / 1e6


def busy(process: Path) -> float:
    """CPU seconds that a process has taken."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def campaign(lab: labs.Lab, replicates: int) -> tuple[list[float], float, int]:
    """Seconds of each run beyond those that it measures, CPU seconds of one, how many failed."""
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        command = [
            *(sys.executable, "-m", "netlimits", "run", EXPERIMENT, "--hosts", lab.hosts_file),
            *("--out", out, "--set", f"measure.netperf.seconds={SECONDS}"),
            *("--set", f"repeat.replicates={replicates}", "--set", ROOM),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as running:
            while running.poll() is None:
                samples.append((time.time(), [busy(process) for process in processes(lab)]))
                time.sleep(0.1)
        events = list(Archive.open(out).events())
    starts = [e["at"] for e in events if e["event"] == "start"]
    ended = [e for e in events if e["event"] == "end"]
    ends = [e["at"] for e in ended]
    spans = zip(starts, [*starts[1:], ends[-1]], strict=True)
    during = [taken for at, taken in samples if starts[0] <= at <= ends[-1]]
    cpu = max(last - first for first, last in zip(during[0], during[-1], strict=True))
    beyond = [
        end - start - SECONDS
        for (start, end), run in zip(spans, ended, strict=True)
        if run["status"] == "ok"
    ]
    return beyond, cpu / len(starts), len(ended) - len(beyond)


def main() -> None:
    """Measure each accelerator, print a line for it, and say which bounds are missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accel", nargs="+", choices=("tcg", "kvm"), default=["tcg", "kvm"])
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--nic", choices=NICS, default="virtio")
    given = parser.parse_args()
    wanted = labs.Guest(cpus=given.cpus, nic=given.nic)
    chosen, _ = prepared(2, wanted, print)
    load = os.getloadavg()[0]
    print(
        f"two machines with {given.cpus} CPU and {given.nic} each; load average {load:.1f} before"
    )
    print("      up      (CPU)     resident   a run beyond its seconds (CPU, these included)")
    print(f"bound {UP_S:6} s          {RESIDENT_MB:5} MB  {BEYOND_S:8} s             on idle cores")
    missed = []
    for accel in given.accel:
        if accel == "kvm" and chosen.accelerator != "kvm":
            print("kvm      does not boot machines here")
            continue
        started = time.monotonic()
        lab = labs.up(NAME, guest=replace(wanted, accelerator=accel))
        try:
            up = time.monotonic() - started
            boot = max(map(busy, processes(lab)))
            beyond, cpu, failed = campaign(lab, given.replicates)
            size = resident(lab)
        finally:
            labs.down(NAME)
        middle = statistics.median(beyond)
        print(f"{accel} {up:8.1f} s ({boot:4.1f} s) {size:5.0f} MB  {middle:8.2f} s ({cpu:.2f} s)")
        for name, figure, bound in (
            ("the time to be up", up, UP_S),
            ("memory", size, RESIDENT_MB),
            ("a run beyond its seconds", middle, BEYOND_S),
        ):
            if accel == "tcg" and figure > bound:
                missed.append(f"{accel}: {name}: {figure:.1f}, bound {bound}")
        if failed:
            missed.append(f"{accel}: {failed} of {failed + len(beyond)} runs failed")
    if missed:
        sys.exit("\n".join(["missed:", *missed]))


if __name__ == "__main__":
    main()
