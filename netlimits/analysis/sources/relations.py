"""Runs in DuckDB: more of them than memory holds.

An analysis of a relation is the same as of a frame: what tells configurations apart is judged by a
frame of two rows of each kind there is (`sketches`), and figures come as arrays of all runs
of a cell, one column at a time (`streams`). What is only counted, DuckDB counts.
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
"""Attempts that are named one by one, where others took their place."""

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Relation:
    """Runs, one row an attempt: `rows` is DuckDB's relation, `attrs` are those of such a frame.

    Rows stand in no order. A campaign's comes from `campaign.relation()`.
    """

    rows: duckdb.DuckDBPyRelation
    connection: duckdb.DuckDBPyConnection
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.rows.columns

    def filter(self, condition: str) -> Relation:
        """The rows for which a condition of SQL holds."""
        return replace(self, rows=self.rows.filter(condition), attrs=self.attrs_of_some)

    def without(self, *columns: str) -> Relation:
        """All but these columns."""
        kept = ", ".join(quoted(name) for name in self.columns if name not in columns)
        return replace(self, rows=self.rows.project(kept))

    def frame(self) -> pd.DataFrame:
        """All of it as a frame, which has to fit into memory."""
        frame = frame_of(self.rows)
        frame.attrs.update(self.attrs)
        return frame

    @property
    def attrs_of_some(self) -> dict[str, Any]:
        """The attributes of a part of it: nobody knows which other runs were planned of that."""
        return {name: value for name, value in self.attrs.items() if name != "planned"}

    @cached_property
    def labels(self) -> list[str]:
        """The columns that were varied, as frames.varied names them."""
        head = pd.DataFrame(columns=self.columns)
        head.attrs.update(self.attrs)
        return frames.varied(head)

    @property
    def ok(self) -> str:
        """The condition that a run counts, in SQL."""
        return "status = 'ok'" if "status" in self.columns else "true"

    @cached_property
    def last(self) -> duckdb.DuckDBPyRelation:
        """One row a run, as frames.last_attempts has it."""
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
            others = f"anti join {self.beside(superseded)} using ({', '.join(names)})"
            return answer(self.rows, f"select * from runs {others}")
        each = " or ".join(
            f"({' and '.join(f'{name} = {literal(row[name])}' for name in names)})"
            for row in superseded.to_pylist()
        )
        numbers = ", ".join(map(str, superseded.column("run").to_pylist()))
        return self.rows.filter(f"run not in ({numbers}) or not ({each})")

    def _superseded(self, run: str) -> pa.Table:
        """The attempts of which another one of the same run has taken the place."""
        order = "attempt desc"
        if "status" in self.columns:
            order = f"(status <> 'interrupted') desc, {order}"
        place = f"row_number() over (partition by {run} order by {order})"
        again = f"(select {run} from runs where attempt > 1)"
        of_runs = (
            f"select {run}, attempt, {place} as place from runs semi join {again} using ({run})"
        )
        query = f"select {run}, attempt from ({of_runs}) where place > 1"
        return answer(self.rows, query).to_arrow_table()

    def beside(self, table: pa.Table) -> str:
        """The name under which a table stands beside the runs, for as long as the connection."""
        name = f"beside_{next(_NUMBERS)}"
        self.connection.register(name, table)
        return name

    def counted(self, **expressions: str) -> dict[str, Any]:
        """The value of each expression of SQL over the last attempts, by its name."""
        selected = ", ".join(f"{sql} as {name}" for name, sql in expressions.items())
        row = answer(self.last, f"select {selected} from runs").fetchall()[0]
        return dict(zip(expressions, row, strict=True))

    def breaks(self, least: float) -> list[float]:
        """Seconds between a run's end and the start of the next one, where they are more than that.

        Of all runs in their order no two stand in memory: of those that start within half of that
        time of each other only the first and the last can be beside such a break.
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
        """Whether its runs stand in blocks (analysis.frames.blocks), of one campaign."""
        if "block" not in self.columns or "campaign" in self.columns:
            return False
        told = self.counted(known="count(*) = count(block)", several="min(block) <> max(block)")
        return bool(told["known"] and told["several"])

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What was read of it and may be asked for again, by who keeps it and of what it is."""
        return {}


Runs: TypeAlias = pd.DataFrame | Relation
"""What an analysis takes: a frame, or a relation."""


def answer(rows: duckdb.DuckDBPyRelation, query: str) -> duckdb.DuckDBPyRelation:
    """What a query of `runs` comes to."""
    told = rows.query("runs", query)
    assert told is not None  # every query selects
    return told


def frame_of(rows: duckdb.DuckDBPyRelation) -> pd.DataFrame:
    """A relation as a frame. DuckDB's own way to one does what pandas no longer likes."""
    frame: pd.DataFrame = rows.to_arrow_table().to_pandas()
    return frame


def quoted(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A text, a number or nothing in SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(value)
