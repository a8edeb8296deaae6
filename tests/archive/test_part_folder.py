"""Runs as parts in a folder anywhere: what is read of them is what the campaign tells."""

from __future__ import annotations

import uuid
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from folders import EXAMPLE

import netlimits as nl
from netlimits.archive import part_folder
from netlimits.archive.part_folder import PartFolder
from netlimits.cli.export import export
from netlimits.errors import InputError

CAMPAIGN = "one"


@pytest.fixture(params=["folder", "URL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder here, and one that only fsspec reaches."""
    if request.param == "folder":
        return str(tmp_path / "deep" / "parts")
    return f"memory://bucket-{uuid.uuid4().hex}/parts"


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["run", "attempt"], ignore_index=True)


@pytest.mark.parametrize("attempts", [4096, 5])
def test_what_is_read_is_what_the_campaign_tells(place, attempts, monkeypatch):
    monkeypatch.setattr(part_folder, "ATTEMPTS", attempts)
    runs = nl.open(EXAMPLE).relation()
    count = PartFolder.at(place).write(runs, CAMPAIGN)
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
    PartFolder.at(str(tmp_path / "parts")).write(nl.open(EXAMPLE).relation(), CAMPAIGN)
    files = sorted((tmp_path / "parts").iterdir())
    assert len({str(pq.read_schema(file).remove_metadata()) for file in files}) == 1
    read = pd.read_parquet(tmp_path / "parts")
    assert [*read.columns] == [*frame.columns]
    assert sorted(read["run"]) == sorted(frame["run"])


def test_what_is_written_again_takes_the_place_of_all_that_was_there(place, monkeypatch):
    folder, runs = PartFolder.at(place), nl.open(EXAMPLE).relation()
    monkeypatch.setattr(part_folder, "ATTEMPTS", 5)
    assert folder.write(runs, CAMPAIGN) == 4
    monkeypatch.setattr(part_folder, "ATTEMPTS", 10)
    assert folder.write(runs.filter("block <= 2"), CAMPAIGN) < 4
    assert set(nl.relation(place).frame()["block"]) == {1, 2}


def test_the_runs_of_another_campaign_are_left_alone(place):
    folder, runs = PartFolder.at(place), nl.open(EXAMPLE).relation()
    folder.write(runs, CAMPAIGN)
    for campaign in ("another", ""):
        with pytest.raises(InputError, match="another campaign"):
            folder.write(runs.filter("false"), campaign)
    assert len(nl.relation(place).frame()) == len(runs.frame())


def test_a_campaign_without_runs_is_one_file(place):
    runs = nl.open(EXAMPLE).relation().filter("false")
    assert PartFolder.at(place).write(runs, CAMPAIGN) == 1
    assert nl.relation(place).frame().empty


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    folder, runs = PartFolder.at(str(tmp_path / "parts")), nl.open(EXAMPLE).relation()
    folder.write(runs, CAMPAIGN)
    (before,) = (file.read_bytes() for file in (tmp_path / "parts").iterdir())

    def torn(table: object, file: object) -> None:
        file.write(b"PAR1 and then")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", torn)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        folder.write(runs, CAMPAIGN)
    assert [file.read_bytes() for file in (tmp_path / "parts").glob("*.parquet")] == [before]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere://bucket/mesh", "Protocol not known: nowhere"),
        ("s3://bucket/mesh", "s3fs"),
        ("/proc/1/mesh", "cannot be written"),
    ],
)
def test_a_place_that_cannot_be_reached_is_one_line(place, words):
    with pytest.raises(InputError) as caught:
        PartFolder.at(place).prepare(CAMPAIGN)
    assert str(caught.value).startswith(f"{place}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_place_without_runs_says_so(tmp_path):
    with pytest.raises(InputError, match="holds no runs"):
        nl.relation(str(tmp_path))
    with pytest.raises(InputError, match="cannot be read"):
        nl.relation(str(tmp_path / "missing"))


def test_the_command_leaves_them_where_it_is_told(tmp_path):
    command = [str(EXAMPLE), "--format", "parquet"]
    outcome = CliRunner().invoke(export, [*command, "--out", str(tmp_path / "parts")])
    assert outcome.output == f"{tmp_path / 'parts'}: 1 file\n"
    assert len(nl.relation(str(tmp_path / "parts")).frame()) == len(nl.open(EXAMPLE).frame())
    assert "--out" in str(CliRunner().invoke(export, command).exception)
