"""The input of all export formats: runs with their metrics, units and factors, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from netlimits.analysis import defaults, frames, wording
from netlimits.analysis.attempts import last_attempts
from netlimits.analysis.sources import spreadsheets
from netlimits.metrics import IDENTITY, Metric, metric

BATCH = 512
"""Maximum number of runs in a batch, which limits the text in memory."""


@dataclass(frozen=True)
class ExportedRun:
    """The last attempt at a run.

    Attributes:
        identity: Column in `metrics.IDENTITY` -> value, without missing values and `started`.
        labels: Factor -> its value as text, without missing values.
        started: Start time in seconds since 1970, None if unknown.
        figures: Column of a metric -> value, empty if the run is not ok. It is also empty in the
            runs of a `Batch`; use `Batch.figures` there.
    """

    identity: Mapping[str, Any]
    labels: Mapping[str, str]
    started: float | None
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if the status is ok, or if the run has no status."""
        return bool(self.identity.get("status", "ok") == "ok")


@dataclass(frozen=True)
class Batch:
    """Up to BATCH runs, and the rows of the frame that contain the metrics of these runs."""

    runs: Sequence[ExportedRun]
    table: pd.DataFrame

    def figures(self, column: str) -> pa.StringArray:
        """Return the values of a metric as text, one for each run.

        Args:
            column: The column of the metric.

        Returns:
            An array as long as `runs`. A value is null if the run is not ok or has no finite value.
        """
        values = self.table[column]
        if values.dtype == object:
            values = values.map(lambda v: v if isinstance(v, int | float) else np.nan)
            values = values.astype(float)
        numbers = values.to_numpy()
        good = np.array([run.ok for run in self.runs], bool) & np.isfinite(numbers)
        return pc.cast(pa.array(numbers, mask=~good), pa.string())

    def fields(self, prefixes: Mapping[str, str]) -> list[str]:
        """Return a text for each run, such as `throughput_mbps=4837,local_cpu_pct=88`.

        Args:
            prefixes: Column of a metric -> text before each of its values.

        Returns:
            A list as long as `runs`. Missing values are left out; a run with no value has "".
        """
        texts = [
            pc.binary_join_element_wise(prefix, self.figures(column), "")
            for column, prefix in prefixes.items()
        ]
        empty = pa.array([""] * len(self.runs))  # otherwise a run with only nulls would be null
        joined = pc.binary_join_element_wise(empty, *texts, ",", null_handling="skip")
        return [text.removeprefix(",") for text in joined.to_pylist()]


@dataclass(frozen=True)
class Runs:
    """The runs to export.

    Attributes:
        name: Name of the experiment.
        frame: Frame with a row for each attempt.
        factors: Columns that distinguish the configurations.
        pieces: Function that returns the rows of `frame` with all columns, in several frames. It is
            set if the campaign is too large for one frame; then `frame` may lack columns.
        campaigns: Name of a campaign -> (its unique id, number of runs that precede the campaign's
            runs in `frame`). A single campaign has the name "".
        tool: Tool of all runs, "" if the runs have several tools or the tool is unknown.
        stacks: End and configuration as text -> folded stack -> number of samples.
    """

    name: str
    frame: pd.DataFrame
    factors: Sequence[str]
    pieces: Callable[[], Iterable[pd.DataFrame]] | None = None
    campaigns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tool: str = ""
    stacks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that have a column in the frame, in the order of METRICS."""
        frame = self.frame
        if self.pieces:
            frame = pd.DataFrame(columns=frame.attrs["columns"]["metrics"])
        return tuple(metric(name) for name in frames.measured(frame))

    @cached_property
    def headlines(self) -> tuple[Metric, ...]:
        """Metrics of the default table for which higher or lower values are better."""
        return tuple(m for m in map(metric, defaults.metrics(self.frame)) if m.better)

    def batches(self) -> Iterator[Batch]:
        """Find the last attempt at each run.

        Yields:
            Batches of up to BATCH runs. Runs are ordered by number within each piece.
        """
        number = 1
        for rows in self._last_attempts():
            for begin in range(0, len(rows), BATCH):
                table = rows.iloc[begin : begin + BATCH]
                yield Batch(list(self._runs(table, number)), table)
                number += len(table)

    def _last_attempts(self) -> Iterator[pd.DataFrame]:
        last = last_attempts(self.frame)
        key = ["run", "attempt"]
        if not {*key} <= {*last.columns}:
            yield last
        elif self.pieces is None:
            yield last.sort_values(key)
        else:
            wanted = np.sort(_attempts(last))
            del last
            for piece in self.pieces():
                attempts = _attempts(piece)
                place = np.searchsorted(wanted, attempts).clip(max=len(wanted) - 1)
                yield piece[wanted[place] == attempts].sort_values(key)

    def _runs(self, table: pd.DataFrame, first: int) -> Iterator[ExportedRun]:
        identity = [name for name in IDENTITY if name in table.columns]
        rows = table[list(dict.fromkeys((*identity, *self.factors)))]
        for number, row in enumerate(rows.to_dict("records"), first):
            values = {"run": number} | {
                name: row[name] for name in identity if not wording.is_missing(row[name])
            }
            yield ExportedRun(
                {name: _plain(value) for name, value in values.items() if name != "started"},
                {f: wording.text(row[f]) for f in self.factors if not wording.is_missing(row[f])},
                _seconds(values.get("started")),
            )

    def runs(self) -> Iterator[ExportedRun]:
        """Find the last attempt at each run.

        Yields:
            Each run, in the order of `batches`; with `figures` if the run is ok.
        """
        for batch in self.batches():
            columns = {m.column: batch.figures(m.column).to_pylist() for m in self.metrics}
            for place, run in enumerate(batch.runs):
                texts = {name: values[place] for name, values in columns.items()}
                figures = {name: float(text) for name, text in texts.items() if text is not None}
                yield replace(run, figures=figures)

    def csv(self) -> Iterator[str]:
        """Format all attempts as CSV.

        Yields:
            The text of each piece; the first one has the header.
        """
        for number, piece in enumerate(self.pieces() if self.pieces else (self.frame,)):
            yield spreadsheets.to_csv(piece, header=number == 0)


def _attempts(frame: pd.DataFrame) -> np.ndarray:
    """Return a number for each attempt that identifies run and attempt.

    The numbers save memory: tuples of a million runs would take 100 MB.
    """
    number: np.ndarray = frame["run"].to_numpy(np.int64) * 2**20 + frame["attempt"].to_numpy()
    return number


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _seconds(started: Any) -> float | None:
    try:
        stamp = pd.Timestamp(started)
    except (TypeError, ValueError):
        return None
    return None if pd.isna(stamp) else float(stamp.timestamp())
