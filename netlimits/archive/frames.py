"""The journal as frames: `results.csv` and `results.parquet`, one row an attempt.

Columns, in this order: what the row is (IDENTITY), the factors, the derived values, the metrics,
each with its unit in its name. Both files can be deleted: they are made from the journal.
`results.json` has the checksums of the Parquet file and of all that it was made of; it is read only
while every one of them holds, and else made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from netlimits import __version__
from netlimits.analysis import spreadsheets
from netlimits.analysis.column_roles import ColumnNames, roles
from netlimits.archive.checksums import digest, made_of
from netlimits.archive.parts import Part, apart
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveUnwritable, one_line
from netlimits.metrics import IDENTITY, METRICS
from netlimits.model import Experiment, Record, Run

if TYPE_CHECKING:
    from netlimits.archive.chunks import Chunk

MADE_OF = ("journal.jsonl", "campaign.json", "experiment.yaml", "against.yaml", "plan.csv")
"""The files that say what a frame holds; an imported campaign has the first two."""

_WIDEST = 2**63
"""Integers from here on fit no column."""


def kept(archive: Archive) -> pd.DataFrame | None:
    """The frame in `results.parquet`; None where a file that it was made of has changed since."""
    import pyarrow as pa

    folder = archive.folder
    try:
        sources = made_of(folder)
        if (
            not sources
            or sources["netlimits"] != __version__
            or sources["files"] != _digests(archive)
        ):
            return None
        with folder.reader("results.parquet") as file:
            table = pd.read_parquet(file)
        table.attrs["columns"] = roles(**table.attrs["columns"])
        return table
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None


def frame(
    experiment: Experiment, records: Iterable[Record], shared_kernel: bool | None
) -> pd.DataFrame:
    """One row an attempt, in the order of `records`.

    `attrs["columns"]` tells `factors`, `derived` values and `metrics` apart; Parquet keeps it.
    """
    rows = [_row(record, shared_kernel) for record in records]
    factors, derived = list(_factors(experiment)), list(experiment.derive)
    metrics = _metrics((name for row in rows for name in row), experiment)
    columns = [*IDENTITY, *factors, *derived, *metrics]
    labels = {*factors, *derived}
    for name in columns:
        one_type(rows, name, name in labels)
    table = pd.DataFrame(rows, columns=columns)
    table.attrs["columns"] = roles(factors, derived, metrics)
    table["started"] = pd.to_datetime(table["started"], unit="s", utc=True)
    return table


def rolled_frame(
    archive: Archive,
    parts: Sequence[Part],
    experiment: Experiment,
    shared_kernel: bool | None,
    chosen: Collection[str] | None = None,
    *,
    coded: bool = False,
) -> pd.DataFrame:
    """The same of a campaign with parts, all columns or the `chosen` ones of them.

    `attrs["narrowed"]` has the columns that were left out. Text that is `coded` comes as
    categories. Raises rolled.Unlike where only the journal tells.
    """
    from netlimits.archive import chunks, rolled

    at_once = _at_once(parts)
    besides = ("started",) if at_once else ()
    always = {*chunks.KEY, *_factors(experiment), *experiment.derive, *besides}
    of_attempts = chunks.attempts(archive, parts, None if chosen is None else always | {*chosen})
    names, attrs = layout(of_attempts, experiment, chosen, besides)
    constant = {"shared_kernel": shared_kernel}
    labels = frozenset((*attrs["columns"]["factors"], *attrs["columns"]["derived"]))
    table, rows = rolled.frame(of_attempts, names, labels, constant, coded=coded)
    table, rows = rolled.last_told(table, rows)
    if at_once:
        table, _ = rolled.as_started(table, rows)
    table.attrs.update(attrs)
    if "started" in table.columns:
        table["started"] = pd.to_datetime(table["started"], unit="s", utc=True)
    return table


def layout(
    of_attempts: Sequence[Chunk],
    experiment: Experiment,
    chosen: Collection[str] | None = None,
    besides: Collection[str] = (),
) -> tuple[list[str], dict[str, Any]]:
    """The columns of a campaign's rows, all or the `chosen` ones, and what `attrs` say of them.

    Those that tell a row from others are always among them, as are those `besides`.
    """
    from netlimits.archive import chunks

    factors, derived = list(_factors(experiment)), list(experiment.derive)
    metrics = _metrics(chunks.names(of_attempts), experiment)
    every = [*IDENTITY, *factors, *derived, *metrics]
    always = {*chunks.KEY, *factors, *derived, *besides}
    names = [n for n in every if chosen is None or n in chosen or n in always]
    attrs: dict[str, Any] = {"columns": roles(factors, derived, metrics)}
    if left := [name for name in every if name not in names]:
        attrs["narrowed"] = ColumnNames(left)
    return names, attrs


def pieces(
    archive: Archive, parts: Sequence[Part], experiment: Experiment, shared_kernel: bool | None
) -> Iterator[pd.DataFrame]:
    """The same, a frame a part, as long as an attempt is told of once and a label is of one kind.

    Integers stay integers in a column that other parts lack.
    """
    from netlimits.archive import chunks, rolled

    of_attempts = [chunk for chunk in chunks.attempts(archive, parts) if chunk.rows]
    labels = frozenset((*_factors(experiment), *experiment.derive))
    kinds = {(name, chunk.kinds.get(name)) for chunk in of_attempts for name in labels}
    if len(kinds) > len(labels) or not apart(parts, archive.tally(parts)):
        yield rolled_frame(archive, parts, experiment, shared_kernel)
        return
    metrics = _metrics(chunks.names(of_attempts), experiment)
    names = [*IDENTITY, *_factors(experiment), *experiment.derive, *metrics]
    for chunk in of_attempts:
        table, _ = rolled.frame([chunk], names, labels, {"shared_kernel": shared_kernel})
        table["started"] = pd.to_datetime(table["started"], unit="s", utc=True)
        yield table


def one_type(rows: list[dict[str, Any]], name: str, label: bool) -> None:
    """Give a column one type: a factor such as [0, "128K"] is text, and so is one of 10²⁹.

    What differed still differs then: of 1 and "1" the text is in quotes, and 1 and 1.0 are texts.
    """
    seen = {(type(v), v) for row in rows if (v := row.get(name)) is not None}
    kinds = {kind for kind, _ in seen}
    if str in kinds:
        _each(rows, name, lambda value: _unicode(value) if type(value) is str else value)
    wide = any(kind is int and not -_WIDEST <= value < _WIDEST for kind, value in seen)
    if kinds <= {int, float} and not label:
        if wide:
            _each(rows, name, float)
        return
    alike = kinds == {int, float} and len({value for _, value in seen}) < len(seen)
    if not wide and not alike and (len(kinds) < 2 or kinds == {int, float}):
        return
    taken = {str(value) for kind, value in seen if kind is not str}
    _each(rows, name, lambda value: _as_text(value, taken))


def _each(rows: list[dict[str, Any]], name: str, change: Callable[[Any], Any]) -> None:
    """Change every value of a column that is there."""
    for row in rows:
        if row.get(name) is not None:
            row[name] = change(row[name])


def _as_text(value: Any, taken: set[str]) -> str:
    """A value as text; a text that another value looks like is in quotes."""
    if type(value) is str and (value in taken or value[:1] == '"'):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _unicode(text: str) -> str:
    """The text as UTF-8 can hold it: half of a pair of surrogates is shown as `\\ud800`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def intervals(records: Sequence[Record]) -> pd.DataFrame:
    """One row an interim result: `run`, `attempt`, factors, `ending_s`, `interval_s`, the rate."""
    rows = [
        {"run": r.run.number, "attempt": r.attempt, "status": r.status, **r.run.values, **row}
        for r in records
        for row in r.interim
    ]
    return of_runs(pd.DataFrame(rows), (record.run for record in records))


def rolled_intervals(
    archive: Archive, parts: Sequence[Part], experiment: Experiment
) -> pd.DataFrame:
    """The interim results of a campaign with parts, as `intervals` has them."""
    from netlimits.archive import chunks, rolled

    labels = [*_factors(experiment), *experiment.derive]
    attempts = chunks.attempts(archive, parts)
    varied = [name for name in labels if name in chunks.names(attempts)]
    names = [*chunks.KEY, "status", *varied]
    read = [*names, "started"] if (at_once := _at_once(parts)) else names
    of_attempts, told_in = rolled.frame(attempts, read, frozenset(varied))
    of_attempts, told_in = rolled.last_told(of_attempts.assign(_chunk=told_in), told_in)
    if at_once:
        of_attempts, told_in = rolled.as_started(of_attempts, told_in)
    of_interim = chunks.interim(archive, parts)
    of_rows = [name for name in chunks.names(of_interim) if name not in chunks.KEY]
    rows, chunk = rolled.frame(of_interim, [*chunks.KEY, *of_rows])
    # a row's chunk is the one that told of its attempt last
    place = np.flatnonzero([c.rows for c in of_interim])
    told = np.flatnonzero([c.rows for c in attempts])
    of_attempts["_chunk"] = told[of_attempts["_chunk"].to_numpy()]
    merged = of_attempts.merge(rows.assign(_chunk=place[chunk]), on=[*chunks.KEY, "_chunk"])
    table = merged[[*names, *of_rows]]
    others = [name for name in table.columns if name not in varied]
    table.attrs["columns"] = roles(varied, [], others)
    return table


def _at_once(parts: Sequence[Part]) -> bool:
    """Whether attempts went on at the same time, so that parts have them as they ended."""
    return any(part.about["going"] for part in parts)


def of_runs(table: pd.DataFrame, runs: Iterable[Run]) -> pd.DataFrame:
    """A table of several rows a run, with what of it was varied in `attrs["columns"]`."""
    names = dict.fromkeys(name for run in runs for name in run.values)
    varied = [name for name in names if name in table.columns]
    others = [name for name in table.columns if name not in varied]
    table.attrs["columns"] = roles(varied, [], others)
    return table


def write(archive: Archive, table: pd.DataFrame, lines: int) -> tuple[Path, Path]:
    """Write a frame, made of so many `lines` of journal, as `results.csv` and `results.parquet`.

    Returns their paths. Raises ArchiveUnwritable when they cannot be written; the journal holds it
    all.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = archive.folder
    name = "results.json"
    try:
        folder.remove(name)  # what it says does not hold from here on
        name = "results.csv"
        with folder.whole(name) as file:
            file.write(spreadsheets.to_csv(table).encode("utf-8", "backslashreplace"))
        name = "results.parquet"
        with folder.whole(name) as file:
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
        name = "results.json"
        sources = {"netlimits": __version__, "lines": lines, "files": _digests(archive)}
        folder.write(name, json.dumps({**sources, "sha256": digest(sources)}, indent=1) + "\n")
    except OSError as error:
        raise ArchiveUnwritable(
            f"{archive.path / name}: {one_line(error)}; the journal holds every run: "
            f"`netlimits parse` makes the tables of it"
        ) from None
    return archive.path / "results.csv", archive.path / "results.parquet"


def remove(archive: Archive) -> None:
    """Remove what `write` wrote. Raises ArchiveUnwritable where it cannot be."""
    for name in ("results.json", "results.parquet", "results.csv"):
        try:
            archive.folder.remove(name)
        except OSError as error:
            raise ArchiveUnwritable(f"{archive.path / name}: {one_line(error)}") from None


def _digests(archive: Archive) -> dict[str, str]:
    """The checksums of the Parquet file and of all that it is made of."""
    existing = {path.name for path in archive.path.iterdir()}
    names = [name for name in (*MADE_OF, "results.parquet") if name in existing]
    return {name: archive.folder.digest(name) for name in names}


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


def _factors(experiment: Experiment) -> Iterator[str]:
    yield from experiment.factors
    for group in experiment.zips:
        yield from group


def _metrics(names: Iterable[str], experiment: Experiment) -> list[str]:
    """The metrics' columns among these: those of METRICS in its order, then the tools' own."""
    other = {*IDENTITY, *_factors(experiment), *experiment.derive}
    columns = dict.fromkeys(name for name in names if name not in other)
    metrics = [m.column for m in METRICS if m.column in columns]
    known = {*metrics}
    return [*metrics, *(name for name in columns if name not in known)]
