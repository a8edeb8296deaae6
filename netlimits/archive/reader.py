"""Open a campaign: its experiment, its tables, its progress.

campaign = netlimits.open("results/stateless-offloads-20260101-120000")
campaign.frame()       # one row per attempt
campaign.intervals()   # one row per interim result
campaign.packets(1)    # one row per packet of a run's trace
campaign.timeline(1)   # one row per sample of a run's hosts
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import pandas as pd

from netlimits.analysis import comparison
from netlimits.analysis.attempts import without_profiled
from netlimits.analysis.packets.traces import trace
from netlimits.analysis.sources import run_files
from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.archive import frames, logbook, parts, raw, relation, timelines
from netlimits.archive.logbook import Logbook
from netlimits.errors import ArchiveError, DataError
from netlimits.model import Record


@dataclass(frozen=True)
class Campaign(Logbook):
    """A campaign's folder, with its tables.

    Example:
        >>> campaign = netlimits.open("results/stateless-offloads-20260101-120000")
        >>> campaign.frame().groupby("send_size")["throughput_mbps"].median()
    """

    def frame(self, columns: Collection[str] | None = None, *, coded: bool = False) -> pd.DataFrame:
        """Return one row per attempt: identity, factors and derived values, metrics.

        Args:
            columns: The columns that are needed; by default all. A large campaign is read faster
                with few columns. The frame may have more columns, such as factors.
            coded: Return text as categories, which take less memory and time.

        Returns:
            The attempts in the order of their starts. Metrics have their unit in the column's name,
            such as `throughput_mbps`. `attrs["planned"]` is [planned runs, runs in the frame].

        Raises:
            ArchiveError: The journal is damaged.
        """
        frame = None if self.large else frames.kept(self.archive)
        if frame is None:
            frame = frames.frame(self.archive, self.experiment, columns, coded=coded)
        runs = _different(frame["run"])
        self.check_imported(runs)
        if not self.imported:
            frame.attrs["planned"] = [self.planned_runs(), runs]
            frame.attrs["planned_profiled"] = self.plan.profiled_runs()
        return frame

    def relation(
        self, columns: Collection[str] | None = None, memory: str | None = None
    ) -> Relation:
        """Return the frame's rows in DuckDB, for more runs than memory holds.

        Args:
            columns: The columns to read; by default all.
            memory: Memory limit of DuckDB, such as "1GB".

        Returns:
            The rows of all runs except profiled runs. `summary`, `compare`,
            `analysis.percentiles` and `analysis.spread` accept them in place of a frame.

        Raises:
            ArchiveError: The journal is damaged.
            DataError: DuckDB is not installed.
        """
        connection = relation.connection(memory or relation.MEMORY)
        rows = relation.rows(connection, self.archive, self.experiment, columns)
        if rows is None:
            frame = self.frame(columns)
            attrs = {str(name): value for name, value in frame.attrs.items()}
            rows_counted = relation.of_frame(connection, without_profiled(frame))
            return Relation(rows_counted, connection, attrs)
        planned = self.planned_runs() - self.plan.profiled_runs()
        return Relation(rows[0], connection, {**rows[1], "planned": [planned]})

    def attempts(self, wanted: pd.DataFrame) -> pd.DataFrame:
        """Return the frame's rows of some attempts; other rows are not held in memory.

        Args:
            wanted: The attempts, by the columns `run` and `attempt`.

        Returns:
            The rows in the order of `wanted`, with its index.

        Raises:
            ArchiveError: The journal is damaged.
        """
        return frames.of_attempts(self.archive, self.experiment, wanted)

    def frames(self) -> Iterator[pd.DataFrame]:
        """Read the frame in pieces, with all columns.

        Yields:
            Attempts with the columns of `frame`. Each part of a large campaign is a piece, in the
            order of the attempts' ends. A smaller campaign is a single piece, as is a campaign
            whose factor has different types in two parts.
        """
        if not self.large:
            yield self.frame()
            return
        yield from frames.pieces(self.archive, self.experiment)

    def intervals(self, *, streams: bool = False) -> pd.DataFrame:
        """Return one row per interim result of a run.

        Args:
            streams: Return one row per parallel stream, with its number in `stream`, instead of
                sums. Results that were not imported have no rows then.

        Returns:
            Columns `run`, `attempt`, `status`, the factors, `ending_s` (epoch seconds),
            `interval_s`, and a rate such as `throughput_mbps`. Parallel streams of one client
            (iperf3's `parallel`) are summed in one row.
        """
        return frames.intervals(self.archive, self.experiment, streams=streams)

    def packets(
        self, run: int, attempt: int | None = None, role: str | None = None
    ) -> pd.DataFrame:
        """Return the packet trace of a run.

        Packets larger than the run's MSS are split into segments.

        Args:
            run: The run's number.
            attempt: The attempt; by default the last one.
            role: The host, required if several hosts were traced.

        Returns:
            A row for each packet, with the columns of `analysis.bursts.trace`.

        Raises:
            ArchiveError: The run or its trace is missing.
            DataError: The trace cannot be read.
        """
        return self._trace(self._attempt(run, attempt), role)

    def drops(self, run: int, attempt: int | None = None) -> pd.DataFrame:
        """Return the packets that the hosts' kernels dropped during a run, by reason and place.

        Args:
            run: The run's number.
            attempt: The attempt; by default the last one.

        Returns:
            A row for each reason and place: `role`, `reason` and `place` (the kernel's names),
            `cause` in words, `packets`. `attrs["notes"]` says whose drops cannot be separated.

        Raises:
            ArchiveError: The run is missing, or no host counted drops.
        """
        return timelines.dropped(self, self._attempt(run, attempt))

    def timeline(self, run: int, attempt: int | None = None) -> pd.DataFrame:
        """Return what the samples of a run show over time, on one clock of both ends.

        Args:
            run: The run's number.
            attempt: The attempt; by default the last one.

        Returns:
            A row for each sample of a host: `run`, `time_s` (seconds since the first data), `end`,
            `role`, `interval_s` and the figures of `evidence.sample.series.series`: throughput,
            cwnd, ssthresh, RTT, delivery and pacing rate, windows, retransmits, CE marks, queues,
            CPU time by kind, drops, and `limited_by`. `attrs["clock_error_s"]` is the maximum error
            between the times of the two ends.

        Raises:
            ArchiveError: The run is missing, or has no samples.

        Example:
            >>> frame = netlimits.open("results/quickstart-20260101-120000").timeline(1)
            >>> frame.plot(x="time_s", y="cwnd_segs")
        """
        return self._timeline(self._attempt(run, attempt))

    def timelines(self, runs: Iterable[int] | None = None) -> pd.DataFrame:
        """Return the timelines of several runs in one frame, with the factors.

        Args:
            runs: The runs' numbers; by default all runs that are ok.

        Returns:
            The rows of `timeline` for each run, with a column for each factor.
            `attrs["clock_error_s"]` is the largest of the runs' clock errors.

        Raises:
            ArchiveError: A run is missing or has no samples, or no run is ok.
        """
        attempts = self._last_of(runs, "timeline")
        tables = [self._timeline(record).assign(**record.run.values) for record in attempts]
        attrs = [table.attrs for table in tables]
        frame = _of_runs(tables, attempts)
        frame.attrs["clock_error_s"] = max(known["clock_error_s"] for known in attrs)
        frame.attrs["changes"] = {
            record.run.number: known["changes"]
            for record, known in zip(attempts, attrs, strict=True)
        }
        return frame

    def _timeline(self, record: Record) -> pd.DataFrame:
        frame = timelines.frame(self, record)
        frame.insert(0, "run", record.run.number)
        return frame

    def _last_of(self, runs: Iterable[int] | None, lacking: str) -> list[Record]:
        """Return the last attempt at each of these runs, by default at all runs that are ok.

        If no run is ok, raise an ArchiveError that `lacking` (such as "timeline") is missing.
        """
        chosen = self.ok_runs() if runs is None else list(runs)
        if not chosen:
            raise ArchiveError(f"{self.path}: no run is ok, so there is no {lacking}")
        last = {record.run.number: record for record in self.records_of({*chosen})}
        if missing := [number for number in chosen if number not in last]:
            raise ArchiveError(
                f"{self.path}: has no run {missing[0]}; `status` prints how many it has"
            )
        return [last[number] for number in chosen]

    def _attempt(self, run: int, attempt: int | None) -> Record:
        """Return an attempt at a run, by default the last. Raises ArchiveError if it is missing."""
        attempts = [r for r in self.records_of([run]) if attempt in (None, r.attempt)]
        if not attempts:
            which = f"run {run}" if attempt is None else f"attempt {attempt} at run {run}"
            raise ArchiveError(f"{self.path}: has no {which}")
        return attempts[-1]

    def traces(self, runs: Iterable[int] | None = None, role: str | None = None) -> pd.DataFrame:
        """Return the packet traces of several runs in one frame.

        Args:
            runs: The runs' numbers; by default all runs that are ok.
            role: The host, required if several hosts were traced.

        Returns:
            The rows of `packets` for each run, with a column `run` and a column for each factor.

        Raises:
            ArchiveError: A run or its trace is missing, or no run is ok.
            DataError: A trace cannot be read.
        """
        attempts = self._last_of(runs, "trace")
        tables = [
            self._trace(record, role).assign(run=record.run.number, **record.run.values)
            for record in attempts
        ]
        return _of_runs(tables, attempts)

    def _trace(self, record: Record, role: str | None) -> pd.DataFrame:
        run = record.run.number
        where = f"{self.path}: run {run}"
        printed = {
            entry.host: entry.stdout
            for entry in self.archive.raw.read(run, record.attempt, record.raw)
            if entry.step == raw.TRACE and "tcpdump" in entry.argv
        }
        if not printed:
            raise ArchiveError(
                f"{where} has no packet trace: the experiment takes none; add `trace:` to it and "
                "run it again"
            )
        if role is None and len(printed) > 1:
            raise ArchiveError(f"{where} has traces of {', '.join(printed)}; name one")
        chosen = next(iter(printed)) if role is None else role
        if chosen not in printed:
            raise ArchiveError(f"{where} has no trace of {chosen}; there is {', '.join(printed)}")
        mss = record.figures.get("transport_mss_bytes")
        try:
            return trace(printed[chosen].encode(), mss=int(mss) if mss else None)
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

    def ok_runs(self) -> list[int]:
        """Find the runs whose last attempt is ok.

        Returns:
            Their numbers, in ascending order.
        """
        frame = without_profiled(self.frame(("status",)))
        last = frame.drop_duplicates("run", keep="last")
        return sorted(map(int, last.loc[last["status"] == "ok", "run"]))

    def write_results(self) -> tuple[Path, ...]:
        """Write `results.csv` and `results.parquet` from the journal.

        For a large campaign they are removed. Nothing may append to the journal at the same time.

        Returns:
            The paths of the files; for a large campaign, the path of its parts.
        """
        if self.large:
            frames.remove(self.archive)
            return (self.path / "parts",)
        return frames.write(self.archive, self.experiment)

    @property
    def large(self) -> bool:
        """True if the campaign has parts, so that its frame may not fit into memory."""
        return next(parts.each(self.archive.journal), None) is not None

    def left(self, frame: pd.DataFrame) -> tuple[int, int]:
        """Count the runs that are left.

        Args:
            frame: The campaign's frame, from the method `frame`.

        Returns:
            The number of runs without an outcome in the frame, and the number of planned runs.
        """
        if self.imported:
            return 0, len(self.runs)
        planned = self.planned_runs()
        done = _different(frame.loc[frame["status"] != "interrupted", "run"])
        return planned - done, planned


def open(path: str | Path) -> Campaign:  # noqa: A001 - the API says netlimits.open
    """Open the campaign in a folder.

    Args:
        path: The results folder.

    Returns:
        The campaign; its tables are read when they are requested.

    Raises:
        ArchiveError: The folder holds no campaign, is of another version, or is damaged.

    Example:
        >>> frame = netlimits.open("results/stateless-offloads-20260101-120000").frame()
    """
    path = Path(path)
    if path.is_file():
        raise ArchiveError(
            f"{path}: is a file, not a campaign's folder; read a table with "
            f'netlimits.read_csv("{path.name}"), and results of other tools with '
            "`netlimits import`"
        )
    return Campaign(logbook.opened(path))


@wraps(comparison.compare)
def compare(
    before: Runs | Campaign | str | Path,
    after: Runs | Campaign | str | Path,
    *args: Any,
    **options: Any,
) -> pd.DataFrame:
    """Compare runs, campaigns, results folders or files of runs; see `analysis.comparison`."""
    return comparison.compare(_runs(before), _runs(after), *args, **options)


def _runs(side: Runs | Campaign | str | Path) -> Runs:
    """Return the runs of a campaign, of a results folder, or of a file of runs."""
    if isinstance(side, Campaign):
        return side.frame()
    if isinstance(side, str | Path):
        return run_files.load(side) if Path(side).is_file() else open(side).frame()
    return side


def _of_runs(tables: list[pd.DataFrame], attempts: list[Record]) -> pd.DataFrame:
    varied = (name for record in attempts for name in record.run.values)
    return frames.of_runs(pd.concat(tables, ignore_index=True), varied)


def _different(numbers: pd.Series) -> int:
    """Count distinct numbers, by comparing neighbours if they ascend."""
    values = numbers.to_numpy()
    if (values[1:] < values[:-1]).any():
        return int(numbers.nunique())
    return int((values[1:] > values[:-1]).sum()) + bool(len(values))
