"""What is exported: the runs of a frame, their metrics with units, their factors as labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netlimits.metrics import IDENTITY, Metric, metric

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ExportedRun:
    """One run's last attempt: what it is, its factors as texts, its figures by column.

    `started` is in seconds since 1970, None where that is not known. A run that is not ok has a
    `reason` and no figures.
    """

    identity: Mapping[str, Any]
    labels: Mapping[str, str]
    figures: Mapping[str, float]
    started: float | None

    @property
    def ok(self) -> bool:
        """Whether it counts."""
        return bool(self.identity.get("status", "ok") == "ok")


@dataclass(frozen=True)
class Runs:
    """A frame of runs under a name; `factors` are those columns that tell configurations apart.

    `pieces` are its rows, with all columns, where they are too many for a frame.
    """

    name: str
    frame: pd.DataFrame
    factors: Sequence[str]
    pieces: Iterable[pd.DataFrame] | None = None

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that some run has, in the order of METRICS."""
        from netlimits.analysis import frames

        return tuple(metric(name) for name in frames.measured(self.frame))

    def runs(self) -> Iterator[ExportedRun]:
        """Each run's last attempt, in their order."""
        from netlimits.analysis import wording

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

    def _figures(self, row: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
        for of in self.metrics:
            value = row[of.column]
            if isinstance(value, int | float) and math.isfinite(value):
                yield of.column, value


def unit_suffix(of: Metric) -> str:
    """The unit as it stands in the column's name: `mbps`, `us_per_kib`, or nothing."""
    return of.column.removeprefix(of.name).removeprefix("_")


def _plain(value: Any) -> Any:
    """The value without numpy's types."""
    return value.item() if hasattr(value, "item") else value


def _seconds(started: Any) -> float | None:
    """Seconds since 1970 of a time, or of its text in a CSV file."""
    import pandas as pd

    try:
        stamp = pd.Timestamp(started)
    except (TypeError, ValueError):
        return None
    return None if pd.isna(stamp) else float(stamp.timestamp())
