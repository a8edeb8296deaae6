"""Runs as Parquet files at any place: what is read of them is what the campaign tells."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import dask.dataframe
import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import EXAMPLE, complete
from fsspec.implementations.memory import MemoryFileSystem

import netlimits as nl
from netlimits.archive import copies
from netlimits.archive.copies import RunsCopy
from netlimits.archive.records import end_fields, run_fields
from netlimits.archive.store import Archive
from netlimits.errors import DataError, InputError
from netlimits.model import Record

QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.yaml"


class Bucket(MemoryFileSystem):
    """What object stores are: no folder is there without a file, and none can be made."""

    protocol = "bucket"
    store: ClassVar[dict[str, object]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        raise PermissionError(13, "a bucket is not made by mistake", path)

    mkdir = makedirs

    def ls(self, path: str, detail: bool = True, **how: object) -> list[object]:
        within = self._strip_protocol(path) + "/"
        if not any(name.startswith(within) for name in self.store):
            raise FileNotFoundError(path)
        return super().ls(path, detail=detail, **how)


fsspec.register_implementation("bucket", Bucket, clobber=True)


def shard(folder: Path, records: Sequence[Record]) -> Archive:
    """A shard's folder, with these attempts in its journal."""
    archive = Archive.create(folder / uuid.uuid4().hex, {"machines": {}, "shared_kernel": True})
    archive.lock()
    for record in records:
        started = {**run_fields(record.run), "attempt": record.attempt, "started": record.started}
        archive.append("start", **started)
        if record.status != "interrupted":
            archive.append("end", **end_fields(record))
    archive.close()
    return archive


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder here, and one that only fsspec reaches."""
    if request.param == "folder":
        return str(tmp_path / "deep" / "parts")
    return f"bucket://b-{uuid.uuid4().hex}/parts"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another campaign's folder."""
    return complete(tmp_path_factory.mktemp("other") / "results", QUICKSTART, None).path


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["run", "attempt"], ignore_index=True)


@pytest.mark.long
@pytest.mark.parametrize("attempts", [4096, 5])
def test_what_is_read_is_what_the_campaign_tells(place, attempts, monkeypatch):
    monkeypatch.setattr(copies, "ATTEMPTS", attempts)
    campaign = nl.open(EXAMPLE)
    runs = campaign.relation()
    told = RunsCopy.at(place).write(campaign)
    assert told.endswith(": 1 file") == (attempts >= len(runs.frame()))
    copy = nl.relation(place)
    pd.testing.assert_frame_equal(in_order(copy.frame()), in_order(runs.frame()))
    assert copy.attrs == runs.attrs
    table = nl.summary(copy, ["throughput"], "send_size", "offloads", pool=["protocol"])
    same = nl.summary(runs, ["throughput"], "send_size", "offloads", pool=["protocol"])
    pd.testing.assert_frame_equal(table, same)


def test_every_program_reads_the_same_columns_of_each_file(tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "ATTEMPTS", 5)
    frame = nl.open(EXAMPLE).frame()
    RunsCopy.at(str(tmp_path / "parts")).write(nl.open(EXAMPLE))
    files = sorted((tmp_path / "parts").glob("*.parquet"))
    assert len(files) > 1
    assert len({str(pq.read_schema(file).remove_metadata()) for file in files}) == 1
    read = pd.read_parquet(tmp_path / "parts")
    assert [*read.columns] == [*frame.columns]
    assert sorted(read["run"]) == sorted(frame["run"])


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # dask's own
def test_dask_analyses_them_file_by_file(tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "ATTEMPTS", 5)
    campaign = nl.open(EXAMPLE)
    RunsCopy.at(str(tmp_path)).write(campaign)
    runs = dask.dataframe.read_parquet(tmp_path)
    assert runs.npartitions == len([*tmp_path.glob("*.parquet")]) > 1
    means = runs.groupby("send_size")["throughput_mbps"].mean().compute(scheduler="synchronous")
    expected = campaign.frame().groupby("send_size")["throughput_mbps"].mean()
    pd.testing.assert_series_equal(means.sort_index(), expected, check_index_type=False)


def test_what_is_written_again_takes_the_place_of_all_that_was_there(tmp_path, place, monkeypatch):
    """Also where it is fewer files; another's files beside them stay."""
    folder, beside = RunsCopy.at(place), f"{place}/20240101.parquet"
    monkeypatch.setattr(copies, "ATTEMPTS", 5)
    assert folder.write(nl.open(EXAMPLE)).endswith(": 4 files")
    with fsspec.open(beside, "wb") as file:
        file.write(b"another's")
    monkeypatch.setattr(copies, "ATTEMPTS", 10)
    assert folder.write(nl.open(EXAMPLE)).endswith(": 2 files")
    assert len(nl.relation(place).frame()) == len(nl.open(EXAMPLE).frame())
    with fsspec.open(beside, "rb") as file:
        assert file.read() == b"another's"


@pytest.mark.long
def test_what_shards_left_is_there_until_all_is_written(place, tmp_path):
    campaign, folder = nl.open(EXAMPLE), RunsCopy.at(place)
    folder.claim(campaign)
    records, names = campaign.records(), ("a-1", "a-2", "b-1")
    for part, name in enumerate(names):
        folder.add(name, campaign, shard(tmp_path, records[part::3]))
    folder.add("a-2", campaign, shard(tmp_path, records[1::3]))  # by a worker that took over
    whole, shards = campaign.relation(), nl.relation(place)
    pd.testing.assert_frame_equal(in_order(shards.frame()), in_order(whole.frame()))
    assert shards.attrs["columns"] == whole.attrs["columns"]
    assert shards.attrs["planned"] == whole.attrs["planned"][:1]
    chosen = (["throughput"], "send_size", "offloads")
    pd.testing.assert_frame_equal(
        nl.summary(shards, *chosen, pool=["protocol"]),
        nl.summary(whole, *chosen, pool=["protocol"]),
    )
    assert folder.write(campaign).endswith(": 1 file")
    assert len(nl.relation(place).frame()) == len(records)
    run = replace(records[0].run, number=1000)
    told = {**records[0].figures, "throughput_mbps": 7, "of_a_tool": "word"}
    folder.add("c-1", campaign, shard(tmp_path, [replace(records[0], run=run, figures=told)]))
    frame = nl.relation(place).frame()
    assert len(frame) == len(records) + 1
    added = frame[frame["run"] == 1000]
    assert added["throughput_mbps"].tolist() == [7.0]
    assert added["of_a_tool"].tolist() == ["word"]
    assert nl.relation(place).attrs["columns"]["metrics"][-1] == "of_a_tool"
    assert frame["throughput_mbps"].dtype == float
    folder.add("late", campaign, shard(tmp_path, records[:2]))  # by a worker that was thought lost
    pd.testing.assert_frame_equal(in_order(nl.relation(place).frame()), in_order(frame))


def test_what_was_going_on_is_read_where_it_is_over(place, tmp_path):
    campaign, folder = nl.open(EXAMPLE), RunsCopy.at(place)
    folder.claim(campaign)
    ended = replace(campaign.records()[0], figures={"throughput_mbps": 7.0, "filename": "any"})
    folder.add("a", campaign, shard(tmp_path, [replace(ended, status="interrupted", figures={})]))
    folder.add("b", campaign, shard(tmp_path, [ended]))
    (row,) = nl.relation(place).frame().to_dict("records")
    assert (row["status"], row["throughput_mbps"], row["filename"]) == ("ok", 7.0, "any")


def test_the_runs_of_another_campaign_are_left_alone(place, other):
    folder = RunsCopy.at(place)
    folder.claim(nl.open(EXAMPLE))
    for campaign in (None, nl.open(other)):  # one that is still to come, and one that is there
        with pytest.raises(InputError, match="another campaign's runs"):
            folder.claim(campaign)
    folder.write(nl.open(EXAMPLE))
    with pytest.raises(InputError, match="another campaign's runs"):
        folder.write(nl.open(other))
    assert len(nl.relation(place).frame()) == len(nl.open(EXAMPLE).frame())


def test_a_place_that_was_looked_at_is_free_for_whoever_comes(place):
    RunsCopy.at(place).claim(None)
    RunsCopy.at(place).claim(None)
    RunsCopy.at(place).write(nl.open(EXAMPLE))


@pytest.mark.long
@pytest.mark.parametrize("cut", range(4))
def test_a_copy_that_is_cut_off_is_told_and_has_no_run_twice(place, cut, monkeypatch):
    folder = RunsCopy.at(place)
    monkeypatch.setattr(copies, "ATTEMPTS", 7)
    folder.write(nl.open(EXAMPLE))
    monkeypatch.setattr(copies, "ATTEMPTS", 5)
    put = RunsCopy._put

    def full(self: RunsCopy, name: str, content: bytes) -> None:
        if name == f"runs-{cut + 1:06d}.parquet":
            raise OSError(28, "No space left on device")
        put(self, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(RunsCopy, "_put", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            folder.write(nl.open(EXAMPLE))
    with pytest.raises(InputError, match="write it again" if cut else "holds no runs"):
        nl.relation(place)
    assert folder.write(nl.open(EXAMPLE)).endswith(": 4 files")
    assert nl.relation(place).frame()["run"].is_unique


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = RunsCopy.at(str(tmp_path / "parts"))
    folder.claim(nl.open(EXAMPLE))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies.os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        folder.write(nl.open(EXAMPLE))
    assert [path.name for path in (tmp_path / "parts").iterdir()] == [".netlimits"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("", "neither a folder nor a URL"),
        ("s3:/bucket/mesh", "neither a folder nor a URL"),
        ("nowhere://bucket/mesh", "Protocol not known: nowhere"),
        ("nowhere://me:p@secret@bucket/mesh", "Protocol not known: nowhere"),
        ("sftp://host/mesh", "any host key"),
        ("simplecache::ssh://host/mesh", "any host key"),
        ("/proc/1/mesh", "cannot be written"),
        (str(QUICKSTART), "is a file"),
        (str(EXAMPLE), "in a campaign's own folder"),
        (str(EXAMPLE / "parts"), "in a campaign's own folder"),
    ],
)
def test_a_place_that_will_not_do_is_one_line(place, words):
    with pytest.raises(InputError) as caught:
        RunsCopy.at(place).claim(None)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_error_of_a_kind_of_its_own_is_one_line(monkeypatch):
    def failing(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(Bucket, "pipe_file", failing)
    with pytest.raises(InputError, match="cannot be written"):
        RunsCopy.at("bucket://b/mesh").claim(None)


@pytest.mark.parametrize("metadata", [{"netlimits.last": "x"}, {"netlimits.last": "1"}, {
    "netlimits.last": "1", "PANDAS_ATTRS": '{"columns": {"no": "role"}}'}])  # fmt: skip
def test_files_that_somebody_else_wrote_are_told_in_a_line(tmp_path, metadata):
    table = pa.table({"run": [1]}).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "runs-000001.parquet")
    with pytest.raises(InputError, match="cannot be read"):
        nl.relation(str(tmp_path))


def test_duckdb_is_missed_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DataError, match="needs DuckDB"):
        RunsCopy.at(str(tmp_path / "parts")).claim(None)
    assert not (tmp_path / "parts").exists()


def test_a_place_without_runs_says_so(tmp_path):
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="holds no runs"):
            nl.relation(str(place))
    with pytest.raises(InputError, match=r"netlimits\.open"):
        nl.relation(str(EXAMPLE))
