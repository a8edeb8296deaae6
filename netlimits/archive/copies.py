"""Copy a campaign's runs to Parquet files in a folder that other machines read.

    PLACE/runs-000001.parquet    some thousand attempts
    PLACE/runs-000002.parquet    the next attempts
    PLACE/shard-NAME.parquet     attempts of a shard, from its worker (campaign.mesh.cluster)
    PLACE/.netlimits             the identity of the campaign

PLACE is a folder, or a URL such as s3://bucket/mesh that `fsspec` supports. Columns and types are
those of `campaign.relation()`. `relation` reads the files, as do pandas, Polars, Spark and Dask.

`write` first removes all existing files. The last new file contains their number, so an interrupted
copy is recognized and never contains a run twice. During a campaign the folder also has the files
of shards, whose columns may differ.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from netlimits.analysis.sources.joining import roles
from netlimits.analysis.sources.relations import Relation, answer
from netlimits.archive import frames
from netlimits.archive.logbook import Logbook
from netlimits.archive.parts import ATTEMPTS
from netlimits.archive.reader import Campaign
from netlimits.archive.relation import MEMORY, connection
from netlimits.archive.store import Archive
from netlimits.errors import DataError, InputError, NetlimitsError, one_line
from netlimits.metrics import METRICS

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_ATTRIBUTES, _COPY, _LAST = b"PANDAS_ATTRS", b"netlimits.copy", b"netlimits.last"
"""Keys of a file's metadata: the `attrs` of pandas, the id of the copy, and, in the last file of a
copy, the number of files."""

_RUNS = re.compile(r"runs-(\d{6})\.parquet")
_SHARD = re.compile(r"shard-[^/]+\.parquet")
_OWNER = ".netlimits"
_FILE = "the file that it is in"
_ONCE = f"""select * exclude ("{_FILE}") from runs semi join
(select run, attempt, arg_min("{_FILE}", (status = 'interrupted', "{_FILE}")) as "{_FILE}"
from runs group by run, attempt) using (run, attempt, "{_FILE}")"""  # noqa: S608  a constant
"""The query that takes each attempt from one file: the first in which the attempt has ended.
If it has ended in none, take the first file. Files of the copy precede those of shards."""
_CREDENTIALS = re.compile(r"//[^/\s]*@")
_ANY_HOST_KEY = ("sftp", "ssh")
"""Protocols for which fsspec accepts any host key, which SECURITY.md rules out."""


@dataclass(frozen=True)
class RunsCopy:
    """A copy of one campaign's runs; `place` is its name, without credentials."""

    place: str
    files: AbstractFileSystem
    path: str
    local: bool

    @classmethod
    def at(cls, place: str) -> RunsCopy:
        """Return the copy at a path or a URL. Raises InputError if it cannot be reached."""
        try:
            import fsspec
            from fsspec.implementations.local import LocalFileSystem
        except ImportError:
            raise InputError(
                "a copy of runs needs fsspec: pip install 'netlimits[large]'"
            ) from None
        name = _CREDENTIALS.sub("//", place)
        protocol, colon, _ = place.partition(":")
        if not place or (colon and "/" not in protocol and "://" not in place):
            raise InputError(f"{name!r} is neither a folder nor a URL such as s3://bucket/mesh")
        if any(part.partition(":")[0] in _ANY_HOST_KEY for part in place.split("::")):
            raise InputError(
                f"{name}: fsspec accepts any host key there; mount it (sshfs) and name the folder"
            )
        try:
            files, path = fsspec.url_to_fs(place)
        except ImportError as error:
            raise InputError(f"{name}: {one_line(error)} with pip, or name a folder") from None
        except Exception as error:  # each file system raises its own errors
            raise InputError(
                f"{name}: {_CREDENTIALS.sub('//', one_line(error))}; name a folder "
                "or a URL such as s3://bucket/mesh"
            ) from None
        return cls(name, files, path, isinstance(files, LocalFileSystem))

    def claim(self, campaign: Logbook | None) -> None:
        """Create the place and mark it as this campaign's; None stands for a new campaign.

        Raises InputError if it holds another campaign's runs or cannot be written.
        """
        if find_spec("duckdb") is None:
            raise DataError("a copy of runs needs DuckDB: pip install 'netlimits[large]'")
        identity = campaign and campaign.archive.identity
        if self.local:
            self._refuse_folder()
        with self._in_a_line("cannot be written"):
            if self.local:
                self.files.makedirs(self.path, exist_ok=True)
            owner = self._owner()
            taken = owner != identity if owner else bool(self._names(_RUNS))
            if not taken:
                self._put(_OWNER, (identity or "").encode())
                if not identity:
                    self.files.rm_file(f"{self.path}/{_OWNER}")
        if taken:
            raise InputError(f"{self.place}: holds another campaign's runs; name another place")

    def write(self, campaign: Campaign) -> str:
        """Replace the copy with all of a campaign's runs; return a line about the files."""
        self.claim(campaign)
        runs = campaign.relation()
        metadata = {
            _ATTRIBUTES: json.dumps(runs.attrs).encode(),
            _COPY: secrets.token_hex(8).encode(),
        }
        with self._in_a_line("cannot be written"):
            tables = _tables(runs.rows.to_arrow_reader(ATTEMPTS))
            for name in (*self._names(_SHARD), *self._names(_RUNS)):
                self.files.rm_file(f"{self.path}/{name}")
            for number, (table, last) in enumerate(tables, 1):
                if last:
                    metadata[_LAST] = str(number).encode()
                self._put_table(f"runs-{number:06d}.parquet", table, metadata)
        return f"{self.place}: {number} {'file' if number == 1 else 'files'}"

    def add(self, name: str, campaign: Logbook, shard: Archive) -> None:
        """Write the attempts of a shard to a file of its own, which the next `write` removes."""
        frame = frames.frame(shard, campaign.experiment)
        attributes = {**frame.attrs, "planned": [campaign.planned_runs()]}
        with self._in_a_line("cannot be written"):
            table = pa.Table.from_pandas(frame, preserve_index=False)
            metadata = {_ATTRIBUTES: json.dumps(attributes).encode()}
            self._put_table(f"shard-{name}.parquet", table, metadata)

    def runs(self, memory: str | None = None) -> Relation:
        """Return the runs of the copy and of the shards' files, each attempt once."""
        with self._in_a_line("cannot be read"):
            copy, of_shards = self._names(_RUNS), self._names(_SHARD)
            names = [*copy, *of_shards]
            is_campaign = not names and self.files.exists(f"{self.path}/campaign.json")
        if is_campaign:
            raise InputError(f"{self.place}: is a campaign's folder: netlimits.open(…).relation()")
        if not names:
            raise InputError(
                f"{self.place}: holds no runs that `run --share` or `export` left there"
            )
        with self._in_a_line("cannot be read"):
            complete = not copy or self._is_complete(copy)
            about = [self._metadata(name) for name in (*copy[:1], *of_shards)] if complete else []
            attrs = _merged([json.loads(metadata[_ATTRIBUTES]) for metadata in about])
        if not complete:
            raise InputError(
                f"{self.place}: the copy is being written or was interrupted; write it again: "
                f"netlimits export RESULTS --format parquet --out {self.place}"
            )
        opened = connection(memory or MEMORY)
        paths = [f"{self.path}/{name}" for name in names]
        with self._in_a_line("cannot be read"):
            if not self.local:
                opened.register_filesystem(self.files)
                paths = [self.files.unstrip_protocol(path) for path in paths]
            if not of_shards:
                return Relation(opened.read_parquet(paths), opened, attrs)
            query = f"select * from read_parquet($1, union_by_name = true, filename = '{_FILE}')"  # noqa: S608
            rows = opened.sql(query, params=[paths])
            return Relation(answer(rows, _ONCE), opened, attrs)

    def _is_complete(self, names: Sequence[str]) -> bool:
        """Return True if these are all files of one copy."""
        first, last = self._metadata(names[0]), self._metadata(names[-1])
        return int(last.get(_LAST, 0)) == len(names) and first.get(_COPY) == last.get(_COPY)

    def _refuse_folder(self) -> None:
        path = Path(self.path)
        if path.is_file():
            raise InputError(f"{self.place}: is a file; Parquet is written to a folder")
        if any((folder / "campaign.json").exists() for folder in (path, *path.parents)):
            raise InputError(f"{self.place}: is in a campaign's own folder; name another place")

    def _owner(self) -> str | None:
        """Return the identity of the campaign whose runs are at the place; None for no runs."""
        try:
            return str(self.files.cat_file(f"{self.path}/{_OWNER}").decode()) or None
        except FileNotFoundError:
            return None

    def _names(self, pattern: re.Pattern[str]) -> list[str]:
        """Return the sorted names of files that match, none if the folder does not exist."""
        self.files.invalidate_cache(self.path)
        try:
            paths = self.files.ls(self.path, detail=False)
        except FileNotFoundError:
            return []
        return sorted(filter(pattern.fullmatch, (path.rpartition("/")[2] for path in paths)))

    def _metadata(self, name: str) -> Mapping[bytes, bytes]:
        with self.files.open(f"{self.path}/{name}", "rb") as file:
            return pq.read_schema(file).metadata or {}

    def _put_table(self, name: str, table: pa.Table, metadata: Mapping[bytes, bytes]) -> None:
        buffer = io.BytesIO()
        pq.write_table(table.replace_schema_metadata(metadata), buffer)
        self._put(name, buffer.getvalue())

    def _put(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        path = f"{self.path}/{name}"
        if not self.local:
            self.files.pipe_file(path, content)
            return
        partial = Path(self.path, f".{name}.{os.getpid()}")
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    @contextmanager
    def _in_a_line(self, problem: str) -> Iterator[None]:
        """Convert any error to a one-line InputError: each file system raises its own errors."""
        try:
            yield
        except NetlimitsError:
            raise
        except Exception as error:
            why = _CREDENTIALS.sub("//", one_line(error))
            raise InputError(f"{self.place}: {problem}: {why}") from None


def _tables(batches: pa.RecordBatchReader) -> Iterator[tuple[pa.Table, bool]]:
    """Yield (table, True if it is the last) for each batch; an empty table if there is none."""
    table = batches.schema.empty_table()
    for batch in batches:
        if table.num_rows:
            yield table, False
        table = pa.Table.from_batches([batch])
    yield table, True


def _merged(attributes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the `attrs` of several files of one campaign."""
    if not attributes:
        return {}
    first = attributes[0]["columns"]
    names = dict.fromkeys(name for each in attributes for name in each["columns"]["metrics"])
    known = [metric.column for metric in METRICS if metric.column in names]
    metrics = dict.fromkeys((*known, *names))
    return {**attributes[0], "columns": roles(first["factors"], first["derived"], metrics)}


def relation(place: str, memory: str | None = None) -> Relation:
    """Open a copy of a campaign's runs in DuckDB, for more runs than memory holds.

    Args:
        place: The path or fsspec URL that `run --share` or `export --format parquet` wrote to.
        memory: Memory limit of DuckDB, such as "1GB".

    Returns:
        The runs, which `summary`, `compare`, `analysis.percentiles` and `analysis.spread` accept in
        place of a frame, as they do `Campaign.relation()`.

    Raises:
        InputError: There is no complete copy at the place.
        DataError: DuckDB is not installed.
    """
    return RunsCopy.at(place).runs(memory)
