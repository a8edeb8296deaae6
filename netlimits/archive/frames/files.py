"""results.csv and results.parquet: the frame of a campaign, derived from its journal.

results.parquet is read while the checksums in `results.json`, of it and its sources, are right.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from netlimits import __version__
from netlimits.analysis.sources import spreadsheets
from netlimits.analysis.sources.joining import roles
from netlimits.archive import formats, frames
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveUnwritable, one_line
from netlimits.model import Experiment

MADE_OF = ("journal.jsonl", "campaign.json", "experiment.yaml", "against.yaml", "plan.csv")
"""The sources of a frame; an imported campaign has the first two."""


def kept(archive: Archive) -> pd.DataFrame | None:
    """Return the frame in results.parquet, None if one of its sources has changed."""
    try:
        sources = formats.summed(archive.folder, "results.json", formats.MadeOf)
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
    table, lines = frames.of_parts(archive, (), experiment)
    folder = archive.folder
    name = "results.json"
    try:
        folder.remove(name)  # it becomes invalid now
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
