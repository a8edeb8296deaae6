"""The input of every export format: runs with their metrics, units and factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from netlimits.analysis import defaults, frames, wording
from netlimits.analysis.sources import spreadsheets
from netlimits.metrics import IDENTITY, Metric, metric


@dataclass(frozen=True)
class ExportedRun:
    """The last attempt of a run.

    Attributes:
        identity: The columns of `metrics.IDENTITY` that the run has, such as `run` and `status`.
        labels: Factor -> its value as text.
        figures: Column -> value; empty unless the run is ok.
        started: Seconds since 1970, None if unknown.
    """

    identity: Mapping[str, Any]
    labels: Mapping[str, str]
    figures: Mapping[str, float]
    started: float | None

    @property
    def ok(self) -> bool:
        """True if the run's figures count."""
        return bool(self.identity.get("status", "ok") == "ok")


@dataclass(frozen=True)
class Runs:
    """A frame of runs to export.

    Attributes:
        name: Name of the experiment.
        frame: A row for each attempt.
        factors: Columns that distinguish the configurations.
        pieces: The same rows with all columns, in several frames, for a campaign that does not
            fit into one frame. Only CSV reads them.
        campaigns: Name of each joined campaign -> its unique id, and the number of runs before
            its first; a single campaign has the name "".
        tool: The tool of all runs, "" if they differ or it is unknown.
    """

    name: str
    frame: pd.DataFrame
    factors: Sequence[str]
    pieces: Iterable[pd.DataFrame] | None = None
    campaigns: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tool: str = ""

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that at least one run has, in the order of METRICS."""
        return tuple(metric(name) for name in frames.measured(self.frame))

    @cached_property
    def headlines(self) -> tuple[Metric, ...]:
        """Those of a default table, as far as they have a better direction."""
        return tuple(m for m in map(metric, defaults.metrics(self.frame)) if m.better)

    def runs(self) -> Iterator[ExportedRun]:
        """Yield the last attempt of each run."""
        frame = self.frame
        if {"run", "attempt"} <= set(frame.columns):
            frame = frame.sort_values(["run", "attempt"]).drop_duplicates("run", keep="last")
        identity = [name for name in IDENTITY if name in frame.columns]
        for number, row in enumerate(frame.to_dict("records"), 1):
            values = {"run": number} | {
                name: row[name] for name in identity if not wording.is_missing(row[name])
            }
            yield ExportedRun(
                {name: _plain(value) for name, value in values.items() if name != "started"},
                {f: wording.text(row[f]) for f in self.factors if not wording.is_missing(row[f])},
                {} if values.get("status", "ok") != "ok" else dict(self._figures(row)),
                _seconds(values.get("started")),
            )

    def csv(self) -> Iterator[str]:
        """Yield all attempts as CSV text, some thousand rows at a time for a large campaign."""
        for number, piece in enumerate(self.pieces or (self.frame,)):
            yield spreadsheets.to_csv(piece, header=number == 0)

    def _figures(self, row: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
        for measured in self.metrics:
            value = row[measured.column]
            if isinstance(value, int | float) and math.isfinite(value):
                yield measured.column, value


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _seconds(started: Any) -> float | None:
    """Convert a time, or its text in a CSV file, to seconds since 1970."""
    try:
        stamp = pd.Timestamp(started)
    except (TypeError, ValueError):
        return None
    return None if pd.isna(stamp) else float(stamp.timestamp())
