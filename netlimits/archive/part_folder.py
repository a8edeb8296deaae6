"""A campaign's runs as Parquet files in a folder that other machines read.

    PLACE/000001.parquet   some thousand attempts
    PLACE/000002.parquet   the next ones

`fsspec` (filesystem-spec.readthedocs.io) reaches the place: a folder, or a URL such as
s3://bucket/mesh, for which it names the package that is needed. Columns and types are those of
`campaign.relation()`, the same in each file, which says of which campaign it is. Who reads them
needs nothing of the campaign's own folder: `relation` here, or pandas, Polars, Spark, Dask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from netlimits.analysis.column_roles import roles
from netlimits.analysis.relations import Relation
from netlimits.archive.parts import ATTEMPTS
from netlimits.errors import DataError, InputError, one_line

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_ATTRIBUTES, _CAMPAIGN = b"PANDAS_ATTRS", b"netlimits.campaign"
"""What the file's metadata have: what pandas takes for `attrs`, and the campaign's identity."""

_NAME = re.compile(r"(\d{6,})\.parquet")


@dataclass(frozen=True)
class PartFolder:
    """A place for the parts of one campaign."""

    place: str
    files: AbstractFileSystem
    path: str

    @classmethod
    def at(cls, place: str) -> PartFolder:
        """The place that a path or a URL names. Raises InputError where it cannot be reached."""
        try:
            import fsspec
        except ImportError:
            raise InputError(
                "a folder of parts needs fsspec: pip install 'netlimits[large]'"
            ) from None
        try:
            files, path = fsspec.url_to_fs(place)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{place}: {one_line(error)}") from None
        return cls(place, files, path)

    def prepare(self, campaign: str) -> None:
        """Make the folder. Raises InputError where that fails, or another campaign's runs are."""
        with self._in_a_line("cannot be written"):
            self.files.makedirs(self.path, exist_ok=True)
            names = self._names()
            other = bool(names) and self._metadata(names[0]).get(_CAMPAIGN) != campaign.encode()
        if other:
            raise InputError(
                f"{self.place}: holds the runs of another campaign; name another place"
            )

    def write(self, runs: Relation, campaign: str) -> int:
        """Write all runs, in the place of those that are there; how many files that made.

        A file is there as a whole or not at all. Raises InputError.
        """
        self.prepare(campaign)
        metadata = {_ATTRIBUTES: json.dumps(runs.attrs).encode(), _CAMPAIGN: campaign.encode()}
        number = 0
        with self._in_a_line("cannot be written"):
            reader = runs.rows.to_arrow_reader(ATTEMPTS)
            schema = reader.schema.with_metadata(metadata)
            for number, batch in enumerate(reader, 1):
                table = pa.Table.from_batches([batch]).replace_schema_metadata(metadata)
                self._write(number, table)
            if not number:
                number = 1
                self._write(number, schema.empty_table())
            for name in self._names()[number:]:
                self.files.rm_file(f"{self.path}/{name}")
        return number

    def relation(self, memory: str) -> Relation:
        """All that is there. Raises InputError where nothing is, DataError without DuckDB."""
        from fsspec.implementations.local import LocalFileSystem

        from netlimits.archive import relation

        with self._in_a_line("cannot be read"):
            names = self._names()
            attrs = json.loads(self._metadata(names[0])[_ATTRIBUTES]) if names else {}
        if not names:
            raise InputError(f"{self.place}: holds no runs of `netlimits export --format parquet`")
        attrs["columns"] = roles(**attrs["columns"])
        opened = relation.connection(memory)
        with self._in_a_line("cannot be read"):
            paths = [f"{self.path}/{name}" for name in names]
            if not isinstance(self.files, LocalFileSystem):
                opened.register_filesystem(self.files)
                paths = [self.files.unstrip_protocol(path) for path in paths]
            return Relation(opened.read_parquet(paths), opened, attrs)

    def _write(self, number: int, table: pa.Table) -> None:
        with (
            self.files.transaction,
            self.files.open(f"{self.path}/{number:06d}.parquet", "wb") as file,
        ):
            pq.write_table(table, file)

    def _names(self) -> list[str]:
        """The files of parts, in their order."""
        paths = self.files.ls(self.path, detail=False)
        return sorted(filter(_NAME.fullmatch, (path.rpartition("/")[2] for path in paths)))

    def _metadata(self, name: str) -> Mapping[bytes, bytes]:
        with self.files.open(f"{self.path}/{name}", "rb") as file:
            return pq.read_schema(file).metadata or {}

    @contextmanager
    def _in_a_line(self, problem: str) -> Iterator[None]:
        """What goes wrong at the place, in a line; each kind of place has errors of its own."""
        try:
            yield
        except (InputError, DataError):
            raise
        except Exception as error:
            raise InputError(f"{self.place}: {problem}: {one_line(error)}") from None


def relation(place: str, memory: str | None = None) -> Relation:
    """The runs in a folder of parts, in DuckDB: what `run --share` and `export` leave there.

    `place` is a path or a URL that fsspec knows. It stands in a frame's place, as
    `campaign.relation()` does; `memory` is what DuckDB may take for itself ("1GB"). Raises
    InputError where no runs are, DataError where DuckDB is not installed.
    """
    from netlimits.archive.relation import MEMORY

    return PartFolder.at(place).relation(memory or MEMORY)
