"""What a mesh of many hosts takes of the machine that runs it, and how full its rounds are.

1. 40 network namespaces, each with an sshd of its own: seconds from the command to its first run,
   the process's threads and memory for each host, how many pairs measured at once, and the share of
   the bound of rounds that hosts were measuring (paced iperf3, which leaves the CPUs idle); then
   netperf's TCP streams in a ring of the same hosts, four pairs at once.
2. 1,000 scripted hosts, whose runs are over at once: what a run's thread, dispatch and news cost.
3. 40 scripted hosts with 10,000 runs and with 100,000, each a process of its own: how much memory
   the latter takes beyond the former.
4. Meshes of all pairs through the dispatch alone, where nobody knows beforehand by how much lengths
   differ (of the logarithm): of 1,000, 200, 40 and 10 hosts, and the first rounds of 1,000 hosts in
   25 racks; and how full the rounds of 6 to 24 hosts are where a plan is over soon and lengths
   differ much, which is held to no bound.

    sudo .venv/bin/python benchmarks/mesh.py [--hosts 40] [--seconds 3] [--only 1|2|3|4]

Exits 1 where a bound is missed: 10 s to the first run, 2 threads (and two of the program's own) and
5 MB a host, 1 ms a run, 4 MB for ten times the runs, 95 % of the bound of rounds by the dispatch.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import psutil

import netlimits
from netlimits.archive.store import Archive
from netlimits.campaign import attempt
from netlimits.campaign.interrupt import Stop
from netlimits.campaign.mesh import schedule
from netlimits.campaign.progress import Tally
from netlimits.campaign.recorder import Recorder, recording
from netlimits.experiment import load
from netlimits.experiment.mesh import pairs, rounds
from netlimits.experiment.mesh.dispatch import Dispatch, makespan
from netlimits.experiment.mesh.workload import Job, bound
from netlimits.experiment.plan import Plan
from netlimits.hosts.scripted import ScriptedHost
from netlimits.lab import labs
from netlimits.model import Command, Record

NAME = "benchmesh"
FIRST_RUN_S, THREADS, MEMORY_MB, RUN_MS, SHARE, MORE_MB = 10.0, 2.0, 5.0, 1.0, 0.95, 4.0

EXPERIMENT = """\
experiment: mesh
roles: {{hosts: {hosts}, pairs: {pairs}}}
measure:
  iperf3: {{protocol: tcp, seconds: {seconds}, rate: 100000, send_size: 1024}}
repeat: {{replicates: {replicates}, seed: 1}}
"""

NETPERF = """\
experiment: mesh
roles: {{hosts: {hosts}, pairs: ring}}
measure:
  netperf: {{protocol: tcp, seconds: 1}}
repeat: {{replicates: 1, seed: 1}}
"""


def over_ssh(count: int, seconds: int) -> bool:
    """A ring over real SSH; whether its bounds hold."""
    lab = labs.up(NAME, count)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "mesh.yaml", Path(folder) / "results"
        file.write_text(EXPERIMENT.format(hosts=count, pairs="ring", seconds=seconds, replicates=3))
        command = [sys.executable, "-m", "netlimits", "run", str(file), "--out", str(out), "-q"]
        try:
            began = time.time()
            ran = subprocess.Popen([*command, "--hosts", str(lab.hosts_file)])
            alone = psutil.Process(ran.pid)
            threads = memory = 0.0
            base = 0
            while ran.poll() is None:
                try:
                    base = base or (alone.memory_info().rss if alone.num_threads() > 3 else 0)
                    threads = max(threads, alone.num_threads())
                    memory = max(memory, alone.memory_info().rss)
                except psutil.Error:
                    break
                time.sleep(0.05)
            ran.wait()
            streams = netperf(Path(folder), count, lab.hosts_file)
        finally:
            labs.down(NAME)
        events = list(Archive.open(out).events())
    starts = {e["run"]: e for e in events if e["event"] == "start"}
    ends = [e for e in events if e["event"] == "end"]
    first = min(e["started"] for e in starts.values()) - began
    jobs = [Job((e["values"]["sender"], e["values"]["receiver"]), e["duration_s"]) for e in ends]
    took = max(e["at"] for e in ends) - min(e["started"] for e in starts.values())
    points = [(e["started"], 1) for e in starts.values()] + [(e["at"], -1) for e in ends]
    most = max(itertools.accumulate(step for _, step in sorted(points)))
    ok = sum(e["status"] == "ok" for e in ends)
    share = bound(jobs) / took
    each = (memory - base) / 1e6 / count
    print(f"{count} hosts over SSH, ring, {len(ends)} runs of {seconds} s, {ok} ok, {most} at once")
    print(f"  first run {first:.1f} s after the command (bound {FIRST_RUN_S:g} s)")
    print(f"  {threads / count:.2f} threads a host at most (bound {THREADS:g}, and two)")
    print(f"  {each:.2f} MB a host beyond what the program takes (bound {MEMORY_MB:g} MB)")
    print(f"  {100 * share:.1f} % of the bound in hosts' time")
    few = 2 / count  # the main thread and the drain
    held = first <= FIRST_RUN_S and threads / count <= THREADS + few and each <= MEMORY_MB
    return held and ok == len(ends) and streams


def netperf(folder: Path, count: int, hosts: Path) -> bool:
    """Real netperf through the same ring; whether what arrived is what it tells."""
    file, out = folder / "netperf.yaml", folder / "netperf"
    file.write_text(NETPERF.format(hosts=count))
    command = [sys.executable, "-m", "netlimits", "run", str(file), "--out", str(out), "-q"]
    subprocess.run([*command, "--hosts", str(hosts), "--at-once", "4"], check=True)
    frame = netlimits.open(out).frame()
    told = frame["throughput_mbps"] * frame["elapsed_s"] / 8e-6
    counted = frame["remote_rx_bytes"] / told
    schedule = len(frame[["sender", "receiver"]].drop_duplicates())
    ok, middle = (frame["status"] == "ok").sum(), frame["throughput_mbps"].median()
    print(f"{count} hosts over SSH, netperf through {schedule} pairs, four at once: {ok} ok")
    print(
        f"  {middle:,.0f} Mbit/s (median); the receivers' NICs counted {counted.min():.3f} to "
        f"{counted.max():.3f} of the bytes that it told"
    )
    return ok == schedule == count and bool(counted.between(0.95, 1.1).all())


class _Scripted:
    """A session of scripted hosts: each attempt asks both ends for a word, and is over."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.archive = SimpleNamespace(roll=bool, sync=bool)
        self.survey = SimpleNamespace(machines={}, unreached={})
        self.guards = SimpleNamespace(patience=300.0)
        self._scripted = {
            role: ScriptedHost(lambda command: "1\n", role) for role in plan.experiment.roles
        }
        self.hosts = {role: Recorder(host) for role, host in self._scripted.items()}

    def renew(self, roles):
        """They are claimed by nobody."""

    def lost(self, roles):
        """None is."""
        return []

    def context(self, stop, roles, run, number, last):
        """The ends of a run, and what its record has."""
        return self, roles, run, number

    def carry_out(self, roles, run, number):
        """Make an attempt."""
        with recording(self.hosts[role] for role in roles):
            for role in roles:
                self.hosts[role].run(Command(("true",)))
                self._scripted[role].ran.clear()
        return Record(run, number, "ok", "", time.time(), 0.0, {})


attempt.context = lambda session, *about: session.context(*about)
attempt.carry_out = lambda context: context[0].carry_out(*context[1:])


def scripted(count: int) -> bool:
    """What a run costs with scripted hosts; whether the bound holds."""
    text = EXPERIMENT.format(hosts=count, pairs="ring", seconds=1, replicates=10)
    plan = Plan(load.parse(text, "mesh.yaml"))
    runs = list(plan.runs())
    with Stop() as stop:
        jobs = [*plan.jobs(runs)]
        began = time.monotonic()
        tally = Tally(Counter(), len(runs), sum(job.seconds for job in jobs))
        work = schedule.Concurrency(_Scripted(plan), stop, Dispatch(jobs), tally, {})
        work.carry_out(lambda progress: None)
        each = 1e3 * (time.monotonic() - began) / len(runs)
    print(f"{count} scripted hosts, {len(runs)} runs: {each:.3f} ms a run (bound {RUN_MS:g} ms)")
    return each <= RUN_MS


def campaign(count: int, replicates: int) -> None:
    """A mesh of scripted hosts from its plan to its last run, and this process's peak in MB."""
    text = EXPERIMENT.format(hosts=count, pairs="ring", seconds=1, replicates=replicates)
    plan = Plan(load.parse(text, "mesh.yaml"))
    with Stop() as stop, tempfile.TemporaryDirectory() as folder:
        session = _Scripted(plan)
        session.archive = Archive.create(Path(folder) / "results", {"machines": {}})
        done = schedule.every_pair(session, stop, lambda progress: None).done
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    print(json.dumps([done, int(peak) * 1024 / 1e6]))


def grows(count: int) -> bool:
    """What ten times the runs take of memory; whether the bound holds."""
    told = []
    for replicates in (10_000 // count, 100_000 // count):
        call = f"import mesh; mesh.campaign({count}, {replicates})"
        command, place = [sys.executable, "-c", call], Path(__file__).parent
        told.append(json.loads(subprocess.run(command, cwd=place, check=True, stdout=-1).stdout))
    (few, least), (many, most) = told
    print(
        f"{count} scripted hosts: {few:,} runs {least:.1f} MB, {many:,} runs {most:.1f} MB "
        f"(bound: {MORE_MB:g} MB more)"
    )
    return most - least <= MORE_MB


def dispatched(count: int, spread: float, blocks: int = 1) -> bool:
    """What the dispatch of all pairs costs, and how full it is; whether the bounds hold."""
    began = time.process_time()
    share, runs = fullness(count, spread, blocks, 1)
    each = 1e3 * (time.process_time() - began) / runs
    times = f", {blocks} times" if blocks > 1 else ""
    differ = f"lengths that differ by {100 * spread:g} %"
    print(f"all {runs // blocks:,} pairs of {count} hosts{times}, {differ}:")
    print(f"  dispatch {each:.3f} ms a run (bound {RUN_MS:g} ms), {100 * share:.1f} % of the bound")
    return each <= RUN_MS and share >= SHARE


def fullness(count: int, spread: float, blocks: int, seed: int) -> tuple[float, int]:
    """The share of the bound that all pairs in rounds take, and how many runs those are."""
    chance = random.Random(seed)
    shape = pairs.mesh({"hosts": count}).pairs
    order = [
        number
        for _ in range(blocks)
        for chosen in rounds.matchings(shape, chance.random)
        for number in chosen
    ]
    jobs = [Job(shape[number], 10.0) for number in order]
    lengths = [10 * chance.lognormvariate(0, spread) for _ in jobs]
    least = bound(Job(j.hosts, n) for j, n in zip(jobs, lengths, strict=True))
    return least / makespan(jobs, lengths=lengths), len(jobs)


def racked(count: int, racks: int, runs: int) -> bool:
    """What the dispatch of so many runs costs where few hosts' racks are free; whether it holds."""
    chance = random.Random(1)
    shape = pairs.mesh({"hosts": count}).pairs
    matched = itertools.chain.from_iterable(rounds.matchings(shape, chance.random))
    jobs = [Job(shape[number], 10.0) for number in itertools.islice(matched, runs)]
    groups = {host: f"rack{place % racks}" for place, host in enumerate(pairs.names(count))}
    lengths = [10 * chance.lognormvariate(0, 0.02) for _ in jobs]
    began = time.process_time()
    makespan(jobs, groups, lengths=lengths)
    each = 1e3 * (time.process_time() - began) / runs
    print(f"{runs:,} pairs of {count:,} hosts in {racks} racks:")
    print(f"  dispatch {each:.3f} ms a run in racks (bound {RUN_MS:g} ms)")
    return each <= RUN_MS


def ragged() -> None:
    """How full the rounds of short plans are, of lengths that differ much."""
    shares = [
        statistics.mean(fullness(count, spread, blocks, seed)[0] for seed in range(20))
        for count in (6, 7, 8, 9, 10, 11, 12, 15, 16, 23, 24)
        for blocks in (1, 2, 3)
        for spread in (0.2, 0.3)
    ]
    mean, least = 100 * statistics.mean(shares), 100 * min(shares)
    print("all pairs of 6 to 24 hosts, once to three times, lengths that differ by 20 and 30 %:")
    print(f"  {mean:.0f} % of the bound on average, the emptiest {least:.0f} %")


def main() -> None:
    """Measure, print, and exit 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--only", type=int, choices=[1, 2, 3, 4])
    asked = parser.parse_args()
    held = []
    if asked.only in (None, 1):
        held.append(over_ssh(asked.hosts, asked.seconds))
    if asked.only in (None, 2):
        held.append(scripted(1000))
    if asked.only in (None, 3):
        held.append(grows(40))
    if asked.only in (None, 4):
        held += [dispatched(1000, 0.02), dispatched(200, 0.3), dispatched(40, 0.1, 3)]
        held += [dispatched(40, 0.07), dispatched(10, 0.05)]
        held.append(racked(1000, 25, 10_000))
        ragged()
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
