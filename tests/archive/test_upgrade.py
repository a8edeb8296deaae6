"""Version 2 made of version 1: it tells the same, and the old one stays until it does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from killing import killed_after
from recorded import recorded

import netlimits
from netlimits.archive import parts, reader, rolling, upgrade
from netlimits.archive.records import end_fields, run_fields, unfinished
from netlimits.cli import group
from netlimits.errors import ArchiveError, NetlimitsError
from netlimits.importers.folder import import_files
from netlimits.model import Record

EXAMPLES = Path(__file__).parents[2] / "notebooks"
NAMES = ("example-campaign", "example-campaign-mtu1500")
OWN = ("campaign.json", "journal.jsonl", "results.csv", "results.json", "results.parquet")


@pytest.fixture(params=NAMES)
def old(request, tmp_path) -> Path:
    return copied(request.param, tmp_path / "out")


@pytest.fixture
def out(tmp_path) -> Path:
    return copied(NAMES[0], tmp_path / "out")


def copied(name: str, folder: Path) -> Path:
    shutil.copytree(EXAMPLES / name, folder)
    assert json.loads((folder / "campaign.json").read_text())["version"] == 1
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def call(*words: object) -> Result:
    ran = CliRunner().invoke(group, ["upgrade", *map(str, words)])
    assert ran.exception is None or isinstance(ran.exception, SystemExit | NetlimitsError), ran
    return ran


def beside(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.iterdir()} - {folder.name}


def test_it_tells_what_the_old_one_told(old):
    before, campaign = tree(old), netlimits.open(old)
    frame, intervals, records = campaign.frame(), campaign.intervals(), campaign.records()
    state = campaign.state()
    ran = call(old)
    lines = (old / "journal.jsonl").read_bytes().count(b"\n")
    assert f"{old}: of version 2 now, {lines} events" in ran.output
    campaign = netlimits.open(old)
    pd.testing.assert_frame_equal(campaign.frame(), frame)
    pd.testing.assert_frame_equal(campaign.intervals(), intervals)
    assert repr(campaign.records()) == repr(records)
    assert campaign.state() == state
    assert campaign.archive.journal.sealed
    assert tree(old.with_name("out.version-1")) == before
    after = tree(old)
    assert {k: v for k, v in after.items() if k not in OWN} == {
        k: v for k, v in before.items() if k not in OWN
    }
    assert beside(old) == {"out.version-1"}
    about = json.loads(after["campaign.json"])
    assert about["upgraded"]["from"] == 1
    assert len(about["id"]) == 32
    for command in ("status", "table", "parse"):
        ran = CliRunner().invoke(group, [command, str(old)])
        assert ran.exception is None, ran.output


def test_what_is_lost_or_changed_of_it_is_told(out):
    call(out)
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(b"".join(lines[:5] + lines[6:]))
    with pytest.raises(ArchiveError, match=r"journal\.jsonl:6: is line 7 of this journal"):
        netlimits.open(out).records()
    (out / "journal.jsonl").write_bytes(b"".join(lines))
    with (out / "experiment.yaml").open("a") as file:
        file.write("\n")
    with pytest.raises(ArchiveError, match=r"experiment\.yaml: was changed since"):
        netlimits.open(out).frame()


def test_one_of_version_2_stays_as_it_is(out):
    call(out)
    before = tree(out)
    assert f"{out}: is of version 2 already" in call(out).output
    about = json.loads(call(out, "--json").output)
    assert about == {"path": str(out), "version": 2, "from": 2, "events": 0, "old": None}
    assert tree(out) == before


def test_json_says_what_came_of_it(out):
    about = json.loads(call(out, "--json").output)
    assert (about["version"], about["from"]) == (2, 1)
    assert about["old"] == f"{out}.version-1"


def test_a_large_one_gets_parts_and_packs(out, monkeypatch):
    frame = netlimits.open(out).frame()
    monkeypatch.setattr(parts, "ATTEMPTS", 4)
    call(out)
    campaign = netlimits.open(out)
    assert len(campaign.archive.parts()) > 4
    pd.testing.assert_frame_equal(campaign.frame(), frame, check_dtype=False)
    assert [*(out / "raw").glob("*.zst")]
    assert len([*(out.with_name("out.version-1") / "raw").iterdir()]) == 18
    assert campaign.archive.read_raw(1, 1)


def test_parts_that_cannot_be_written_leave_the_old_one_as_it_is(out, monkeypatch):
    monkeypatch.setattr(parts, "ATTEMPTS", 4)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rolling, "next_part", full)
    refused(out, "parts cannot be written: No space left on device")


def test_a_torn_last_line_stays_in_the_old_one_alone(out):
    with (out / "journal.jsonl").open("a") as file:
        file.write('{"event": "sta')
    frame = netlimits.open(out).frame()
    call(out)
    pd.testing.assert_frame_equal(netlimits.open(out).frame(), frame)
    assert (out.with_name("out.version-1") / "journal.jsonl").read_text().endswith('"sta')


def test_a_file_system_without_links_has_copies(out, monkeypatch):
    def no_links(*_, **__):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    before = tree(out)
    call(out)
    assert tree(out)["raw/000001-1.jsonl"] == before["raw/000001-1.jsonl"]
    assert (out / "raw" / "000001-1.jsonl").stat().st_nlink == 1


def downgraded(folder: Path) -> Path:
    """A folder of version 2 as version 1 had it."""
    about = json.loads((folder / "campaign.json").read_text())
    about.pop("id")
    (folder / "campaign.json").write_text(json.dumps({**about, "version": 1}))
    lines = []
    for line in (folder / "journal.jsonl").read_text().splitlines()[1:]:
        event = json.loads(line)
        new = {"n", "crc"} | (set() if "rows" in event else {"block", "config", "values"})
        lines.append(json.dumps({k: v for k, v in event.items() if k not in new}) + "\n")
    (folder / "journal.jsonl").write_text("".join(lines))
    for name in ("results.csv", "results.parquet", "results.json"):
        (folder / name).unlink(missing_ok=True)
    return folder


def test_what_was_imported_is_upgraded(tmp_path):
    captures = Path(__file__).parents[1] / "captures" / "imports"
    files = [captures / "percentile-script.csv", captures / "several-k.txt"]
    out = tmp_path / "out"
    import_files(files, out)
    frame = netlimits.open(downgraded(out)).frame()
    call(out)
    pd.testing.assert_frame_equal(netlimits.open(out).frame(), frame)
    assert CliRunner().invoke(group, ["parse", str(out)]).exception is None


def test_runs_that_failed_were_interrupted_or_parsed_again_are_what_they_were(tmp_path):
    out = recorded(tmp_path / "out", failed=(2,)).path
    archive = reader.open(out).archive
    archive.lock()
    runs = reader.open(out).runs
    place = {"role": "source", "interface": "data0", "setting": "offload"}
    archive.append("found", **place, state={"a": 1})
    odd = {"throughput_mbps": float("nan"), "é": 1.0}
    archive.append("parsed", **end_fields(Record(runs[3], 1, "ok", "\udcff", 1e9, 4, odd)))
    archive.append("start", **run_fields(runs[4]), attempt=2, started=2e9)
    archive.close()
    campaign = netlimits.open(downgraded(out))
    records, left = repr(campaign.records()), unfinished(campaign.archive)
    call(out)
    campaign = netlimits.open(out)
    assert repr(campaign.records()) == records
    assert [e["state"] for e in unfinished(campaign.archive)] == [e["state"] for e in left]


# -- what keeps it from that -----------------------------------------------------------------


def refused(out: Path, why: str) -> None:
    before, names = tree(out), beside(out)
    complaint = str(call(out).exception)
    assert why in complaint
    assert "\n" not in complaint
    assert tree(out) == before
    assert beside(out) == names, "nothing is left"


def test_a_campaign_that_runs_is_left_alone(out):
    archive = reader.open(out).archive
    archive.lock()
    refused(out, "another netlimits is running this campaign")
    archive.close()


def test_a_place_that_is_taken_is_named(out):
    out.with_name("out.version-1").mkdir()
    refused(out, "out.version-1: is there already; move it away")


def test_a_damaged_journal_is_named_with_its_line(out):
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(b"".join([*lines[:3], b"{nonsense\n", *lines[3:]]))
    refused(out, "journal.jsonl:4: is damaged")


def test_a_plan_that_was_changed_is_no_label_of_runs(out):
    text = (out / "experiment.yaml").read_text()
    (out / "experiment.yaml").write_text(text.replace("[1024, 8192]", "[8192, 1024]"))
    refused(out, "no longer makes plan.csv")


@pytest.mark.parametrize("name", ["raw/000001-1.jsonl", "raw", "hosts/x.json", "notes"])
def test_nothing_is_taken_through_a_link(out, tmp_path, name):
    path = out / name
    if path.exists():
        path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = beside(out)
    assert "is a link" in str(call(out).exception)
    assert beside(out) == before


def test_a_pipe_is_not_waited_for(out):
    os.mkfifo(out / "raw" / "000001-2.jsonl")
    assert "is a link or no file" in str(call(out).exception)
    assert beside(out) == set()


def test_what_does_not_tell_the_same_takes_no_place(out, monkeypatch):
    events = upgrade._events

    def another(campaign, runs):
        for number, event in enumerate(events(campaign, runs)):
            if number == 7 and not again:
                event = {**event, "started": 1.0}
            yield event
        again.append(True)

    again: list[bool] = []
    monkeypatch.setattr(upgrade, "_events", another)
    refused(out, "is not what the old journal says")


def test_no_folder_is_one_line(tmp_path):
    assert "is not there" in str(call(tmp_path / "nowhere").exception)
    (tmp_path / "loop").symlink_to("loop")
    assert isinstance(call(tmp_path / "loop").exception, ArchiveError)


def test_a_full_disk_leaves_the_old_one(out, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(upgrade, "_verify", full)
    refused(out, "No space left on device")


# -- kills -----------------------------------------------------------------------------------

UPGRADE = """\
from netlimits.archive import upgrade
upgrade._tables = lambda campaign: None
upgrade.upgraded(place)
print(count)
"""


def killed(out: Path, last: int) -> subprocess.CompletedProcess[bytes]:
    return killed_after(last, ("fsync", "rename", "link", "mkdir"), UPGRADE, out)


@pytest.mark.long
def test_a_kill_at_any_step_leaves_the_old_one_or_what_the_next_call_finishes(tmp_path):
    source = EXAMPLES / NAMES[0]
    shutil.copytree(source, tmp_path / "whole")
    steps = int(killed(tmp_path / "whole", 10**6).stdout)
    before = tree(source)
    missing = 0
    for last in [*range(0, steps - 8, 5), *range(steps - 8, steps)]:
        out = tmp_path / f"killed-{last}" / "out"
        shutil.copytree(source, out)
        assert killed(out, last).returncode == -9
        old = out.with_name("out.version-1")
        if old.exists():
            assert tree(old) == before
            missing += not out.exists()
        else:
            assert tree(out) == before
        ran = call(out)
        assert "of version 2" in ran.output, ran.exception
        assert beside(out) == {"out.version-1"}
        assert tree(old) == before
        assert len(netlimits.open(out).records()) == 18
    assert missing == 2, "between the two renames, and before the first is on disk"
