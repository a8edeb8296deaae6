"""Build frames of pandas from the parts and the journal's lines after them; write results.csv."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from netlimits import __version__
from netlimits.analysis.sources import spreadsheets
from netlimits.analysis.sources.joining import ColumnNames, roles
from netlimits.archive import columns, formats
from netlimits.archive.assembly import UnlikeKinds, assembled
from netlimits.archive.columns import ATTEMPTS, INTERIM, KEY, Chunk, JournalSection
from netlimits.archive.parts import History, Part
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveUnwritable, one_line
from netlimits.metrics import IDENTITY, METRICS, PROFILED
from netlimits.model import Experiment


def frame(
    archive: Archive,
    experiment: Experiment,
    chosen: Collection[str] | None = None,
    *,
    coded: bool = False,
) -> pd.DataFrame:
    """Return one row per attempt, in the order of starts, with all or the `chosen` columns.

    If `coded`, text columns are categories.
    """
    try:
        return of_parts(archive, archive.parts(), experiment, chosen, coded)[0]
    except UnlikeKinds:
        return of_parts(archive, (), experiment, chosen, coded)[0]


def pieces(archive: Archive, experiment: Experiment) -> Iterator[pd.DataFrame]:
    """Yield the frame in pieces, one for each part, in the order of ends within a part.

    If a factor has different kinds in two parts, yield the whole frame as a single piece.
    """
    chunks, _ = chunks_of(archive, archive.parts())
    chunks = [chunk for chunk in chunks if chunk.rows]
    labels = frozenset((*_factors(experiment), *experiment.derive))
    kinds = {(name, chunk.kinds.get(name)) for chunk in chunks for name in labels}
    if len(kinds) > len(labels):
        yield frame(archive, experiment)
        return
    names, _ = layout(chunks, experiment)
    for chunk in _last_rows(chunks):
        yield _with_times(assembled([chunk], names, labels, _constants(archive))[0])


def of_attempts(archive: Archive, experiment: Experiment, wanted: pd.DataFrame) -> pd.DataFrame:
    """Return all columns of the attempts that `wanted` names by KEY, in its order."""
    chunks, _ = chunks_of(archive, archive.parts())
    labels = frozenset((*_factors(experiment), *experiment.derive))
    names, attrs = layout(chunks, experiment)
    keys = pd.MultiIndex.from_frame(wanted[list(KEY)])
    try:
        table, _ = assembled(_last_rows(chunks, keys), names, labels, _constants(archive))
    except UnlikeKinds:
        table = frame(archive, experiment)
    places = pd.MultiIndex.from_frame(table[list(KEY)]).get_indexer(keys)
    table = _with_times(table.iloc[places]).set_axis(wanted.index)
    table.attrs.update(attrs)
    return table


def _last_rows(chunks: Sequence[Chunk], wanted: pd.MultiIndex | None = None) -> list[Chunk]:
    """Return the chunks with the last row of each attempt, or of each attempt in `wanted`."""
    keys, chunk_of = assembled(chunks, KEY)
    kept, _ = _last_versions(keys.assign(row=np.arange(len(keys))), chunk_of)
    if wanted is not None:
        kept = kept[pd.MultiIndex.from_frame(kept[list(KEY)]).isin(wanted)]
    mask = np.zeros(len(keys), bool)
    mask[kept["row"]] = True
    begins = np.cumsum([0, *(chunk.rows for chunk in chunks)])
    parts = zip(chunks, itertools.pairwise(begins), strict=True)
    limited = [_limited(chunk, mask[begin:end]) for chunk, (begin, end) in parts]
    return [chunk for chunk in limited if chunk.rows]


def _limited(chunk: Chunk, mask: np.ndarray) -> Chunk:
    if mask.all():
        return chunk
    rows = pa.array(mask)
    table = lambda names: chunk.table(names).filter(rows)  # noqa: E731
    return Chunk(int(mask.sum()), chunk.kinds, table, chunk.repeated)


def _with_times(table: pd.DataFrame) -> pd.DataFrame:
    if table["started"].dtype.kind != "M":
        table = table.assign(started=pd.to_datetime(table["started"], unit="s", utc=True))
    return table


STREAM = "stream"
"""The column with a parallel stream's number; null in rows for all streams together."""


def intervals(archive: Archive, experiment: Experiment, *, streams: bool = False) -> pd.DataFrame:
    """Return one row per interim result: `run`, `attempt`, `status`, factors and figures."""
    known_parts = archive.parts()
    labels = [*_factors(experiment), *experiment.derive]
    attempts, _ = chunks_of(archive, known_parts)
    varied = [name for name in labels if name in columns.names(attempts)]
    names = [*KEY, "status", *varied]
    mark = [PROFILED] if PROFILED in columns.names(attempts) else []
    table, chunk = assembled(attempts, [*names, *mark, "started"], frozenset(varied))
    table, chunk = _last_versions(table, chunk)
    if mark:  # the interim results of profiled runs are left out
        counting = ~table.pop(PROFILED).astype(bool)
        table, chunk = table[counting].reset_index(drop=True), chunk[counting.to_numpy()]
    if _overlapping(known_parts):
        table, chunk = _as_started(table, chunk)
    of_interim, _ = chunks_of(archive, known_parts, which=INTERIM)
    of_rows = [name for name in columns.names(of_interim) if name not in KEY]
    rows, place = assembled(of_interim, [*KEY, *of_rows])
    if STREAM in of_rows and STREAM not in varied:
        # imported runs have rows of sums and of streams; runs of several clients lack sums
        summed = rows[STREAM].isna().groupby([rows[key] for key in KEY]).transform("any")
        chosen = summed & (rows[STREAM].notna() == streams)
        if not streams:
            chosen |= ~summed
        rows, place = rows[chosen], place[chosen.to_numpy()]
        if rows[STREAM].isna().all():
            rows, of_rows = rows.drop(columns=STREAM), [n for n in of_rows if n != STREAM]
    elif streams:
        rows, place = rows[:0], place[:0]
    # the last chunk that contains an attempt has its valid interim results
    merged = table.assign(_chunk=chunk).merge(rows.assign(_chunk=place), on=[*KEY, "_chunk"])
    return of_runs(merged[[*names, *of_rows]], varied)


def of_runs(table: pd.DataFrame, varied: Iterable[str]) -> pd.DataFrame:
    """Set `attrs["columns"]` of a table with several rows per run; return the table.

    Columns in `varied` are declared as factors, and all others as metrics.
    """
    known = [name for name in dict.fromkeys(varied) if name in table.columns]
    others = [name for name in table.columns if name not in known]
    table.attrs["columns"] = roles(known, [], others)
    return table


def layout(
    chunks: Sequence[Chunk], experiment: Experiment, chosen: Collection[str] | None = None
) -> tuple[list[str], dict[str, Any]]:
    """Return all or the `chosen` columns of a campaign's rows, and the frame's `attrs`."""
    factors, derived = list(_factors(experiment)), list(experiment.derive)
    known = columns.names(chunks)
    metrics = _metrics(known, experiment)
    identity = [name for name in IDENTITY if name != "file" or name in known]
    every = [*identity, *factors, *derived, *metrics]
    always = {*KEY, *factors, *derived}
    if PROFILED in known:
        always.add(PROFILED)
    else:
        every.remove(PROFILED)
    names = [n for n in every if chosen is None or n in chosen or n in always]
    attrs: dict[str, Any] = {"columns": roles(factors, derived, metrics)}
    if left := [name for name in every if name not in names]:
        attrs["narrowed"] = ColumnNames(left)
    return names, attrs


def of_parts(
    archive: Archive,
    known_parts: Sequence[Part],
    experiment: Experiment,
    chosen: Collection[str] | None = None,
    coded: bool = False,
) -> tuple[pd.DataFrame, int]:
    """Return the frame, and the number of journal lines that were read.

    The frame is read from these parts and from the journal's lines after them.
    """
    overlapping = _overlapping(known_parts)
    if chosen is not None and overlapping:
        chosen = {*chosen, "started"}
    always = {*KEY, *_factors(experiment), *experiment.derive}
    read = None if chosen is None else always | {*chosen, PROFILED}
    chunks, history = chunks_of(archive, known_parts, read)
    names, attrs = layout(chunks, experiment, chosen)
    labels = frozenset((*attrs["columns"]["factors"], *attrs["columns"]["derived"]))
    table, rows = assembled(chunks, names, labels, _constants(archive), coded=coded)
    table, rows = _last_versions(table, rows)
    if overlapping:
        table, _ = _as_started(table, rows)
    table.attrs.update(attrs)
    if "started" in table.columns:
        table["started"] = pd.to_datetime(table["started"], unit="s", utc=True)
    return table, history.lines


def chunks_of(
    archive: Archive,
    known_parts: Sequence[Part],
    chosen: Collection[str] | None = None,
    which: int = ATTEMPTS,
) -> tuple[list[Chunk], History]:
    """Return the chunks of all parts and of the lines after them, and these lines' history."""
    section = archive.fold(partial(JournalSection, chosen=chosen), known_parts)
    of_parts = [columns.of_part(archive.journal, part, which) for part in known_parts]
    return [*of_parts, columns.of_section(section, which)], section


def _constants(archive: Archive) -> dict[str, Any]:
    return {"shared_kernel": archive.meta["shared_kernel"]}


def _overlapping(known_parts: Sequence[Part]) -> bool:
    """Return True if attempts overlapped, so that parts contain them in the order of their ends."""
    return any(part.about["going"] for part in known_parts)


def _factors(experiment: Experiment) -> Iterator[str]:
    yield from experiment.factors
    for group in experiment.zips:
        yield from group


def _metrics(names: Iterable[str], experiment: Experiment) -> list[str]:
    other = {*IDENTITY, *_factors(experiment), *experiment.derive}
    measured = dict.fromkeys(name for name in names if name not in other)
    known = [m.column for m in METRICS if m.column in measured]
    return list(dict.fromkeys((*known, *measured)))


def _last_versions(table: pd.DataFrame, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Keep the last row of each attempt, at the position of its first row."""
    run, attempt = (table[name].to_numpy() for name in KEY)
    later = (run[1:] > run[:-1]) | (run[1:] == run[:-1]) & (attempt[1:] > attempt[:-1])
    if later.all():  # usual: no attempt has several rows
        return table, rows
    codes, unique = pd.factorize(run * (int(attempt.max(initial=0)) + 1) + attempt)
    place = np.empty(len(unique), dtype=np.int64)
    place[codes] = np.arange(len(table))  # the last row of an attempt wins
    return table.iloc[place].reset_index(drop=True), rows[place]


def _as_started(table: pd.DataFrame, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    place = np.argsort(table["started"].to_numpy(), kind="stable")
    return table.iloc[place].reset_index(drop=True), rows[place]


# -- results.csv and results.parquet ---------------------------------------------------------

MADE_OF = ("journal.jsonl", "campaign.json", "experiment.yaml", "against.yaml", "plan.csv")
"""The files that a frame is built from; an imported campaign has only the first two."""


def kept(archive: Archive) -> pd.DataFrame | None:
    """Return the frame in results.parquet, None if it is missing, damaged or outdated.

    It is outdated if one of its sources or the version of netlimits has changed.
    """
    try:
        sources = formats.checked_json(archive.folder, "results.json", formats.ResultsSources)
        if (
            not sources
            or sources["netlimits"] != __version__
            or sources["files"] != _digests(archive)
        ):
            return None
        with archive.folder.reader("results.parquet") as file:
            table = pd.read_parquet(file)
        table.attrs["columns"] = roles(**table.attrs["columns"])
        return table
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None


def write(archive: Archive, experiment: Experiment) -> tuple[Path, Path]:
    """Write the frame of a campaign without parts as results.csv and results.parquet."""
    table, lines = of_parts(archive, (), experiment)
    folder = archive.folder
    name = "results.json"
    try:
        folder.remove(name)  # it would not match the new tables
        name = "results.csv"
        with folder.atomic(name) as file:
            file.write(spreadsheets.to_csv(table).encode("utf-8", "backslashreplace"))
        name = "results.parquet"
        with folder.atomic(name) as file:
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
        name = "results.json"
        sources = {"netlimits": __version__, "lines": lines, "files": _digests(archive)}
        folder.write(name, json.dumps({**sources, "sha256": formats.digest(sources)}, indent=1))
    except OSError as error:
        raise ArchiveUnwritable(
            f"{archive.path / name}: {one_line(error)}; no run is lost: `netlimits parse` writes "
            "the tables again from the journal"
        ) from None
    return archive.path / "results.csv", archive.path / "results.parquet"


def remove(archive: Archive) -> None:
    """Remove the files that `write` wrote. Raises ArchiveUnwritable if that fails."""
    for name in ("results.json", "results.parquet", "results.csv"):
        try:
            archive.folder.remove(name)
        except OSError as error:
            raise ArchiveUnwritable(f"{archive.path / name}: {one_line(error)}") from None


def _digests(archive: Archive) -> dict[str, str]:
    existing = {path.name for path in archive.path.iterdir()}
    names = [name for name in (*MADE_OF, "results.parquet") if name in existing]
    return {name: archive.folder.digest(name) for name in names}
