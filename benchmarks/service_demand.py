"""Our CPU figures against netperf's own, in the same runs.

A pair is a run in which netperf measures CPU time too (`-c -C`): our service demand of an end, and
the one that netperf printed. Each client of several streams divides the whole machine's time by
its own bytes: the mean of their utilizations over the sum of their rates stands for them.

    sudo .venv/bin/python benchmarks/service_demand.py RESULTS [--runs 40] [--seconds 2 10]
        [--place namespaces machines] [--kind tcp udp rr streams]

Each place, kind of traffic and length is a campaign in the folder RESULTS; a campaign that is there
is not run again. Columns of the table: the mean of netperf's CPU utilization; our service demand
over netperf's, with its interval over the runs, and that of ticks; ticks that the kernel lost and
what the sampler used, in percent of the machine's CPU time; how far the service demand of a run is
at most from its CPU utilization over its rate.

netperf counts ticks. Where the kernel lost more than 0.5 % of them, idle time shows more CPU time
than ticks do (`*_lost_ticks_pct`), and the service demand by ticks alone is held to netperf's.

Exits with 1 where a ratio is further from 1 than 2 %, or 1 % in runs of 10 s and longer; where the
figures of a run disagree by more than 0.5 %; and where there are fewer than 40 pairs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import netlimits as nl
from netlimits.analysis.statistics import contrasts
from netlimits.archive.store import Archive
from netlimits.campaign import parallel
from netlimits.lab import labs

KINDS = {
    "tcp": ("protocol: tcp, direction: send, send_size: 16384", 1),
    "udp": ("protocol: udp, direction: send, send_size: 1472", 1),
    "rr": ("test: TCP_RR", 1),
    "streams": ("protocol: tcp, direction: send, send_size: 16384, interim_seconds: 1", 4),
}
"""netperf's options, and how many streams."""

PLACES = {"namespaces": None, "machines": labs.Guest(cpus=2)}
SELECTED = (
    *("throughput", "local_sd", "remote_sd"),
    *("local_cpu_util", "remote_cpu_util", "local_cpu_count", "remote_cpu_count"),
)
EXPERIMENT = """\
experiment: service-demand
measure:
  netperf: {{{options}, seconds: {seconds}, select: [{selected}]}}
streams: {streams}
repeat: {{replicates: {runs}, order: listed, seed: 1}}
"""
FEWEST = 40
"""Pairs of each campaign."""

LONG_S, SHORT, LONG = 10, 0.02, 0.01
"""Seconds of a long run, and how far the ratio may be from 1 in shorter ones and in long ones."""

ROW = 0.005
"""How far the figures of a run may be from agreeing."""

LOST_PCT = 0.5
"""Percent of ticks lost from which on ticks alone are compared."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One run's figures of one end.

    netperf's CPU utilization and service demand, our service demand and that by ticks, what was
    lost and what the sampler used in percent, and how far our figures are from agreeing.
    """

    netperf_cpu: float
    netperf_sd: float
    sd: float
    sd_ticks: float
    lost: float
    sampler: float
    row: float


def by_netperf(clients: Sequence[Mapping[str, float]], end: str) -> tuple[float, float]:
    """Return an end's CPU utilization and service demand by netperf's clients."""
    end = end.upper()
    utilization = float(np.mean([client[f"{end}_CPU_UTIL"] for client in clients]))
    if len(clients) == 1:
        return utilization, clients[0][f"{end}_SD"]
    kib_a_second = sum(client["THROUGHPUT"] for client in clients) * 1e6 / 8 / 1024
    return utilization, utilization * clients[0][f"{end}_CPU_COUNT"] * 1e4 / kib_a_second


def pair(row: Mapping[str, Any], clients: Sequence[Mapping[str, float]], end: str) -> Pair:
    """Return the pair of a run, from its row and what its clients printed."""
    if (units := row.get("transaction_rate_tps")) is not None:
        unit = "tran"
    else:
        unit, sent = "kib", row.get("local_send_throughput_mbps")
        rate = sent if row["transport"] == "udp" else row["throughput_mbps"]
        units = rate * 1e6 / 8 / 1024
    expected = row[f"{end}_cpu_pct"] * clients[0][f"{end.upper()}_CPU_COUNT"] * 1e4 / units
    return Pair(
        *by_netperf(clients, end),
        row[f"{end}_sd_us_per_{unit}"],
        row[f"{end}_sd_ticks_us_per_{unit}"],
        row[f"{end}_lost_ticks_pct"],
        row[f"{end}_instrument_cpu_pct"],
        abs(row[f"{end}_sd_us_per_{unit}"] / expected - 1),
    )


def pairs(folder: Path, kind: str, end: str) -> Iterator[Pair]:
    """Yield the pairs of a campaign at one end."""
    archive = Archive.open(folder)
    for row in nl.open(folder).frame().to_dict("records"):
        if row["status"] == "ok":
            entries = archive.raw.read(int(row["run"]), int(row["attempt"]))
            (client,) = (entry.completed for entry in entries if entry.step == "client")
            printed = [
                re.findall(r"^([A-Z_]+)=([0-9.]+)$", stream.stdout, re.MULTILINE)
                for stream in parallel.split(client, KINDS[kind][1])
            ]
            clients = [{name: float(value) for name, value in one} for one in printed]
            yield pair({**row, "transport": "udp" if kind == "udp" else "tcp"}, clients, end)


def ratio_of(every: Sequence[Pair], figure: str) -> contrasts.Contrast:
    """Return a service demand of ours over netperf's, with its interval."""
    sides = (np.array([getattr(one, name) for one in every]) for name in (figure, "netperf_sd"))
    blocks = np.arange(len(every))
    return contrasts.ratio(*sides, (blocks, blocks))


def judged(every: Sequence[Pair], seconds: int) -> tuple[str, list[str]]:
    """Return the line of an end's pairs, and what they miss."""
    if not every:
        return f"{0:5}", ["no pair"]
    means = {
        name: float(np.mean([getattr(one, name) for one in every]))
        for name in ("netperf_cpu", "lost", "sampler")
    }
    ratios = [ratio_of(every, figure) for figure in ("sd", "sd_ticks")]
    row = max(one.row for one in every)
    bound = LONG if seconds >= LONG_S else SHORT
    missed = [
        f"service demand{how} {ratio.value:.4f} of netperf's, bound {100 * bound:g} %"
        for how, ratio in zip(("", " by ticks"), ratios, strict=True)
        if abs(ratio.value - 1) > bound and (how or means["lost"] <= LOST_PCT)
    ]
    if row > ROW:
        missed.append(f"a run's figures disagree by {100 * row:.2f} %, bound {100 * ROW:g} %")
    if len(every) < FEWEST:
        missed.append(f"{len(every)} pairs, fewer than {FEWEST}")
    told = "  ".join(f"{r.value:.4f} [{r.low:.4f}, {r.high:.4f}]" for r in ratios)
    return (
        f"{len(every):5} {means['netperf_cpu']:6.2f}  {told}  {means['lost']:5.2f} "
        f"{means['sampler']:8.2f} {100 * row:6.2f}",
        missed,
    )


def run(folder: Path, hosts: Path, kind: str, seconds: int, runs: int) -> None:
    """Carry a campaign out; runs that fail are pairs that are missing."""
    options, streams = KINDS[kind]
    file = folder.with_suffix(".yaml")
    text = EXPERIMENT.format(
        options=options, seconds=seconds, selected=", ".join(SELECTED), streams=streams, runs=runs
    )
    file.write_text(text)
    words = ["run", file, "--hosts", hosts, "--out", folder, "--quiet"]
    subprocess.run([sys.executable, "-m", "netlimits", *map(str, words)], check=False)


def main() -> None:
    """Run what is not there, print a line for each end, and say what is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--runs", type=int, default=FEWEST)
    parser.add_argument("--seconds", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--place", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    print(f"load average {os.getloadavg()[0]:.1f} before, on {os.cpu_count()} CPUs")
    print(
        f"{'place':11} {'kind':8} {'s':>2} {'end':6} {'runs':>5} {'CPU %':>6}  "
        f"{'over netperf':24}  {'by ticks':24}  {'lost':>5} {'sampler':>8} {'row %':>6}"
    )
    every_miss = []
    with ExitStack() as last:
        for place in given.place:
            lab: labs.Lab | None = None
            for kind, seconds in ((k, s) for k in given.kind for s in given.seconds):
                folder = given.results / f"{place}-{kind}-{seconds}"
                if not folder.exists():
                    if lab is None:
                        lab = labs.up(f"{place[0]}{os.getpid()}", guest=PLACES[place])
                        last.callback(labs.down, lab.name)
                    run(folder, lab.hosts_file, kind, seconds, given.runs)
                for end in ("local", "remote"):
                    line, missed = judged(list(pairs(folder, kind, end)), seconds)
                    print(f"{place:11} {kind:8} {seconds:2} {end:6} {line}", flush=True)
                    every_miss += [f"{place} {kind} {seconds} s {end}: {miss}" for miss in missed]
    if every_miss:
        sys.exit("\n".join(["missed:", *every_miss]))


if __name__ == "__main__":
    main()
