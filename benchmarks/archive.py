"""Archives of 10,000, 120,000 and a million runs: what it takes to read them, beside plain engines.

    sudo python benchmarks/archive.py DIR --make 1000000
    sudo python benchmarks/archive.py DIR --resume
    sudo python benchmarks/archive.py DIR --flat
    sudo python benchmarks/archive.py DIR --make 12600 --raw
    sudo python benchmarks/archive.py DIR --parse

`--make` measures three dozen runs, twice, in a lab of its own (namespaces), with all evidence, and
goes on with the second of these campaigns in DIR/runs: each further run is one of those of its
configuration, its figures varied by a seeded generator, and a run in 500 failed. Its lines are
sealed by the journal's own code and written into parts by the campaign's; the fsync of each is left
out. The last 60 runs are left to `resume`, which is measured from the command to the first run on
the lab's hosts.

`--raw` gives each run the raw output of the one that it is made of. What rolling up took is
printed, and what raw output takes in packs beside what it took in files. `--parse` reads all of it
again (`netlimits parse`), and prints what a run of it costs, and the largest process's memory.

`--flat` goes on with that campaign and with one of the same plan that has just begun, in turn, some
runs at a time, and prints what a run costs in either, beyond the tool's own seconds (medians), the
CPU seconds of the process for each run, and its memory.

Else each command is a process of its own, five times (`--rounds`), and beside them DuckDB and
pandas (engines.py): reading the columns that the report's table needs, of the same parts, doing the
same groupby and saying the same of the runs (`table`); and reading six columns for the groupby
alone (`cells`). And, of a campaign of 36 runs in DIR/few, what a table and figures take of however
few runs. They run in turn. Medians of seconds, of CPU seconds and of peaks of memory are printed,
and the ratios of CPU to the engine that takes less, of either kind. `explain`, `report`, `compare`
and `export` have bounds of seconds of 120,000 runs, and of memory of any number. Exit status 1
where a bound is missed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import statistics
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil

from netlimits.archive import packs, reader
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields, run_fields
from netlimits.archive.store import Archive
from netlimits.cli.shared import logins
from netlimits.model import Record, Run

ENGINES = Path(__file__).with_name("engines.py")
EXPERIMENT = Path(__file__).parents[1] / "experiments" / "stateless-offloads.yaml"
CAPTURED, LEFT, CONFIGURATIONS = 36, 60, 6
BOUNDS = {
    "status": (1.0, 150),
    "resume": (5.0, 300),
    "table": (None, 1000),
    "figures": (None, 1000),
}
"""Seconds and MiB of a million runs; where no seconds stand, RATIO times the faster `table`."""
WHOLE = {
    "explain": (15.0, 1000),
    "report": (20.0, 1000),
    "compare": (None, 1000),
    "export": (25.0, 300),
}
"""Seconds of FEWER runs, and MiB however many there are, of commands that read all figures."""
FEWER = 120_000
RATIO = 2.0
KINDS = ("table", "cells")
"""What engines do, by name and in the order of their ratios."""


# -- making an archive ------------------------------------------------------------------------


def make(count: int, place: Path, *, raw: bool) -> Campaign:
    """A campaign of so many runs: the first ones measured, all but the last 60 made of them."""
    place.mkdir(parents=True, exist_ok=True)
    hosts = place / "hosts.yaml"
    if not hosts.exists():
        ran = netlimits("lab", "up", "--name", lab(place), capture_output=True, check=True)
        hosts.symlink_to(ran.stdout.decode().split()[-1])
    if not (place / "few").exists():
        begin(place / "few", hosts, CAPTURED // CONFIGURATIONS)
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
    """The name of its lab, of nine letters at most."""
    return f"a{zlib.crc32(place.name.encode()):08x}"


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
    first, begun = 1, set()
    for record in campaign.records():
        begun.add(record.run.number)
        if record.status == "ok":
            measured.setdefault(record.run.config, []).append(record)
            first = record.run.number + 1
    chance = np.random.default_rng(16)
    archive, head = campaign.archive, campaign.archive.journal.head
    archive.append("opened")
    lines: list[bytes] = []
    spent: list[float] = []
    for run in campaign.plan.runs():
        if not first <= run.number <= len(campaign.plan) - LEFT:
            continue
        several = measured[run.config]
        of = several[run.number % len(several)]
        attempt = 2 if run.number in begun else 1
        record = another(of, run, attempt, chance, raw=raw)
        if raw:
            archive.raw.write(run.number, attempt, archive.raw.read(of.run.number, of.attempt))
        started = {**run_fields(run), "attempt": attempt, "started": record.started}
        for name, fields in (("start", started), ("end", end_fields(record))):
            body = msgspec.json.encode({"event": name, "at": record.started, **fields})
            lines.append(head.sealed(body))
            head.add(lines[-1])
        if run.number % 1000 == 0:
            written(archive, lines)
            begun_at = cpu()
            archive.roll()
            spent.append(cpu() - begun_at)
    written(archive, lines)
    begun_at = cpu()
    archive.compaction.roll_all()
    spent.append(cpu() - begun_at)
    rolled(campaign, sum(spent))


def cpu() -> float:
    """CPU seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


def rolled(campaign: Campaign, seconds: float) -> None:
    """Print what rolling up took, and what raw output takes."""
    parts = campaign.archive.parts()
    attempts = sum(part.about["attempts"]["rows"] for part in parts if part.about["attempts"])
    print(f"{len(parts)} parts: {1000 * seconds / max(attempts, 1):.2f} ms of CPU a run")
    kept = packed = count = 0
    for pack in packs.packs(campaign.archive.raw.names()):
        contents = packs.Contents(campaign.archive.folder, pack)
        count += len(contents.places)
        kept += sum({id(frame): frame.size for _, frame in contents.places.values()}.values())
        packed += (campaign.path / pack.name).stat().st_size
    if packed:
        each, to = kept / count / 1024, packed / count / 1024
        print(f"raw output of {count:,} runs: {each:.1f} KiB a run in files, {to:.2f} in packs")


def another(
    of: Record, run: Run, attempt: int, chance: np.random.Generator, *, raw: bool
) -> Record:
    """A run as that one; what has its raw output has its figures to the digit too."""
    started = of.started + 2.0 * run.number
    if not raw and chance.random() < 0.002:
        reason = "netperf exited with 1: no response received"
        return Record(run, attempt, "failed", reason, started, of.duration_s, {}, cost=of.cost)
    figures = dict(of.figures)
    if not raw:
        varied = [name for name, value in figures.items() if type(value) is float]
        factors = chance.normal(1, 0.03, len(varied))
        values = np.array([figures[name] for name in varied]) * factors
        figures |= zip(varied, values.tolist(), strict=True)
    return replace(of, run=run, attempt=attempt, started=started, figures=figures)


def written(archive: Archive, lines: list[bytes]) -> None:
    """Append lines that the journal's head knows already."""
    data = b"".join(lines)
    assert archive.journal._file
    archive.journal._file.seek(0, os.SEEK_END)
    archive.journal._file.write(data)
    lines.clear()


# -- measuring --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a process took: wall and CPU seconds, and its peak of memory in MiB."""

    seconds: float
    cpu: float
    memory: float


def cost(words: list[str], until: Path | None = None) -> Cost:
    """A process's cost to its end; or until the journal `until` has a `start` more."""
    began, size = time.monotonic(), until.stat().st_size if until else 0
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, ended = 0.0, (0, 0, None)
    while until and not seconds and not ended[0]:
        ended = os.wait4(process.pid, os.WNOHANG)
        with until.open("rb") as journal:
            journal.seek(size)
            if b'"event": "start"' in journal.read():
                seconds = time.monotonic() - began
                process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, status, used = ended if ended[0] else os.wait4(process.pid, 0)
    if status and not seconds:
        raise SystemExit(f"{' '.join(words)}: ended with {status}")
    seconds = seconds or time.monotonic() - began
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure(out: Path, rounds: int, *, resume: bool) -> int:
    """Print what each command costs; 1 where a bound is missed."""
    command = [sys.executable, "-m", "netlimits"]
    drawn = out.parent / "figures"
    engine = [sys.executable, str(ENGINES), str(out)]
    engines = {f"{by} {kind}": [*engine, by, kind] for kind in KINDS for by in ("duckdb", "pandas")}
    ways = {
        **engines,
        "status": [*command, "status", str(out)],
        "table": [*command, "table", str(out)],
        "figures": [*command, "figures", str(out), "--out", str(drawn)],
    }
    if (few := out.parent / "few").exists():
        ways[f"table of {CAPTURED}"] = [*command, "table", str(few)]
        ways[f"figures of {CAPTURED}"] = [*command, "figures", str(few), "--out", str(drawn)]
    ways |= {
        "explain": [*command, "explain", str(out)],
        "report": [*command, "report", str(out), "--out", str(out.parent / "report.html")],
        "compare": [*command, "compare", str(out), str(out)],
        "export": [*command, "export", str(out), "--format", "influx", "--out", os.devnull],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, words in ways.items():
            costs[name].append(cost(words))
    if resume:
        words = [*command, "resume", str(out), "--accept-changed-hosts"]
        costs["resume"] = [cost(words, out / "journal.jsonl")]
    campaign = reader.open(out)
    size = (out / "journal.jsonl").stat().st_size / 1e6
    print(f"{len(campaign.plan):,} runs, {size:,.0f} MB of journal")
    faster = [
        min(statistics.median(c.cpu for c in costs[n]) for n in engines if n.endswith(kind))
        for kind in KINDS
    ]
    missed = 0
    for name, each in costs.items():
        seconds, cpu, memory = (
            statistics.median(getattr(c, what) for c in each)
            for what in ("seconds", "cpu", "memory")
        )
        most, mib = BOUNDS.get(name, (None, None))
        bad = mib and (memory > mib or (seconds > most if most else cpu > RATIO * faster[0]))
        if name in WHOLE:
            most, mib = WHOLE[name]
            bad = memory > mib or bool(most and len(campaign.plan) <= FEWER and seconds > most)
        missed |= int(bool(bad))
        print(
            f"{name:<14}{seconds:8.2f} s {cpu:8.2f} s of CPU {memory:8.0f} MiB"
            f"{cpu / faster[0]:8.1f} times the faster table"
            f"{cpu / faster[1]:8.1f} times its cells{'   missed' if bad else ''}"
        )
    return missed


# -- the first run and the millionth ----------------------------------------------------------

AT_A_TIME = 11
"""Runs of either campaign in turn."""


@dataclass(frozen=True)
class Stretch:
    """Some runs of one process: seconds of each beyond its tool's, CPU seconds a run, MiB."""

    beyond: list[float]
    cpu: float
    memory: float


def stretch(out: Path) -> Stretch:
    """Go on with a campaign for some runs."""
    journal = out / "journal.jsonl"
    size = journal.stat().st_size
    words = [sys.executable, "-m", "netlimits", "resume", str(out), "--accept-changed-hosts"]
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, **output)
    seen = psutil.Process(process.pid)
    first, starts = 0.0, []
    while len(starts) <= AT_A_TIME + 1:  # the first one has to bring the hosts to its settings
        time.sleep(0.01)
        if process.poll() is not None:
            raise SystemExit(f"{out}: ended with {process.returncode}")
        with journal.open("rb") as file:
            file.seek(size)
            lines = [line for line in file.read().splitlines() if b'"event": "start"' in line]
        if len(lines) > len(starts):
            starts = [msgspec.json.decode(line) for line in lines]
            times = seen.cpu_times()
            first = first if len(starts) != 2 else sum(times[:4])
    cpu = (sum(times[:4]) - first) / (len(starts) - 2)  # of what it waited for, too
    memory = seen.memory_info().rss / 2**20
    process.send_signal(signal.SIGINT)
    process.wait()
    archive = reader.open(out).archive
    beyond = []
    for start, after in itertools.pairwise(starts[1:]):
        entries = archive.raw.read(start["run"], start["attempt"])
        tool = sum(entry.completed.seconds for entry in entries if entry.step == "client")
        beyond.append(after["at"] - start["at"] - tool)
    return Stretch(beyond, cpu, memory)


def flat(place: Path, rounds: int) -> int:
    """Print what a run costs at a campaign's begin and at its end.

    1 where time or CPU differ by more than 10 %, or `resume`'s bound of memory is missed: the last
    one has the libraries loaded that write parts.
    """
    first, last = place / "first", place / "runs"
    if not first.exists():
        begin(first, place / "hosts.yaml", -(-len(reader.open(last).plan) // CONFIGURATIONS))
    told: dict[Path, list[Stretch]] = {first: [], last: []}
    for _ in range(rounds):
        for out, stretches in told.items():
            stretches.append(stretch(out))
    costs = []
    for out, stretches in told.items():
        beyond = statistics.median(s for each in stretches for s in each.beyond)
        cpu = statistics.median(each.cpu for each in stretches)
        memory = max(each.memory for each in stretches)
        state = reader.open(out).state()
        done = state["planned"] - state["left"]
        print(
            f"{done:>9,} runs done: a run takes {1000 * beyond:.1f} ms beyond its tool, "
            f"{1000 * cpu:.1f} ms of CPU; {memory:.0f} MiB"
        )
        costs.append((beyond, cpu, memory))
    ratios = [last / first for first, last in zip(*costs, strict=True)]
    of = ("time", "CPU", "memory")
    told = ", ".join(f"{ratio:.2f} of the {what}" for ratio, what in zip(ratios, of, strict=True))
    print(f"the last to the first: {told}")
    return int(max(ratios[:2]) > 1.1 or costs[1][2] > BOUNDS["resume"][1])


def parse(out: Path) -> int:
    """Print what reading raw output again costs."""
    attempts = len(reader.open(out).archive.raw.attempts())
    used = cost([sys.executable, "-m", "netlimits", "parse", str(out)])
    print(
        f"parse of {attempts:,} runs: {1e3 * used.seconds / attempts:.2f} ms a run, "
        f"{1e3 * used.cpu / attempts:.2f} of CPU; {used.memory:.0f} MiB"
    )
    return 0


def main() -> int:
    """Make an archive, or measure what it costs to read one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("place", type=Path, help="The folder that has, or gets, the archive.")
    parser.add_argument("--make", type=int, metavar="RUNS", help="Make an archive of so many.")
    parser.add_argument("--raw", action="store_true", help="With raw output, for `parse`.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--resume", action="store_true", help="Measure resume, on its lab.")
    parser.add_argument("--flat", action="store_true", help="Measure the first runs and the last.")
    parser.add_argument("--parse", action="store_true", help="Measure parse.")
    given = parser.parse_args()
    if given.make:
        make(given.make, given.place, raw=given.raw)
        return 0
    if given.parse:
        return parse(given.place / "runs")
    if given.flat:
        return flat(given.place, given.rounds)
    return measure(given.place / "runs", given.rounds, resume=given.resume)


if __name__ == "__main__":
    sys.exit(main())
