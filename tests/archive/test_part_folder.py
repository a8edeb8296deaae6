"""Runs as Parquet files at any place: what is read of them is what the campaign tells."""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import fsspec
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from folders import EXAMPLE, complete
from fsspec.implementations.memory import MemoryFileSystem

import netlimits as nl
from netlimits.archive import part_folder
from netlimits.archive.part_folder import PartFolder
from netlimits.cli.export import export
from netlimits.cli.sharing import sharing
from netlimits.errors import DataError, InputError

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


@pytest.mark.parametrize("attempts", [4096, 5])
def test_what_is_read_is_what_the_campaign_tells(place, attempts, monkeypatch):
    monkeypatch.setattr(part_folder, "ATTEMPTS", attempts)
    campaign = nl.open(EXAMPLE)
    runs = campaign.relation()
    count = PartFolder.at(place).write(campaign)
    assert (count > 1) == (attempts < len(runs.frame()))
    copy = nl.relation(place)
    pd.testing.assert_frame_equal(in_order(copy.frame()), in_order(runs.frame()))
    assert copy.attrs == runs.attrs
    table = nl.summary(copy, ["throughput"], "send_size", "offloads", pool=["protocol"])
    same = nl.summary(runs, ["throughput"], "send_size", "offloads", pool=["protocol"])
    pd.testing.assert_frame_equal(table, same)


def test_every_program_reads_the_same_columns_of_each_file(tmp_path, monkeypatch):
    monkeypatch.setattr(part_folder, "ATTEMPTS", 5)
    frame = nl.open(EXAMPLE).frame()
    PartFolder.at(str(tmp_path / "parts")).write(nl.open(EXAMPLE))
    files = sorted((tmp_path / "parts").glob("*.parquet"))
    assert len(files) > 1
    assert len({str(pq.read_schema(file).remove_metadata()) for file in files}) == 1
    read = pd.read_parquet(tmp_path / "parts")
    assert [*read.columns] == [*frame.columns]
    assert sorted(read["run"]) == sorted(frame["run"])


def test_what_is_written_again_takes_the_place_of_all_that_was_there(tmp_path, place, monkeypatch):
    """Also where it is fewer files; another's files beside them stay."""
    folder, beside = PartFolder.at(place), f"{place}/20240101.parquet"
    monkeypatch.setattr(part_folder, "ATTEMPTS", 5)
    assert folder.write(nl.open(EXAMPLE)) == 4
    with fsspec.open(beside, "wb") as file:
        file.write(b"another's")
    monkeypatch.setattr(part_folder, "ATTEMPTS", 10)
    assert folder.write(nl.open(EXAMPLE)) == 2
    assert len(nl.relation(place).frame()) == len(nl.open(EXAMPLE).frame())
    with fsspec.open(beside, "rb") as file:
        assert file.read() == b"another's"


def test_the_runs_of_another_campaign_are_left_alone(place, other):
    folder = PartFolder.at(place)
    folder.claim(nl.open(EXAMPLE))
    for campaign in (None, nl.open(other)):  # one that is still to come, and one that is there
        with pytest.raises(InputError, match="another campaign's runs"):
            folder.claim(campaign)
    folder.write(nl.open(EXAMPLE))
    with pytest.raises(InputError, match="another campaign's runs"):
        folder.write(nl.open(other))
    assert len(nl.relation(place).frame()) == len(nl.open(EXAMPLE).frame())


def test_a_place_that_was_looked_at_is_free_for_whoever_comes(place):
    PartFolder.at(place).claim(None)
    PartFolder.at(place).claim(None)
    PartFolder.at(place).write(nl.open(EXAMPLE))


@pytest.mark.parametrize("cut", range(4))
def test_a_copy_that_is_cut_off_is_told_and_has_no_run_twice(place, cut, monkeypatch):
    folder = PartFolder.at(place)
    monkeypatch.setattr(part_folder, "ATTEMPTS", 7)
    folder.write(nl.open(EXAMPLE))
    monkeypatch.setattr(part_folder, "ATTEMPTS", 5)
    put = PartFolder._put

    def full(self: PartFolder, name: str, content: bytes) -> None:
        if name == f"runs-{cut + 1:06d}.parquet":
            raise OSError(28, "No space left on device")
        put(self, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(PartFolder, "_put", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            folder.write(nl.open(EXAMPLE))
    with pytest.raises(InputError, match="write them again" if cut else "holds no runs"):
        nl.relation(place)
    assert folder.write(nl.open(EXAMPLE)) == 4
    assert nl.relation(place).frame()["run"].is_unique


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = PartFolder.at(str(tmp_path / "parts"))
    folder.claim(nl.open(EXAMPLE))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(part_folder.os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        folder.write(nl.open(EXAMPLE))
    assert [path.name for path in (tmp_path / "parts").iterdir()] == [".netlimits"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("", "neither a folder nor a URL"),
        ("s3:/bucket/mesh", "neither a folder nor a URL"),
        ("nowhere://bucket/mesh", "Protocol not known: nowhere"),
        ("nowhere://me:secret@bucket/mesh", "Protocol not known: nowhere"),
        ("sftp://host/mesh", "any host key"),
        ("/proc/1/mesh", "cannot be written"),
        ("bucket://b/mesh\0", "cannot be written"),
        (str(QUICKSTART), "is a file"),
        (str(EXAMPLE), "in a campaign's own folder"),
        (str(EXAMPLE / "parts"), "in a campaign's own folder"),
    ],
)
def test_a_place_that_will_not_do_is_one_line(place, words, monkeypatch):
    if place.endswith("\0"):
        monkeypatch.setattr(Bucket, "pipe_file", lambda *_: (_ for _ in ()).throw(ValueError()))
    with pytest.raises(InputError) as caught:
        PartFolder.at(place).claim(None)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_duckdb_is_missed_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(DataError, match="netlimits"):
        PartFolder.at(str(tmp_path / "parts")).claim(None)
    assert not (tmp_path / "parts").exists()


def test_a_place_without_runs_says_so(tmp_path):
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="holds no runs"):
            nl.relation(str(place))
    with pytest.raises(InputError, match=r"netlimits\.open"):
        nl.relation(str(EXAMPLE))


def test_the_command_leaves_them_where_it_is_told(tmp_path):
    command = [str(EXAMPLE), "--format", "parquet"]
    outcome = CliRunner().invoke(export, [*command, "--out", str(tmp_path / "parts")])
    assert outcome.output == f"{tmp_path / 'parts'}: 1 file\n"
    assert len(nl.relation(str(tmp_path / "parts")).frame()) == len(nl.open(EXAMPLE).frame())
    assert "--out" in str(CliRunner().invoke(export, command).exception)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("error", [InputError("no"), SystemExit(1), KeyboardInterrupt(), None])
def test_runs_are_left_there_however_a_command_ends(tmp_path, capsys, error, as_json):
    parts = tmp_path / "parts"
    with pytest.raises(type(error)) if error else nullcontext():  # noqa: SIM117
        with sharing(PartFolder.at(str(parts)), EXAMPLE, as_json=as_json):
            if error:
                raise error
    assert len(nl.relation(str(parts)).frame())
    assert capsys.readouterr()[as_json] == f"{parts}: 1 file\n"


def test_what_cannot_be_left_there_is_told_with_the_way_to_do_it(tmp_path, other, capsys):
    place = PartFolder.at(str(tmp_path / "parts"))
    place.write(nl.open(other))
    with pytest.raises(SystemExit) as caught, sharing(place, EXAMPLE, as_json=False):
        pass
    assert caught.value.code == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    for words in (
        "another campaign's runs",
        f"all runs are in {EXAMPLE}",
        "--format parquet --out",
    ):
        assert words in told


def test_nothing_is_left_there_of_a_campaign_that_was_never_made(tmp_path):
    with (
        pytest.raises(InputError, match="no"),
        sharing(PartFolder.at(str(tmp_path / "parts")), tmp_path / "results", as_json=False),
    ):
        raise InputError("no")
    assert not (tmp_path / "parts").exists()
