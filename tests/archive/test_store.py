from __future__ import annotations

import json
import math
import os

import pytest

from netlimits.archive.raw import RawEntry
from netlimits.archive.records import records, run_fields, unfinished
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError, ArchiveUnwritable
from netlimits.model import Command, Completed, Run

META = {"machines": {}, "netlimits": "0"}
RUNS = {n: Run(n, 1, f"c{n}", {"size": n}) for n in (1, 2, 3)}


def no_plan(file):
    file.write("run\n")


@pytest.fixture
def archive(tmp_path):
    store = Archive.create(tmp_path / "results", META, "experiment: x\n", {"sender": {}}, no_plan)
    store.lock()
    yield store
    store.close()


def start(archive: Archive, run: Run, attempt: int, started: float) -> None:
    archive.append("start", **run_fields(run), attempt=attempt, started=started)


def end(
    archive: Archive, run: Run, attempt: int, status: str, event: str = "end", **fields
) -> None:
    given = {"reason": "", "started": 9.0, "duration_s": 0.5, "figures": {}, **fields}
    archive.append(event, **run_fields(run), attempt=attempt, status=status, **given)


def a_campaign(archive: Archive) -> None:
    archive.append("found", role="sender", interface="data0", setting="offload", state={"µ": "on"})
    for run in RUNS.values():
        start(archive, run, 1, float(run.number))
        end(archive, run, 1, "ok", started=float(run.number), duration_s=1.0,
            figures={"throughput_mbps": 10.5 * run.number})  # fmt: skip
    archive.append("put_back", role="sender", interface="data0", setting="offload")


@pytest.mark.long
def test_a_journal_cut_at_every_byte_opens_and_goes_on(archive, tmp_path):
    a_campaign(archive)
    archive.close()
    path = archive.path / "journal.jsonl"
    whole = path.read_bytes()
    before: list[str] = []
    for cut in range(whole.index(b"\n") + 1, len(whole) + 1):  # the first line is made with it
        path.write_bytes(whole[:cut])
        again = Archive.open(archive.path)
        read_only = records(again)
        again.lock()
        assert records(again) == read_only
        start(again, RUNS[3], 2, 9.0)
        end(again, RUNS[3], 2, "failed", reason="r")
        again.close()
        after = records(again)
        assert after[-1].reason == "r"
        assert after[:-1] == read_only
        assert len({(r.run.number, r.attempt) for r in after}) == len(after)
        finished = [r.run.number for r in read_only if r.status == "ok"]
        assert len(finished) >= len(before), "a longer journal never knows less"
        before = finished
    assert before == [1, 2, 3]


def test_a_start_without_an_end_was_interrupted(archive):
    start(archive, RUNS[1], 1, 1.0)
    (record,) = records(archive)
    assert record.status == "interrupted"
    assert record.reason
    assert math.isnan(record.duration_s), "nobody was there to take it"


def test_what_was_parsed_last_counts(archive):
    a_campaign(archive)
    end(archive, RUNS[2], 1, "failed", "parsed", reason="now known")
    assert [r.status for r in records(archive)] == ["ok", "failed", "ok"]


def test_found_without_put_back_is_unfinished(archive):
    place = {"role": "sender", "interface": "data0", "setting": "offload"}
    archive.append("found", **place, state={"a": 1})
    assert [e["state"] for e in unfinished(archive)] == [{"a": 1}]
    archive.append("put_back", **place)
    assert unfinished(archive) == ()


def test_the_first_state_found_counts(archive):
    place = {"role": "sender", "interface": "data0", "setting": "offload"}
    archive.append("found", **place, state={"a": 1})
    archive.append("found", **place, state={"a": 2})
    assert unfinished(archive)[0]["state"] == {"a": 1}


def test_damage_in_the_middle_is_named_with_its_line(archive):
    a_campaign(archive)
    path = archive.path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{nonsense\n", *lines[2:]]))
    with pytest.raises(ArchiveError, match=r"journal.jsonl:2: is damaged"):
        list(archive.events())


def test_two_processes_cannot_hold_one_journal(archive):
    with pytest.raises(ArchiveError, match="another netlimits"):
        Archive.open(archive.path).lock()


def test_a_folder_that_is_no_campaign_or_of_another_version_is_refused(archive, tmp_path):
    with pytest.raises(ArchiveError, match=f"holds no campaign itself.*: {archive.path.name}$"):
        Archive.open(tmp_path)
    with pytest.raises(ArchiveError, match=r"holds no campaign .*`netlimits run`"):
        Archive.open(archive.path / "raw")
    (archive.path / "campaign.json").rename(archive.path / "away.json")
    with pytest.raises(ArchiveError, match=r"its campaign\.json is missing"):
        Archive.open(archive.path)
    (archive.path / "away.json").rename(archive.path / "campaign.json")
    with pytest.raises(ArchiveError, match="not empty"):
        Archive.create(archive.path, META, "", {}, no_plan)
    path = archive.path / "campaign.json"
    path.write_text(json.dumps({**archive.meta, "version": 99}))
    with pytest.raises(ArchiveError, match="version 99"):
        Archive.open(archive.path)
    path.write_text("[1]")
    with pytest.raises(ArchiveError, match="does not describe a campaign"):
        Archive.open(archive.path)


def test_a_full_disk_leaves_no_half_line_in_the_journal(archive):
    a_campaign(archive)
    good = (archive.path / "journal.jsonl").read_bytes()

    class Full:
        def __init__(self, file):
            self._file = file

        def write(self, data):
            return self._file.write(data[: len(data) // 2])

        def __getattr__(self, name):
            return getattr(self._file, name)

    journal = archive.journal
    real, journal._file = journal._file, Full(journal._file)
    with pytest.raises(ArchiveUnwritable, match=os.strerror(28)):
        start(archive, RUNS[1], 2, 1.0)
    journal._file = real
    assert (archive.path / "journal.jsonl").read_bytes() == good


def test_text_that_is_no_unicode_does_not_stop_the_journal(archive):
    end(archive, RUNS[1], 1, "failed", reason="bad \udcff byte")
    assert "bad" in records(archive)[0].reason
    completed = Completed("sender", Command(("x",)), 0, "\udcff", "", 1.0)
    archive.raw.write(1, 1, [RawEntry("client", completed)])
    assert archive.raw.read(1, 1)[0].step == "client"


def test_a_creation_that_fails_removes_what_it_wrote_and_nothing_else(tmp_path):
    folder = tmp_path / "results"

    def fails(_: object) -> None:
        (folder / "mine.txt").write_text("kept")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Archive.create(folder, META, "experiment: x\n", {"sender": {}}, fails)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
