"""A hundred million runs: what analyses of a relation take, beside plain DuckDB.

    python benchmarks/relation.py DIR --make 100000000
    python benchmarks/relation.py DIR

`--make` writes Parquet files of a million runs each: six configurations in blocks, a figure of each
run with a spread of 3 % and a machine that grows faster by 20 %, and a run in 500 that failed. The
figures are drawn, nothing is measured: the benchmark is of the analyses. Without it `summary` (with
its improvement within blocks), `percentiles`, `spread` and `compare` (one half of the blocks
against the other) are each a process of their own, and beside them one that groups the same files
by DuckDB alone (mean, deviation, count, median, least and greatest). Each prints its seconds, its
CPU seconds, its peak of memory, and the ratio of its CPU to DuckDB's. Every figure that they tell
is then held against one that `exact.py` has from all of a configuration's values, in memory. Exit
status 1 where one is another, or an analysis takes more than 4 GB.
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

BOUND = 4000
"""MB that each may take."""
KEYS = ("send_size", "transport")
FILE = 1_000_000
"""Runs of a file."""


def make(count: int, place: Path) -> None:
    """Write the files."""
    import duckdb

    place.mkdir(parents=True, exist_ok=True)
    database = duckdb.connect(config={"memory_limit": "1GB", "threads": 2})
    for number, first in enumerate(range(0, count, FILE)):
        database.execute(f"select setseed({(number % 1000) / 1000})")
        database.execute(f"""
            copy (
              select i + 1 as run, i // 6 + 1 as block, 'config-' || i % 6 as config, 1 as attempt,
                if(i % 500 = 7, 'failed', 'ok') as status,
                [1024, 8192][i % 2 + 1] as send_size,
                ['UDP', 'TCP on', 'TCP off'][i // 2 % 3 + 1] as transport,
                if(i % 500 = 7, null, (1000 + 500 * (i % 6)) * (1 + 0.2 * i / {count})
                  * (1 + 0.03 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())))
                  as throughput_mbps
              from range({first}, {min(first + FILE, count)}) as t(i)
            ) to '{place / f"{number:04d}.parquet"}' (format parquet, compression zstd)""")


def relation(place: Path) -> Any:
    """The files as a campaign's relation is."""
    from netlimits.analysis.relations import Relation
    from netlimits.archive.relation import connection

    opened = connection()
    rows = opened.read_parquet(str(place / "*.parquet"))
    columns = {"factors": list(KEYS), "derived": [], "metrics": ["throughput_mbps"]}
    return Relation(rows, opened, {"columns": columns})


Rows = list[dict[str, Any]]


def duckdb(place: Path) -> Rows:
    """Mean, deviation, count, median, least and greatest of each configuration by DuckDB alone."""
    import duckdb as engine

    figures = ", ".join(f"{f}(throughput_mbps)" for f in ("avg", "median", "min", "max", "stddev"))
    engine.sql(
        f"select {', '.join(KEYS)}, {figures}, count(*) from "
        f"read_parquet('{place}/*.parquet') where status = 'ok' group by all"
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
    """Make the files, or measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("place", type=Path, help="The folder that has, or gets, the files.")
    parser.add_argument("--make", type=int, metavar="RUNS", help="Write files of so many runs.")
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
