"""A hundred million runs: what analyses of a relation take, beside plain DuckDB.

    python benchmarks/relation.py DIR --make 100000000
    python benchmarks/relation.py DIR

`--make` writes Parquet files of a million runs each: six configurations in blocks, a figure of each
run with a spread of 3 % and a machine that grows faster by 20 %, and a run in 500 that failed. The
figures are drawn, nothing is measured: the benchmark is of the analyses. Without it `summary` (with
its improvement within blocks), `percentiles`, `spread` and `compare` (one half of the blocks
against the other) are each a process of their own, and beside them one that groups the same files
by DuckDB alone (mean, deviation, count, median, least and greatest). Each prints its seconds, its
CPU seconds, its peak of memory, and the ratio of its CPU to DuckDB's. The means, medians and
extremes have to be those of DuckDB. Exit status 1 where they are not, or one takes more than 4 GB.
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


def duckdb(place: Path) -> dict[str, list[float]]:
    """Mean, median, least and greatest of each configuration by DuckDB alone."""
    import duckdb as engine

    figures = ", ".join(f"{f}(throughput_mbps)" for f in ("avg", "median", "min", "max"))
    rows = engine.sql(
        f"select {', '.join(KEYS)}, {figures}, stddev(throughput_mbps), count(*) from "
        f"read_parquet('{place}/*.parquet') where status = 'ok' group by all"
    ).fetchall()
    return {f"{size} {transport}": list(rest[:4]) for size, transport, *rest in rows}


def summary(place: Path) -> dict[str, list[float]]:
    """Mean and median by `summary`."""
    from netlimits import summary as summarize

    rows, columns = KEYS
    table = summarize(relation(place), "throughput", rows, columns, "8192 over 1024")
    figures: dict[str, list[float]] = {}
    for row in table.itertuples():
        if row.statistic in ("mean", "median"):
            figures.setdefault(f"{row.send_size} {row.transport}", []).append(row.value)
    return {key: [*values, math.nan, math.nan] for key, values in figures.items()}


def percentiles(place: Path) -> dict[str, list[float]]:
    """Median, least and greatest by `percentiles`."""
    from netlimits.analysis.percentiles import percentiles as curves

    figures = {}
    for key, curve in curves(relation(place), "throughput", KEYS).groupby([*KEYS]):
        values = curve["throughput_mbps"].to_numpy()
        figures[" ".join(map(str, key))] = [math.nan, values[500], values[0], values[-1]]
    return figures


def spread(place: Path) -> dict[str, list[float]]:
    """Mean, least and greatest by `spread`."""
    from netlimits.analysis.spread import spread as points

    table = points(relation(place), "throughput", *KEYS)
    return {
        f"{row.send_size} {row.transport}": [row.mean, math.nan, row.min, row.max]
        for row in table.itertuples()
    }


def compare(place: Path) -> dict[str, list[float]]:
    """Odd blocks against even ones by `compare`, which has the mean of each."""
    from netlimits import compare as compared

    every = relation(place)
    compared(every.filter("block % 2 = 0"), every.filter("block % 2 = 1"), "throughput")
    return {}


WAYS = {w.__name__: w for w in (duckdb, summary, percentiles, spread, compare)}


def measure(place: Path, ways: list[str]) -> int:
    """Print what each takes; 1 where one is wrong, or takes too much."""
    right: dict[str, list[float]] = {}
    reference, missed = math.nan, 0
    for name in ways:
        began = time.monotonic()
        command = [sys.executable, __file__, str(place), "--way", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout
        told: dict[str, list[float]] = json.loads(process.stdout.read() or "null")
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{name}: ended with {status}")
        cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
        if name == "duckdb":
            right, reference = told, cpu
        wrong = [
            key
            for key, values in told.items()
            for value, known in zip(values, right.get(key, values), strict=True)
            if not (math.isnan(value) or math.isclose(value, known, rel_tol=1e-9))
        ]
        over = name != "duckdb" and memory > BOUND
        missed |= bool(wrong or over)
        print(
            f"{name:<12}{time.monotonic() - began:8.1f} s{cpu:8.1f} s of CPU{memory:8.0f} MB"
            f"{cpu / reference:7.1f} times DuckDB{'   missed' if over else ''}"
            f"{f'   unlike DuckDB: {wrong}' if wrong else ''}",
            flush=True,
        )
    return missed


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
