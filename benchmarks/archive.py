"""Archives of 10,000, 120,000 and a million runs: what it takes to read them, beside plain engines.

    sudo python benchmarks/archive.py make 1000000 DIR     # DIR/runs: the archive
    sudo python benchmarks/archive.py DIR                  # every command on it

`make` measures a few dozen runs in a lab of its own (namespaces), with all evidence, and goes on with
that campaign by its own recorder: each further run is one of those of its configuration, its figures
varied by a seeded generator, and a run in 500 failed. Only the fsync of each line is left out. The
last 60 runs are left to `resume`, which begins on the lab's hosts.

Then each command is a process of its own, five times (`--rounds`), and beside it one that reads just
the columns that `table` needs, of the same parts, with DuckDB or pandas, and does the same groupby
(mean, deviation, count, median). They are run in turn; medians of seconds, peaks of memory, and the
ratio to the faster engine are printed. Exit status 1 where a bound is missed (`BOUNDS`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from netlimits.archive import reader
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields, run_fields
from netlimits.archive.store import Archive
from netlimits.cli import logins
from netlimits.model import Record, Run

EXPERIMENT = Path(__file__).parents[1] / "experiments" / "stateless-offloads.yaml"
CAPTURED, LEFT, CONFIGURATIONS = 36, 60, 6
MIB = 2**20
BOUNDS = {
    "status": (1.0, 150),
    "resume": (5.0, 300),
    "table": (None, 1000),
    "figures": (None, 1000),
}
"""Seconds and MiB of a million runs; a ratio of 2 to the faster engine where no seconds stand."""
RATIO = 2.0


# -- making an archive ------------------------------------------------------------------------


def make(count: int, place: Path, *, raw: bool) -> Campaign:
    """A campaign of so many runs: the first ones measured, all but the last 60 made of them."""
    place.mkdir(parents=True, exist_ok=True)
    hosts = place / "hosts.yaml"
    if not hosts.exists():
        ran = netlimits("lab", "up", "--name", lab(place), capture_output=True, check=True)
        hosts.symlink_to(ran.stdout.decode().split()[-1])
    out = place / "runs"
    begin(out, hosts, -(-count // CONFIGURATIONS))
    campaign = reader.open(out)
    sync, os.fsync = os.fsync, lambda _: None  # of two million lines
    try:
        with logins.locked(campaign):
            fill(campaign, raw=raw)
    finally:
        os.fsync = sync
    return campaign


def lab(place: Path) -> str:
    """The name of its lab."""
    return f"archive-{place.name}"[:20]


def netlimits(*words: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A command, run to its end."""
    return subprocess.run([sys.executable, "-m", "netlimits", *map(str, words)], **options)


def begin(out: Path, hosts: Path, replicates: int) -> None:
    """Measure the first runs, and interrupt the campaign."""
    words = ("--set", "measure.netperf.seconds=1", "--set", f"repeat.replicates={replicates}")
    command = [sys.executable, "-m", "netlimits", "run", EXPERIMENT, "--hosts", hosts, *words[:2]]
    process = subprocess.Popen([*map(str, command), *words[2:], "--out", str(out)])
    journal = out / "journal.jsonl"
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b'"event": "end"') >= CAPTURED:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.2)
    process.wait()


def fill(campaign: Campaign, *, raw: bool) -> None:
    """Go on to all but the last runs, each made of one that was measured.

    Its lines are sealed and summed by the journal's own code, and written a thousand runs at once.
    """
    measured: dict[str, list[Record]] = {}
    first = 1
    for record in campaign.records():
        if record.status == "ok":
            measured.setdefault(record.run.config, []).append(record)
            first = record.run.number + 1
    chance = np.random.default_rng(16)
    archive, head = campaign.archive, campaign.archive.journal.head
    archive.append("opened")
    lines: list[bytes] = []
    for run in campaign.plan.runs():
        if not first <= run.number <= len(campaign.plan) - LEFT:
            continue
        several = measured[run.config]
        of = several[run.number % len(several)]
        record = another(of, run, chance, raw=raw)
        if raw:
            archive.write_raw(run.number, 1, archive.read_raw(of.run.number, of.attempt))
        started = {**run_fields(run), "attempt": 1, "started": record.started}
        for name, fields in (("start", started), ("end", end_fields(record))):
            body = msgspec.json.encode({"event": name, "at": record.started, **fields})
            lines.append(head.sealed(body))
            head.add(lines[-1])
        if run.number % 1000 == 0:
            written(archive, lines)
    written(archive, lines)


def another(of: Record, run: Run, chance: np.random.Generator, *, raw: bool) -> Record:
    """A run as that one; what has its raw output has its figures to the digit too."""
    started = of.started + 2.0 * run.number
    if not raw and chance.random() < 0.002:
        reason = "netperf exited with 1: no response received"
        return Record(run, 1, "failed", reason, started, of.duration_s, {}, cost=of.cost)
    figures = dict(of.figures)
    if not raw:
        varied = [name for name, value in figures.items() if type(value) is float]
        factors = chance.normal(1, 0.03, len(varied))
        values = np.array([figures[name] for name in varied]) * factors
        figures |= zip(varied, values.tolist(), strict=True)
    return replace(of, run=run, attempt=1, started=started, figures=figures)


def written(archive: Archive, lines: list[bytes]) -> None:
    """Append lines that the journal's head knows already."""
    data = b"".join(lines)
    assert archive.journal._file
    archive.journal._file.seek(0, os.SEEK_END)
    archive.journal._file.write(data)
    archive.journal.digest.update(data)
    lines.clear()
