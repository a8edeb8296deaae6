"""The packet traces of runs, out of their raw output."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis.traces import trace
from netlimits.archive import frames, raw
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError, DataError
from netlimits.model import Record


def of_run(archive: Archive, record: Record, role: str | None = None) -> pd.DataFrame:
    """One run's trace as `analysis.traces.trace` has it, cut to the run's MSS.

    `role` chooses where several were traced. Raises ArchiveError where none was taken, DataError
    for a trace that cannot be read.
    """
    run = record.run.number
    where = f"{archive.path}: run {run}"
    printed = {
        entry.host: entry.stdout
        for entry in archive.read_raw(run, record.attempt, record.raw)
        if entry.step == raw.TRACE and "tcpdump" in entry.argv
    }
    if not printed:
        raise ArchiveError(f"{where} has no packet trace: the experiment takes none")
    if role is None and len(printed) > 1:
        raise ArchiveError(f"{where} has traces of {', '.join(printed)}: say which")
    chosen = next(iter(printed)) if role is None else role
    if chosen not in printed:
        raise ArchiveError(f"{where} has no trace of {chosen}; there is {', '.join(printed)}")
    mss = record.figures.get("transport_mss_bytes")
    try:
        return trace(printed[chosen].encode(), mss=int(mss) if mss else None)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def of_runs(archive: Archive, records: Sequence[Record], role: str | None = None) -> pd.DataFrame:
    """The traces of several runs under one another, with `run`, the factors and derived values."""
    parts = [
        of_run(archive, record, role).assign(run=record.run.number, **record.run.values)
        for record in records
    ]
    return frames.of_runs(pd.concat(parts, ignore_index=True), (record.run for record in records))
