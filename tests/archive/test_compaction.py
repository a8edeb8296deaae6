"""A campaign with packs: its raw output is where it was, for all that reads it."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from recorded import EXPERIMENT, recorded

from netlimits.archive import compaction, packs, parts, reader
from netlimits.archive.records import end_fields, run_fields
from netlimits.cli import group
from netlimits.errors import ArchiveError
from netlimits.model import Record

MANY = EXPERIMENT.replace("replicates: 2", "replicates: 12")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "ATTEMPTS", 4)


@pytest.fixture
def out(tmp_path) -> Path:
    return recorded(tmp_path / "out", failed=(3,), text=MANY).path


def rolled(out: Path) -> None:
    archive = reader.open(out).archive
    archive.lock()
    archive.compaction.roll_all()
    archive.close()


def files(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "raw").iterdir())


def read(out: Path) -> dict[int, str]:
    archive = reader.open(out).archive
    return {run: archive.raw.read(run, 1)[1].stdout for run in range(1, 25)}


def test_raw_output_of_all_parts_but_the_last_is_packed(out):
    before = read(out)
    rolled(out)
    written = reader.open(out).archive.parts()
    last = written[-1].about["runs"][0]
    kept = [name for name in files(out) if name.endswith("jsonl")]
    assert kept == [f"{run:06d}-1.jsonl" for run in range(last, 25)]
    assert len(packs.packs(files(out))) == len(written) - 1 > 3
    assert read(out) == before
    again = files(out)
    rolled(out)
    assert files(out) == again, "nothing is packed twice"


def test_a_campaign_packs_as_it_goes_and_goes_on_where_it_was(out):
    before = read(out)
    shutil.rmtree(out / "raw")
    (out / "raw").mkdir()
    campaign = reader.open(out)
    archive = campaign.archive
    most = 0
    for run in campaign.runs.values():
        if run.number % 10 == 1:  # another process
            archive.close()
            archive = reader.open(out).archive
            archive.lock()
        archive.append("start", **run_fields(run), attempt=2, started=1e9)
        digest = archive.raw.write(run.number, 2, [])
        ended = Record(run, 2, "ok", "", 1e9, 4, {"throughput_mbps": 1.0}, raw=digest)
        archive.append("end", **end_fields(ended))
        archive.roll()
        most = max(most, sum(name.endswith("jsonl") for name in files(out)))
    archive.close()
    assert most <= 3 * parts.ATTEMPTS
    assert len(packs.packs(files(out))) > 2
    assert {(run, 2) for run in before} == reader.open(out).archive.raw.attempts()


def test_commands_read_packed_output_as_they_read_files(out, tmp_path):
    shutil.copytree(out, tmp_path / "bare")
    rolled(out)
    for folder in (out, tmp_path / "bare"):
        (folder / "results.csv").unlink(missing_ok=True)
    for command in (["parse"], ["status", "--json"]):
        printed = []
        for folder in (out, tmp_path / "bare"):
            ran = CliRunner().invoke(group, [command[0], str(folder), *command[1:]])
            assert ran.exception is None, ran.output
            printed.append(ran.output.replace(str(folder), "").splitlines()[0])
        assert printed[0] == printed[1]
    packets = [reader.open(folder).packets(2) for folder in (out, tmp_path / "bare")]
    assert packets[0].equals(packets[1])


@pytest.mark.parametrize("with_parts", [True, False])
def test_a_journal_that_lost_its_end_is_told_by_packs(out, with_parts):
    rolled(out)
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(b"".join(lines[:10]))
    if not with_parts:
        shutil.rmtree(out / "parts")
    for name in files(out):
        if name.endswith("jsonl"):
            (out / "raw" / name).unlink()
    message = (
        "this line and all after it are lost"
        if with_parts
        else r"at run 6, whose output is .*runs-5-8\.z"
    )
    ran = CliRunner().invoke(group, ["status", str(out)])
    with pytest.raises(ArchiveError, match=message):
        raise ran.exception or AssertionError


def test_parts_that_are_lost_leave_packs_as_they_are(out, monkeypatch):
    before = read(out)
    rolled(out)
    packed = files(out)
    shutil.rmtree(out / "parts")
    monkeypatch.setattr(parts, "ATTEMPTS", 6)
    rolled(out)
    assert [name for name in files(out) if name in packed and name.endswith("zst")]
    assert read(out) == before


def test_a_full_disk_leaves_files_and_stops_no_campaign(out, monkeypatch):
    before = read(out)
    archive = reader.open(out).archive
    archive.lock()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packs, "write", full)
    while archive.roll():
        pass
    archive.append("opened")
    archive.close()
    assert len(archive.parts()) > 3, "parts are rolled all the same"
    assert len(files(out)) == 24
    assert read(out) == before


def test_a_campaign_at_work_keeps_one_part_however_many_there_are(out):
    archive = reader.open(out).archive
    archive.lock()
    archive.compaction.roll_all()
    for _ in range(3):  # as after a run
        archive.roll()
    assert len(archive.parts()) > 4
    gc.collect()
    kept = [thing for thing in gc.get_objects() if isinstance(thing, parts.Part)]
    archive.close()
    assert kept == [archive.compaction.last]


def test_a_part_that_cannot_be_written_is_tried_again_later(out, monkeypatch):
    archive = reader.open(out).archive
    archive.lock()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(compaction, "_write", full)
        assert not archive.roll()
        assert archive.compaction.problem == "No space left on device"
        archive.compaction.roll_all()
        assert not archive.parts()
    assert not archive.roll(), "it is not tried after every run"
    for _ in range(parts.ATTEMPTS):
        archive.append("closed")
    assert archive.roll()
    assert archive.compaction.problem == ""
    while archive.roll():
        pass
    archive.close()
    assert len(archive.parts()) > 4


def test_what_fails_by_a_mistake_stops_no_campaign(out, monkeypatch):
    archive = reader.open(out).archive
    archive.lock()

    def mistaken(*_: object) -> None:
        raise TypeError("of another version")

    monkeypatch.setattr(compaction, "_write", mistaken)
    assert not archive.roll()
    assert archive.compaction.problem == "of another version"
    archive.close()


def test_lines_without_an_outcome_are_no_failure(out):
    """A part ends with an outcome; what the lines after the last one wait for is nothing to tell."""
    archive = reader.open(out).archive
    archive.lock()
    while archive.roll():
        pass
    for _ in range(2 * parts.ATTEMPTS):
        archive.append("closed")
    assert not archive.roll()
    assert archive.compaction.problem == ""
    shutil.rmtree(out / "parts")
    archive.compaction.roll_all()
    archive.close()
    assert archive.compaction.problem == ""
    assert len(packs.packs(files(out))) == 5
    assert len(archive.parts()) == 6
