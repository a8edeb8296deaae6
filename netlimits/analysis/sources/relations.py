"""Runs in DuckDB, when they are too many for memory.

The factors are found in a small frame: two rows for each combination of labels, status and
direction (`sketches`). Figures are read as arrays, one column of all runs at a time (`streams`).
Runs are counted in DuckDB.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import pyarrow as pa

from netlimits.analysis import frames

if TYPE_CHECKING:
    import duckdb

FEW = 200
"""Maximum number of superseded attempts that a query names one by one."""

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Relation:
    """Runs, a row for each attempt, in no order (`campaign.relation()`).

    Attributes:
        rows: The relation in DuckDB.
        connection: The connection that `rows` belongs to.
        attrs: The `attrs` of a frame of the same runs.
    """

    rows: duckdb.DuckDBPyRelation
    connection: duckdb.DuckDBPyConnection
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.rows.columns

    def filter(self, condition: str) -> Relation:
        """Select rows.

        Args:
            condition: An SQL condition, such as "send_size > 1024".

        Returns:
            The rows for which the condition holds.
        """
        return replace(self, rows=self.rows.filter(condition), attrs=self.attrs_without_planned)

    def without(self, *columns: str) -> Relation:
        """Leave out columns.

        Args:
            columns: Names of columns. Names that are not columns are ignored.

        Returns:
            All rows, with the other columns.
        """
        kept = ", ".join(quoted(name) for name in self.columns if name not in columns)
        return replace(self, rows=self.rows.project(kept))

    def frame(self) -> pd.DataFrame:
        """Read all rows, which must fit into memory.

        Returns:
            A row for each attempt, in no order, with the `attrs` of the relation.
        """
        frame = frame_of(self.rows)
        frame.attrs.update(self.attrs)
        return frame

    @property
    def attrs_without_planned(self) -> dict[str, Any]:
        """The `attrs` for a selection of rows, without the number of planned runs of all rows."""
        return {name: value for name, value in self.attrs.items() if name != "planned"}

    @cached_property
    def labels(self) -> list[str]:
        """The columns that were varied, as in `frames.varied`."""
        head = pd.DataFrame(columns=self.columns)
        head.attrs.update(self.attrs)
        return frames.varied(head)

    @property
    def ok(self) -> str:
        """SQL condition for a run that counts."""
        return "status = 'ok'" if "status" in self.columns else "true"

    @cached_property
    def last(self) -> duckdb.DuckDBPyRelation:
        """The last attempt of each run, as in `attempts.last_attempts`."""
        run = [name for name in ("campaign", "run") if name in self.columns]
        if "run" not in run or "attempt" not in self.columns:
            return self.rows
        if not answer(self.rows, "select 1 from runs where attempt > 1 limit 1").fetchall():
            return self.rows
        superseded = self._superseded(", ".join(run))
        if not superseded.num_rows:
            return self.rows
        names = [*run, "attempt"]
        if superseded.num_rows > FEW:
            others = f"anti join {self.register(superseded)} using ({', '.join(names)})"
            return answer(self.rows, f"select * from runs {others}")
        each = " or ".join(
            f"({' and '.join(f'{name} = {literal(row[name])}' for name in names)})"
            for row in superseded.to_pylist()
        )
        numbers = ", ".join(map(str, superseded.column("run").to_pylist()))
        return self.rows.filter(f"run not in ({numbers}) or not ({each})")

    def _superseded(self, run: str) -> pa.Table:
        """Return the superseded attempts: all except the attempt that counts."""
        order = "attempt desc"
        if "status" in self.columns:
            order = f"(status <> 'interrupted') desc, {order}"
        place = f"row_number() over (partition by {run} order by {order})"
        repeated = f"(select {run} from runs where attempt > 1)"
        of_runs = (
            f"select {run}, attempt, {place} as place from runs semi join {repeated} using ({run})"
        )
        query = f"select {run}, attempt from ({of_runs}) where place > 1"
        return answer(self.rows, query).to_arrow_table()

    def register(self, table: pa.Table) -> str:
        """Register a table with the connection.

        Args:
            table: The table that queries may read.

        Returns:
            Its name for queries.
        """
        name = f"registered_{next(_NUMBERS)}"
        self.connection.register(name, table)
        return name

    def evaluate(self, **expressions: str) -> dict[str, Any]:
        """Evaluate SQL expressions over the last attempts.

        Args:
            expressions: Name -> SQL of an aggregate, such as "count(*)".

        Returns:
            Name -> value.
        """
        selected = ", ".join(f"{sql} as {name}" for name, sql in expressions.items())
        row = answer(self.last, f"select {selected} from runs").fetchall()[0]
        return dict(zip(expressions, row, strict=True))

    def breaks(self, least: float) -> list[float]:
        """Find the pauses between a run's end and the next start.

        Runs are grouped by start into bins of `least / 2` seconds, within which no pause can be
        long enough. DuckDB returns only the first start of each bin, and the end of its last run.

        Args:
            least: Seconds that a pause must exceed.

        Returns:
            Lengths of the pauses in seconds, in order of time.
        """
        start = "epoch(started::timestamptz)"
        ended = f"{start} + coalesce(duration_s, 0)"
        known = "started is not null and duration_s is not null"
        if "status" in self.columns:
            known = f"{known} or started is not null and status = 'interrupted'"
        bins = answer(
            self.last,
            f"select min({start}) as first, arg_max({ended}, started) as last from runs "
            f"where {known} group by floor({start} / {least / 2}) order by first",
        ).fetchall()
        gaps = (after[0] - before[1] for before, after in itertools.pairwise(bins))
        return [gap for gap in gaps if gap > least]

    @cached_property
    def in_blocks(self) -> bool:
        """True if the runs have blocks (`frames.blocks`) of one campaign."""
        if "block" not in self.columns or "campaign" in self.columns:
            return False
        counts = self.evaluate(known="count(*) = count(block)", several="min(block) <> max(block)")
        return bool(counts["known"] and counts["several"])

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """Results that other modules store with the relation, by a name of their own."""
        return {}


Runs: TypeAlias = pd.DataFrame | Relation
"""What analyses accept: a frame, or a relation."""


def answer(rows: duckdb.DuckDBPyRelation, query: str) -> duckdb.DuckDBPyRelation:
    """Run a query over `runs`."""
    result = rows.query("runs", query)
    assert result is not None  # every query selects
    return result


def frame_of(rows: duckdb.DuckDBPyRelation) -> pd.DataFrame:
    """Return a relation as a frame, by way of Arrow: DuckDB's `df` uses deprecated pandas."""
    frame: pd.DataFrame = rows.to_arrow_table().to_pandas()
    return frame


def quoted(column: str) -> str:
    """Return a column's name as SQL."""
    return '"' + column.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a text, a number or None as SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(value)
