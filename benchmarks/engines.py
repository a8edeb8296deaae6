"""What the report's table says of an archive, by plain engines: DuckDB and pandas.

    python benchmarks/engines.py RUNS duckdb cells
    python benchmarks/engines.py RUNS duckdb table

`cells` groups the report's figures as its table does (mean, deviation, count, median), of every
row that is ok: six columns. `table` is what a reader of these cells must know as well: of each
run's last attempt alone, how many came to what, were disturbed or lost packets, in how many
sessions they were made, how they were paced, which way their data went, and whether a cell's runs
differ in another factor. It reads the columns that this takes, as far as the archive has them.

Beside netlimits they check no part against its checksum or the journal, and tell no intervals,
contrasts within blocks, or runs of more than one kind. Nothing of netlimits is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Rows = list[tuple[Any, ...]]

KEYS = ("send_size", "transport")
FIGURES = ("throughput_mbps", "local_sd_us_per_kib", "remote_sd_us_per_kib")
CELLS = ("status", *KEYS, *FIGURES)
"""What the report's table is of."""

RATES = ("local_send_throughput_mbps", "remote_recv_throughput_mbps")
"""What was sent, and what arrived."""

NEEDED = (
    *CELLS,
    *("run", "attempt", "started", "duration_s", "protocol", "offloads"),
    *("disturbed_pct", "loss_pct", "transport_mss_bytes", "paced_by", "aggregated_runs"),
    *RATES,
)
"""What its notes are of, too: of these the columns that there are."""

BREAK = 600.0
"""Seconds without a run that end a session."""

ARRIVED = 0.999
"""Of what was sent; where less arrives, without TCP, packets were lost."""


def duckdb_cells(runs: Path) -> list[Rows]:
    """The cells by DuckDB, straight from the parts."""
    import duckdb

    return [_grouped(duckdb, f"read_parquet('{runs}/parts/??????.parquet', union_by_name = true)")]


def duckdb_table(runs: Path) -> list[Rows]:
    """All that the table says, by DuckDB."""
    import duckdb

    parts = f"read_parquet('{runs}/parts/??????.parquet', union_by_name = true)"
    there = duckdb.sql(f"select * from {parts} limit 0").columns
    names = ", ".join(_needed(there))
    duckdb.sql(f"create or replace temp table told as select {names} from {parts}")
    lacking = "".join(f"null as {name}, " for name in NEEDED if name not in there)
    duckdb.sql(
        "create or replace temp table again as "
        "select run, max(attempt) as most from told group by run having count(*) > 1"
    )
    duckdb.sql(
        f"create or replace temp view last as select {lacking}told.* from told "
        "left join again using (run) where most is null or attempt = most"
    )
    ok = "filter (where status = 'ok')"
    arrived = f"{RATES[1]} < {ARRIVED} * {RATES[0]}"
    lost = "loss_pct > 0.1" if "loss_pct" in there else f"{arrived} and transport_mss_bytes is null"
    ended = "lag(started + duration_s) over (order by started)"
    questions = [
        "select status, count(*) from last group by all",
        f"select count(*) {ok}, count(*) filter (where status = 'ok' and disturbed_pct > 0), "
        f"max(disturbed_pct) {ok}, count(*) filter (where status = 'ok' and {lost}) from last",
        f"select count(*) from (select started - {ended} as gap from last) where gap > {BREAK}",
        f"select {', '.join(KEYS)}, count(distinct protocol), count(distinct offloads) from last "
        "group by all order by all",
        "select distinct paced_by, aggregated_runs from last where status = 'ok'",
        f"select count(*) filter (where {RATES[0]} > 0 or {RATES[1]} > 0), count(*) from last",
    ]
    return [_grouped(duckdb, "last"), *(duckdb.sql(query).fetchall() for query in questions)]


def _grouped(engine: Any, rows: str) -> Rows:
    figures = ", ".join(f"avg({f}), stddev({f}), count({f}), median({f})" for f in FIGURES)
    keys = ", ".join(KEYS)
    query = f"select {keys}, {figures} from {rows} where status = 'ok' group by all order by all"
    cells: Rows = engine.sql(query).fetchall()
    return cells


def pandas_cells(runs: Path) -> list[Rows]:
    """The cells by pandas."""
    return [_cells(_read(runs, CELLS))]


def pandas_table(runs: Path) -> list[Rows]:
    """All that the table says, by pandas."""
    told = _read(runs, NEEDED)
    last = told.sort_values("attempt", kind="stable").drop_duplicates("run", keep="last")
    last = last.sort_values("started")
    ok = last[last["status"] == "ok"]
    if "loss_pct" in ok:
        lost = ok["loss_pct"] > 0.1
    else:
        sent, arrived = (ok[rate] for rate in RATES)
        lost = (arrived < ARRIVED * sent) & ok["transport_mss_bytes"].isna()
    gaps = last["started"] - (last["started"] + last["duration_s"]).shift()
    ok = ok.reindex(columns=[*NEEDED])
    disturbed, rates = ok["disturbed_pct"], last[[*RATES]]
    others = last.groupby([*KEYS])[["protocol", "offloads"]].nunique()
    return [
        _cells(last),
        [*last["status"].value_counts().items()],
        [(len(ok), (disturbed > 0).sum(), disturbed.max(), lost.sum())],
        [((gaps > BREAK).sum(),)],
        _rows(others.reset_index()),
        _rows(ok[["paced_by", "aggregated_runs"]].drop_duplicates()),
        [((rates > 0).any(axis=1).sum(), len(last))],
    ]


def _cells(rows: Any) -> Rows:
    ok = rows[rows["status"] == "ok"]
    cells = ok.groupby([*KEYS])[[*FIGURES]].agg(["mean", "std", "count", "median"])
    return _rows(cells.reset_index())


def _rows(frame: Any) -> Rows:
    return [*frame.itertuples(index=False, name=None)]


def _read(runs: Path, names: tuple[str, ...]) -> Any:
    import pandas as pd
    import pyarrow.parquet as pq

    pieces = []
    for part in sorted(runs.glob("parts/??????.parquet")):
        columns = [name for name in _needed(pq.read_schema(part).names) if name in names]
        pieces.append(pd.read_parquet(part, columns=columns))
    return pd.concat(pieces)


def _needed(there: Sequence[str]) -> list[str]:
    """Of the columns that there are. TCP's MSS tells only where nothing else tells of losses."""
    without = {"transport_mss_bytes"} if "loss_pct" in there else set()
    return [name for name in NEEDED if name in there and name not in without]


ENGINES: dict[tuple[str, str], Callable[[Path], list[Rows]]] = {
    ("duckdb", "cells"): duckdb_cells,
    ("pandas", "cells"): pandas_cells,
    ("duckdb", "table"): duckdb_table,
    ("pandas", "table"): pandas_table,
}

if __name__ == "__main__":
    for answer in ENGINES[sys.argv[2], sys.argv[3]](Path(sys.argv[1])):
        print(answer)
