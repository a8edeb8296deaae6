"""Runs in DuckDB: what an analysis asks of more of them than memory holds.

An analysis of a relation is the same as of a frame: what tells configurations apart is judged by
their `sketch`, a frame of two rows of each kind there is, and figures come cell by cell, as arrays
of all their runs (`samples`), 8 bytes a run for the one column at work. What is only counted
(`counted`) is counted by DuckDB.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from netlimits.analysis import frames, wording
from netlimits.metrics import metric
from netlimits.model import OUTCOMES

if TYPE_CHECKING:
    import duckdb

BATCH = 1 << 20
"""Rows that come from DuckDB at once."""

_SIGNS = (
    *("transaction_rate_tps", "local_recv_throughput_mbps", "remote_send_throughput_mbps"),
    *("local_send_throughput_mbps", "remote_recv_throughput_mbps"),
)
"""Columns by which frames.direction judges: what matters is where they are above zero."""

_TOLD = ("config", "campaign", "status", "shared_kernel", "paced_by")
"""Columns of which a sketch has every value, beside factors and derived values."""

_NUMBERS = itertools.count(1)
_RUNS = "runs of this kind"

FEW = 200
"""Attempts that are named one by one, where others took their place."""

Key = tuple[Any, ...]


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
        return replace(self, rows=self.rows.filter(condition), attrs=self._of_some)

    def without(self, *columns: str) -> Relation:
        """All but these columns."""
        kept = ", ".join(quoted(name) for name in self.columns if name not in columns)
        return replace(self, rows=self.rows.project(kept))

    def frame(self) -> pd.DataFrame:
        """All of it as a frame, which has to fit into memory."""
        frame = self.rows.to_arrow_table().to_pandas()
        frame.attrs.update(self.attrs)
        return frame

    @property
    def _of_some(self) -> dict[str, Any]:
        """The attributes of a part: nobody knows which other runs were planned of it."""
        return {name: value for name, value in self.attrs.items() if name != "planned"}

    @cached_property
    def last(self) -> duckdb.DuckDBPyRelation:
        """One row a run, as frames.last_attempts has it."""
        run = [name for name in ("campaign", "run") if name in self.columns]
        if "run" not in run or "attempt" not in self.columns:
            return self.rows
        again = self.rows.query("runs", "select 1 from runs where attempt > 1 limit 1")
        if not again.fetchall():
            return self.rows
        keys = ", ".join(run)
        order = "attempt desc"
        if "status" in self.columns:
            order = f"(status <> 'interrupted') desc, {order}"
        superseded = self.rows.query(
            "runs",
            f"select {keys}, attempt from (select {keys}, attempt, row_number() over "
            f"(partition by {keys} order by {order}) as place from runs semi join "
            f"(select {keys} from runs where attempt > 1) using ({keys})) where place > 1",
        ).to_arrow_table()
        if superseded.num_rows > FEW:
            table = self._beside(superseded)
            of_rows = f"select * from runs anti join {table} using ({keys}, attempt)"
            return self.rows.query("runs", of_rows)
        if not superseded.num_rows:
            return self.rows
        numbers = ", ".join(map(str, superseded.column("run").to_pylist()))
        names = [*run, "attempt"]
        rows = zip(*(superseded.column(name).to_pylist() for name in names), strict=True)
        each = " or ".join(
            "(" + " and ".join(f"{n} = {_literal(v)}" for n, v in zip(names, row, strict=True)) + ")"
            for row in rows
        )
        return self.rows.filter(f"run not in ({numbers}) or not ({each})")

    def _beside(self, table: pa.Table) -> str:
        """The name under which a table stands beside the runs, for as long as the connection."""
        name = f"beside_{next(_NUMBERS)}"
        self.connection.register(name, table)
        return name

    @cached_property
    def labels(self) -> list[str]:
        """The columns that were varied, as frames.varied names them."""
        head = pd.DataFrame(columns=self.columns)
        head.attrs.update(self.attrs)
        return frames.varied(head)

    def sketch(self, figures: Sequence[str] = ()) -> pd.DataFrame:
        """A frame that stands for the runs where only their kinds matter, of last attempts.

        Two rows of each combination of labels, status and direction (one, where there is but one
        run): a column that is there but is none of those has a value for the `figures` alone, some
        run's of that combination.
        """
        kinds = self._grouped(frozenset(figures) & {*self.columns})
        rows = kinds.drop(columns=[_RUNS]).reindex(columns=self.columns)
        rows = rows.drop(columns=["run", "attempt"], errors="ignore")
        twice = np.repeat(np.arange(len(kinds)), np.minimum(kinds[_RUNS], 2))
        sketch = rows.iloc[twice].reset_index(drop=True)
        sketch.attrs.update(self._of_some)
        return sketch

    def _grouped(self, figures: frozenset[str]) -> pd.DataFrame:
        """The kinds of runs that a sketch is of, and of how many runs each is (_RUNS)."""
        for known, kinds in self._sketches.items():
            if figures <= known:
                return kinds
        told = [name for name in self.columns if name in self.labels or name in _TOLD]
        above = {
            name: f"coalesce(try_cast({quoted(name)} as double) > 0, false)"
            for name in self.columns
            if name in _SIGNS and name not in told
        }
        values = [n for n in self.columns if n in figures and n not in told and n not in above]
        selected = [
            *(f"runs.{quoted(n)}" for n in told),
            *(f"{sign}::double as {quoted(n)}" for n, sign in above.items()),
            *(f"any_value(runs.{quoted(n)}) as {quoted(n)}" for n in values),
            f"count(*) as {quoted(_RUNS)}",
        ]
        grouped = [*(f"runs.{quoted(n)}" for n in told), *above.values()]
        by = f" group by {', '.join(grouped)}" if grouped else ""
        if grouped and "run" in self.columns:
            by += " order by min(runs.run)"
        kinds = self.last.query("runs", f"select {', '.join(selected)} from runs{by}")
        kinds = kinds.to_arrow_table().to_pandas()
        self._sketches[figures] = kinds
        return kinds

    @cached_property
    def _sketches(self) -> dict[frozenset[str], pd.DataFrame]:
        return {}

    def _counts(self, keys: Sequence[str], only: Sequence[str]) -> pd.DataFrame:
        """How many runs (_RUNS) of these outcomes each combination of the keys' values has."""
        kinds = self._grouped(frozenset())
        if not {*keys} <= {*kinds.columns}:
            names = ", ".join(map(quoted, keys))
            where = f" where status in {(*only, '')}" if "status" in self.columns else ""
            counted = f'select {names}, count(*) as "{_RUNS}" from runs{where} group by {names}'
            return self.last.query("runs", counted).to_arrow_table().to_pandas()
        if "status" in kinds.columns:
            kinds = kinds[kinds["status"].isin(only)]
        if not keys:
            return pd.DataFrame({_RUNS: [int(kinds[_RUNS].sum())]}).loc[lambda t: t[_RUNS] > 0]
        grouped = kinds.groupby([*keys], sort=False, dropna=False, observed=True)
        return grouped[_RUNS].sum().reset_index()

    def counted(self, **expressions: str) -> dict[str, Any]:
        """The value of each expression of SQL over the last attempts, by its name."""
        selected = ", ".join(f"{sql} as {name}" for name, sql in expressions.items())
        row = self.last.query("runs", f"select {selected} from runs").fetchall()[0]
        return dict(zip(expressions, row, strict=True))

    @cached_property
    def outcomes(self) -> dict[str, int]:
        """How many runs came to what, the most frequent first."""
        kinds = self._grouped(frozenset())
        if "status" not in kinds.columns:
            return {"ok": int(kinds[_RUNS].sum())}
        counts = kinds.groupby("status", sort=False)[_RUNS].sum().sort_values(ascending=False)
        return {str(name): int(count) for name, count in counts.items()}

    @property
    def without_outcome(self) -> int:
        """How many runs have none, those of the plan that never began included."""
        runs = self.attrs.get("planned", [sum(self.outcomes.values())])[0]
        return max(0, runs - sum(self.outcomes.get(name, 0) for name in OUTCOMES))

    def breaks(self, least: float) -> list[float]:
        """Seconds between a run's end and the start of the next one, where they are more than that.

        Of all runs in their order no two stand in memory: of those that start within half of that
        time of each other only the first and the last can be beside such a break.
        """
        start = "epoch(started::timestamptz)"
        ended = f"{start} + coalesce(duration_s, 0)"
        known = "started is not null and (duration_s is not null or status = 'interrupted')"
        bins = self.last.query(
            "runs",
            f"select min({start}) as first, arg_max({ended}, started) as last from runs "
            f"where {known} group by floor({start} / {least / 2}) order by first",
        ).fetchall()
        gaps = (after[0] - before[1] for before, after in itertools.pairwise(bins))
        return [gap for gap in gaps if gap > least]

    @property
    def ok(self) -> str:
        """The condition that a run counts, in SQL."""
        return "status = 'ok'" if "status" in self.columns else "true"

    @cached_property
    def in_blocks(self) -> bool:
        """Whether its runs stand in blocks (analysis.contrasts.blocks), of one campaign."""
        if "block" not in self.columns or "campaign" in self.columns:
            return False
        told = self.counted(known="count(*) = count(block)", several="min(block) <> max(block)")
        return bool(told["known"] and told["several"])

    def tried(self, keys: Sequence[str]) -> dict[Key, tuple[Key, int]]:
        """For each combination of values, as it hashes: the values, and how many have an outcome."""
        return _by_key(self._counts(keys, OUTCOMES), keys)

    def good(self, keys: Sequence[str]) -> dict[Key, tuple[Key, int]]:
        """The same of runs that are ok."""
        return _by_key(self._counts(keys, ("ok",)), keys)

    def samples(
        self, keys: Sequence[str], columns: Sequence[str]
    ) -> dict[Key, tuple[np.ndarray, ...]]:
        """For each combination of the keys' values the columns' values, an array each.

        Of the runs that are ok. A missing value is NaN.
        """
        cells = self._counts(keys, ("ok",))
        counts = cells[_RUNS].to_numpy()
        table = pa.Table.from_pandas(cells[[*keys]].assign(code=np.arange(len(counts), dtype=np.int32)))
        codes = self._beside(table)
        matched = " and ".join(
            f"runs.{quoted(n)} is not distinct from {codes}.{quoted(n)}" for n in keys
        )
        values = ", ".join(self._number(name) for name in columns)
        read = f"select code, {values} from runs join {codes} on {matched or 'true'} where {self.ok}"
        kinds = [np.int32 if name == "block" else np.float64 for name in columns]
        arrays = [np.empty(int(counts.sum()), kind) for kind in kinds]
        filled = np.cumsum(counts) - counts
        begins = filled.copy()
        for batch in self.last.query("runs", read).to_arrow_reader(BATCH):
            cell = batch.column(0).to_numpy(zero_copy_only=False)
            order = np.argsort(cell, kind="stable")
            firsts = np.flatnonzero(np.diff(cell[order], prepend=-1))
            for rows in np.split(order, firsts[1:]) if len(order) else ():
                code = cell[rows[0]]
                for array, values_of in zip(arrays, batch.columns[1:], strict=True):
                    part = values_of.to_numpy(zero_copy_only=False)[rows]
                    array[filled[code] : filled[code] + len(rows)] = part
                filled[code] += len(rows)
        self.connection.unregister(codes)
        every = [*zip(*(cells[name] for name in keys), strict=True)] if keys else [()] * len(cells)
        return {
            key: tuple(array[begin : begin + count] for array in arrays)
            for key, begin, count in zip(every, begins.tolist(), counts.tolist(), strict=True)
        }

    def figures(
        self, keys: tuple[str, ...], column: str, paired: bool = False
    ) -> dict[Key, np.ndarray]:
        """The values of one column by the keys as they hash, kept until others are asked for."""
        kept = self._kept
        if (column, keys) not in kept:
            kept.clear()
            columns = [column, *(["block"] if paired else [])]
            samples = self.samples(keys, columns)
            for place, name in enumerate(columns):
                kept[name, keys] = {_hashed(key): v[place] for key, v in samples.items()}
        return kept[column, keys]

    @cached_property
    def _kept(self) -> dict[tuple[str, tuple[str, ...]], dict[Key, np.ndarray]]:
        return {}

    def _number(self, column: str) -> str:
        if column == "block":
            return "runs.block"
        own = frames.tools_own_of(self.columns, column)
        names = [name for name in dict.fromkeys((column, *own)) if name in self.columns]
        return f"cast(coalesce({', '.join(f'runs.{quoted(n)}' for n in names)}) as double)"


class Part:
    """The runs of one configuration: a column of them is read when it is asked for.

    The figures of all configurations are read at once, those of one metric and, of sides that are
    `paired`, the blocks.
    """

    def __init__(
        self, runs: Relation, factors: Sequence[str], key: Key, count: int, paired: bool = False
    ) -> None:
        self.runs, self.factors, self.key, self.count = runs, factors, key, count
        self.paired = paired

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.runs.columns

    def __len__(self) -> int:
        return self.count

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def __getitem__(self, column: str) -> pd.Series[Any]:
        """A metric of the runs that are ok, or their blocks."""
        values = self.runs.figures(tuple(self.factors), column, self.paired)
        return pd.Series(values[_hashed(self.key)])

    @property
    def outcomes(self) -> pd.DataFrame:
        """Status and reason of those that are not ok: as many rows as there are of each."""
        names = [name for name in ("status", "reason") if name in self.columns]
        of_key = " and ".join(
            f"{quoted(n)} is not distinct from {_literal(v)}"
            for n, v in zip(self.factors, _hashed(self.key), strict=True)
        )
        rows = f"select {', '.join(names)} from runs where {of_key or 'true'} and not ({self.runs.ok})"
        return self.runs.last.query("runs", rows).to_arrow_table().to_pandas()


def quoted(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _by_key(counts: pd.DataFrame, keys: Sequence[str]) -> dict[Key, tuple[Key, int]]:
    rows = zip(*(counts[name] for name in (*keys, _RUNS)), strict=True)
    return {_hashed(row[:-1]): (row[:-1], int(row[-1])) for row in rows}


def _hashed(key: Key) -> Key:
    return tuple(None if wording.is_missing(value) else value for value in key)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(value)


Runs: TypeAlias = pd.DataFrame | Relation
"""What an analysis takes: a frame, or a relation."""


def sketched(runs: Runs, of: str | Sequence[str] = ()) -> pd.DataFrame:
    """What stands for the runs where only their kinds matter: of a frame itself."""
    if isinstance(runs, pd.DataFrame):
        return runs
    figures = []
    for name in [of] if isinstance(of, str) else of:
        column = metric(name).column
        figures += [column, f"netperf_{column}", *frames.tools_own_of(runs.columns, column)]
    return runs.sketch(figures)
