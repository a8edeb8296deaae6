"""A campaign of a hundred million runs: what analyses of its relation take, beside plain DuckDB.

    python benchmarks/relation.py DIR --make 100000000
    python benchmarks/relation.py DIR

`--make` writes a campaign's folder with parts of 4096 runs, by the code that writes a campaign's:
six configurations in blocks, a figure of each run with a spread of 3 % and a machine that grows
faster by 20 %, and a run in 500 that failed. The figures are drawn, nothing is measured, and of the
journal there is the line that each part ends with: the benchmark is of the analyses. Without
`--make` `summary` (with its improvement within blocks), `percentiles`, `spread` and `compare` (one
half of the blocks against the other) of `campaign.relation()` are each a process of their own, and
beside them one that groups the same parts by DuckDB alone (mean, deviation, count, median, least
and greatest). Each prints its seconds, its CPU seconds, its peak of memory, and the ratio of its
CPU to DuckDB's. Every figure that they tell is then held against one that `exact.py` has from all
of a configuration's values, in memory. Exit status 1 where one is another, or an analysis takes
more than 4 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import exact
import numpy as np
import pyarrow as pa

from netlimits.archive import columns, parts, reader
from netlimits.archive.formats import digest
from netlimits.archive.journal import Head
from netlimits.archive.parts import History
from netlimits.archive.store import Archive

BOUND = 4000
"""MB that each may take."""
KEYS = ("send_size", "transport")
EXPERIMENT = """\
experiment: many
factors:
  transport: [UDP, TCP on, TCP off]
  send_size: [1024, 8192]
dummies: [transport]
measure:
  netperf: {{test: omni, seconds: 1, send_size: "${{send_size}}"}}
repeat: {{replicates: {blocks}, order: listed, seed: 1}}
"""
KINDS = {
    **dict.fromkeys(("run", "block", "attempt", "send_size"), "int"),
    **dict.fromkeys(("config", "status", "reason", "transport"), "str"),
    **dict.fromkeys(("started", "duration_s", "throughput_mbps"), "float"),
}
MOST = 10_000_000
"""Replicates of an experiment; what is more was added to it."""
LINE = 64
"""Bytes that a line of the journal takes, which has none but the last of each part."""


def make(count: int, place: Path) -> None:
    """Write the folder."""
    blocks = -(-count // 6)
    first = min(blocks, MOST)
    about = {"experiment": "many", "seed": 1, "overrides": [], "machines": {}}
    machine = {"interface": "data0", "address": "198.18.0.1", "ssh_config": None}
    for role in ("sender", "receiver"):
        about["machines"][role] = {"role": role, "ssh": role, **machine}
    about |= {"shared_kernel": True, "skipped": {}, "netlimits": "", "created": ""}
    Archive.create(place, about, EXPERIMENT.format(blocks=first))
    folder = reader.open(place).archive.folder
    folder.make(parts.FOLDER)
    extended = {"event": "extended", "at": 0.0, "replicates": blocks - first, "seed": 2}
    sync, os.fsync = os.fsync, lambda _: None
    chance, end = np.random.default_rng(16), Head()
    try:
        with (place / "journal.jsonl").open("r+b") as journal:
            for number, run in enumerate(range(0, 6 * blocks, parts.ATTEMPTS), 1):
                runs = np.arange(run, min(run + parts.ATTEMPTS, 6 * blocks))
                begin, end = end, _after(end, len(runs))
                os.pwrite(journal.fileno(), _line(end), end.last)
                data, file = columns.parquet(_table(runs, count, chance), KINDS)
                folder.write(f"{parts.FOLDER}/{number:06d}.parquet", data)
                told = _told_of(runs, begin, end, file)
                if number == 1 and blocks > first:
                    told["extended"] = [extended]
                told["sha256"] = digest(told)
                folder.write(parts.json_name(number), json.dumps(told))
    finally:
        os.fsync = sync


def _after(end: Head, runs: int) -> Head:
    """Where a part of so many runs ends that begins here."""
    lines = end.lines + 2 * runs
    return Head(lines, lines * LINE, lines, (lines - 1) * LINE)


def _line(end: Head) -> bytes:
    """The line that ends there."""
    begin = b'{"n":%d,"crc":"%08x",' % (end.lines, end.crc)
    return begin + b" " * (LINE - len(begin) - 2) + b"}\n"


def _table(runs: np.ndarray, count: int, chance: np.random.Generator) -> pa.Table:
    """The rows of a part; runs are counted from 0 here."""
    failed, kind = runs % 500 == 7, runs % 6
    spread = 1 + 0.03 * chance.standard_normal(len(runs))
    figures = (1000 + 500 * kind) * (1 + 0.2 * runs / count) * spread
    transport, size = np.array(["UDP", "TCP on", "TCP off"]), np.array([1024, 8192])
    return pa.table(
        {
            "run": runs + 1,
            "block": runs // 6 + 1,
            "attempt": np.ones(len(runs), np.int64),
            "send_size": size[kind % 2],
            "config": np.array([f"config-{n}" for n in range(6)])[kind],
            "status": np.where(failed, "failed", "ok"),
            "reason": np.where(failed, "netperf exited with 1", ""),
            "transport": transport[kind // 2],
            "started": 1.7e9 + 2.0 * runs,
            "duration_s": np.ones(len(runs)),
            "throughput_mbps": pa.array(figures, mask=failed),
        }
    )


def _told_of(runs: np.ndarray, begin: Head, end: Head, file: Any) -> dict[str, Any]:
    """What a part's JSON says."""
    failed = int((runs % 500 == 7).sum())
    about = {
        "netlimits": "",
        "begin": [begin.lines, begin.size, begin.crc, begin.last],
        "end": [end.lines, end.size, end.crc, end.last],
        "attempts": file,
        "interim": None,
        **parts.counts(History()),
        "outcomes": {"ok": len(runs) - failed, **({"failed": failed} if failed else {})},
        "runs": [int(runs[0]) + 1, int(runs[-1]) + 1],
        "highest": int(runs[-1]) + 1,
    }
    told: dict[str, Any] = json.loads(json.dumps(about))  # as it will be read: lists, no tuples
    return told


def relation(place: Path) -> Any:
    """The campaign's."""
    return reader.open(place).relation()


Rows = list[dict[str, Any]]


def duckdb(place: Path) -> Rows:
    """Mean, deviation, count, median, least and greatest of each configuration by DuckDB alone."""
    import duckdb as engine

    figures = ", ".join(f"{f}(throughput_mbps)" for f in ("avg", "median", "min", "max", "stddev"))
    engine.sql(
        f"select {', '.join(KEYS)}, {figures}, count(*) from "
        f"read_parquet('{place}/parts/*.parquet') where status = 'ok' group by all"
    ).fetchall()
    return []


def summary(place: Path) -> Rows:
    """Means, medians and improvements, with their intervals."""
    from netlimits import summary as summarize

    rows, columns = KEYS
    return _told(summarize(relation(place), "throughput", rows, columns, "8192 over 1024"))


def percentiles(place: Path) -> Rows:
    """Each configuration's curve."""
    from netlimits.analysis.percentiles import percentiles as curves

    return _told(curves(relation(place), "throughput", KEYS))


def spread(place: Path) -> Rows:
    """Each configuration's mean with its interval, deviation, least and greatest."""
    from netlimits.analysis.spread import spread as points

    return _told(points(relation(place), "throughput", *KEYS))


def compare(place: Path) -> Rows:
    """Odd blocks against even ones."""
    from netlimits import compare as compared

    every = relation(place)
    before, after = (every.filter(f"block % 2 = {rest}") for rest in (0, 1))
    return _told(compared(before, after, "throughput"))


def _told(table: Any) -> Rows:
    return json.loads(table.to_json(orient="records", double_precision=15))


WAYS = {w.__name__: w for w in (duckdb, summary, percentiles, spread, compare)}


def measure(place: Path, ways: list[str]) -> int:
    """Print what each takes, and what is wrong; 1 where something is, or one takes too much."""
    told: dict[str, Rows] = {}
    reference, missed = math.nan, 0
    for name in ways:
        began = time.monotonic()
        command = [sys.executable, __file__, str(place), "--way", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout
        told[name] = json.loads(process.stdout.read() or "null")
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{name}: ended with {status}")
        cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
        if name == "duckdb":
            reference = cpu
        over = name != "duckdb" and memory > BOUND
        missed |= over
        print(
            f"{name:<12}{time.monotonic() - began:8.1f} s{cpu:8.1f} s of CPU{memory:8.0f} MB"
            f"{cpu / reference:7.1f} times DuckDB{'   missed' if over else ''}",
            flush=True,
        )
    counted, wrong = exact.held(place, told)
    print(f"{counted:,} figures held against NumPy's, SciPy's and counts; unlike: {len(wrong)}")
    for words in wrong:
        print(f"  {words}")
    return missed | bool(wrong or counted < sum(map(len, told.values())))


def main() -> int:
    """Make the folder, or measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("place", type=Path, help="The folder that has, or gets, the runs.")
    parser.add_argument("--make", type=int, metavar="RUNS", help="Write so many runs.")
    parser.add_argument("--only", choices=WAYS, action="append", help="Beside DuckDB only this.")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(WAYS[given.way](given.place)))
        return 0
    if given.make:
        make(given.make, given.place)
        return 0
    return measure(given.place, ["duckdb", *(given.only or [w for w in WAYS if w != "duckdb"])])


if __name__ == "__main__":
    sys.exit(main())
