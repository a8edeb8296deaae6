"""The journal as frames: `results.csv` and `results.parquet`, one row an attempt.

Columns, in this order: what the row is (IDENTITY), the factors, the derived values, the metrics,
each with its unit in its name. Both files can be deleted: they are made from the journal, and
the Parquet file says from how much of it, so that a stale one is never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from netlimits.archive import Archive
from netlimits.errors import ArchiveError
from netlimits.files import whole
from netlimits.metrics import IDENTITY, METRICS
from netlimits.model import Experiment, Record

_STAMP = b"netlimits.journal_bytes"


def kept(archive: Archive) -> pd.DataFrame | None:
    """The frame in `results.parquet`; None where there is none of the journal as it is now."""
    parquet = archive.path / "results.parquet"
    return pd.read_parquet(parquet) if _stamp(parquet) == _journal_bytes(archive) else None


def frame(
    experiment: Experiment, records: Iterable[Record], shared_kernel: bool | None
) -> pd.DataFrame:
    """One row an attempt, in the order of `records`."""
    rows = [_row(record, shared_kernel) for record in records]
    columns = [*IDENTITY, *_values(experiment), *_metrics(rows, experiment)]
    made = pd.DataFrame(rows, columns=columns)
    made["started"] = pd.to_datetime(made["started"], unit="s", utc=True)
    for name in made.columns:
        kinds = {type(v) for v in made[name] if v is not None} if made[name].dtype == object else ()
        if len(kinds) > 1:  # a factor such as [0, "128K"]: one column has one type
            made[name] = [None if v is None else str(v) for v in made[name]]
    return made


def intervals(records: Iterable[Record]) -> pd.DataFrame:
    """One row an interim result: `run`, `attempt`, factors, `ending_s`, `interval_s`, the rate."""
    rows = [
        {"run": r.run.number, "attempt": r.attempt, "status": r.status, **r.run.values, **row}
        for r in records
        for row in r.interim
    ]
    return pd.DataFrame(rows)


def write(archive: Archive, made: pd.DataFrame) -> tuple[Path, Path]:
    """Keep a frame as `results.csv` and `results.parquet`; returns their paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    csv, parquet = archive.path / "results.csv", archive.path / "results.parquet"
    with whole(csv) as beside:
        made.to_csv(beside, index=False)
    table = pa.Table.from_pandas(made, preserve_index=False)
    stamp = str(_journal_bytes(archive)).encode()
    stamped = {**(table.schema.metadata or {}), _STAMP: stamp}
    with whole(parquet) as beside:
        pq.write_table(table.replace_schema_metadata(stamped), beside)
    return csv, parquet


def _row(record: Record, shared: bool | None) -> dict[str, Any]:
    return {
        "run": record.run.number,
        "block": record.run.block,
        "config": record.run.config,
        "attempt": record.attempt,
        "status": record.status,
        "reason": record.reason,
        "started": record.started,
        "duration_s": record.duration_s,
        "shared_kernel": shared,
        **record.figures,
        **record.run.values,  # an experiment's own name wins over a tool's
    }


def _values(experiment: Experiment) -> Iterator[str]:
    yield from experiment.factors
    for group in experiment.zips:
        yield from group
    yield from experiment.derive


def _metrics(rows: Iterable[dict[str, Any]], experiment: Experiment) -> list[str]:
    """The metrics' columns that rows hold: those of METRICS in its order, then the tools' own."""
    other = {*IDENTITY, *_values(experiment)}
    there = dict.fromkeys(name for row in rows for name in row if name not in other)
    known = [m.column for m in METRICS if m.column in there]
    return [*known, *(name for name in there if name not in known)]


def _journal_bytes(archive: Archive) -> int:
    path = archive.path / "journal.jsonl"
    try:
        return path.stat().st_size
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}") from None


def _stamp(parquet: Path) -> int | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int((pq.read_schema(parquet).metadata or {})[_STAMP])
    except (OSError, KeyError, ValueError, pa.ArrowInvalid):
        return None
