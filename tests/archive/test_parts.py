"""The journal in columns: what parts tell is what the journal tells, whatever is lost of them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import folders
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import EXPERIMENT, begun, recorded, rewritten

import netlimits
from netlimits.archive import parts, reader
from netlimits.archive.formats import digest
from netlimits.archive.reader import Campaign
from netlimits.archive.records import end_fields, outcomes, run_fields, unfinished
from netlimits.campaign.figures import reparse
from netlimits.cli import group
from netlimits.cli.shared import logins
from netlimits.errors import ArchiveError
from netlimits.model import Record
from netlimits.report import contents

EXAMPLE = Path(__file__).parents[2] / "notebooks" / "example-campaign"
MANY = EXPERIMENT.replace("replicates: 2", "replicates: 12")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "ATTEMPTS", 4)


def rolled(path: Path, failed=(3, 9), text: str = MANY) -> Campaign:
    """A campaign of 24 runs in parts of four attempts, all but its last runs."""
    recorded(path, failed=failed, text=text, traced=())
    campaign = reader.open(path)
    campaign.archive.lock()
    place = {"role": "source", "interface": "data0", "setting": "offload"}
    campaign.archive.append("found", **place, state={"a": 1})
    run = campaign.runs[1]
    campaign.archive.append("start", **run_fields(run), attempt=2, started=2e9)
    while campaign.archive.roll():
        pass
    campaign.archive.close()
    return reader.open(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    before, parts.ATTEMPTS = parts.ATTEMPTS, 4
    out = tmp_path_factory.mktemp("rolled") / "out"
    rolled(out)
    parts.ATTEMPTS = before
    return out


@pytest.fixture(scope="module")
def told(whole: Path) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, object]]:
    """What the whole campaign tells."""
    campaign = reader.open(whole)
    return campaign.frame(), campaign.intervals(), campaign.state()


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


def bare(folder: Path, to: Path) -> Campaign:
    """The same campaign without parts."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("parts"))
    return reader.open(to)


def alike(folder: Path, other: Campaign) -> None:
    """What is read of a folder is what the journal alone tells."""
    campaign = reader.open(folder)
    frame, whole = campaign.frame(), other.frame()
    pd.testing.assert_frame_equal(frame, whole)
    assert frame.attrs == whole.attrs
    mine, theirs = campaign.intervals(), other.intervals()
    pd.testing.assert_frame_equal(mine, theirs)
    assert mine.attrs == theirs.attrs
    state, expected = campaign.state(), other.state()
    assert {**state, "path": ""} == {**expected, "path": ""}
    assert campaign.ok_runs() == other.ok_runs()
    runs = outcomes(campaign.archive)
    assert {r for r in other.runs if r in runs} == {
        r.run.number for r in other.records() if r.status != "interrupted"
    }
    assert runs.counts == outcomes(other.archive).counts


def test_parts_tell_what_the_journal_tells(out, tmp_path):
    assert len(reader.open(out).archive.parts()) > 4
    alike(out, bare(out, tmp_path / "bare"))


def test_columns_that_are_not_asked_for_are_not_read(out):
    frame = reader.open(out).frame(("throughput_mbps", "status"))
    assert list(frame.columns) == ["run", "attempt", "status", "mtu", "throughput_mbps"]
    assert "streams" in frame.attrs["narrowed"]
    whole = reader.open(out).frame()
    pd.testing.assert_frame_equal(frame, whole[frame.columns], check_like=True)


def test_coded_text_is_the_same_text(out):
    campaign = reader.open(out)
    columns = ("throughput_mbps", "status", "config", "reason")
    coded, frame = campaign.frame(columns, coded=True), campaign.frame(columns)
    words = ["status", "config", "reason"]
    assert all(isinstance(coded[name].dtype, pd.CategoricalDtype) for name in words)
    pd.testing.assert_frame_equal(coded.astype(frame.dtypes), frame)
    assert coded.attrs == frame.attrs


@pytest.mark.long
def test_tables_and_charts_of_coded_text_are_those_of_text(out, tmp_path, monkeypatch):
    """A failed run, one that was tried twice, and a status that no run is left with."""
    ways = [["table", "--of", "throughput"], ["table", "--of", "throughput", "--format", "json"]]
    ways.append(["figures", "--of", "throughput", "--format", "svg", "--out", str(tmp_path)])
    told = []
    for coded in (True, False):
        frame = Campaign.frame

        def plain(self, columns=None, *, coded=False, whole=frame):
            return whole(self, columns)

        if not coded:
            monkeypatch.setattr(Campaign, "frame", plain)
        for command, *options in ways:
            ran = CliRunner().invoke(group, [command, str(out), *options])
            assert ran.exit_code == 0, ran.output
            told.append(ran.output)
        told.append((tmp_path / "percentiles-throughput.svg").read_text())
    assert told[:4] == told[4:]
    assert "ok" in told[0]


def test_what_is_parsed_again_takes_the_place_of_what_was_told(out, tmp_path):
    campaign = reader.open(out)
    campaign.archive.lock()
    for run, status in ((2, "failed"), (17, "invalid"), (24, "failed")):
        record = Record(campaign.runs[run], 1, status, "now known", 1e9, 4, {})
        campaign.archive.append("parsed", **end_fields(record))
    campaign.archive.close()
    alike(out, bare(out, tmp_path / "bare"))
    assert len(campaign.intervals()) == 8 * (24 - 2 - 3), "two failed, three have none any more"
    campaign.archive.lock()
    for run in (2, 5, 6, 7, 8, 9, 10, 11, 12):
        interim = ({"stream": 1, "ending_s": 1e9, "interval_s": 1.0, "throughput_mbps": 7.5},)
        figures = {"throughput_mbps": 7.5, "disturbed_pct": 3.0}
        record = Record(campaign.runs[run], 1, "ok", "", 1e9, 4, figures, interim)
        campaign.archive.append("parsed", **end_fields(record))
    count = len(campaign.archive.parts())
    assert campaign.archive.roll()
    assert len(campaign.archive.parts()) == count + 1
    campaign.archive.close()
    alike(out, bare(out, tmp_path / "again"))


def test_figures_of_several_kinds_are_what_they_are_in_the_journal(tmp_path, monkeypatch):
    values = '[1, "a b", true, 2.5]'
    text = MANY.replace("[1500, 8896]", values).replace('"${mtu}"', "1K")
    recorded(tmp_path / "out", text=text, traced=())
    campaign = reader.open(tmp_path / "out")
    archive = campaign.archive
    odd = (0, 1, 2.5, True, "x", 2**70, -1, float("nan"), "é", "\ud800", "2.5")
    archive.lock()
    for number, run in campaign.runs.items():
        figures = {
            "mixed": odd[number % len(odd)],
            **({"late": odd[4]} if number > 40 else {}),
            **({"whole": number} if number % 3 else {}),
            "flag": bool(number % 2),
            "words": odd[8 + number % 2],
            "wide": 2**70 if number == 5 else number,
            "shares": number / 7 if number % 5 else number,
        }
        record = Record(run, 2, "ok", "", 1e9, 4, figures)
        archive.append("start", **run_fields(run), attempt=2, started=1e9)
        archive.append("end", **end_fields(record))
    while archive.roll():
        pass
    archive.close()
    assert len(archive.parts()) > 8
    other = bare(tmp_path / "out", tmp_path / "bare")
    pd.testing.assert_frame_equal(reader.open(campaign.path).frame(), other.frame())


def at_once(path: Path, ends: list[int], killed: int | None = None) -> Campaign:
    """A campaign three of whose runs go on at a time; `ends` says which of them ends each time.

    Its process is killed before the run `killed`, and another one goes on.
    """
    recorded(path, text=MANY, traced=())
    campaign = reader.open(path)
    archive, going = campaign.archive, []
    archive.lock()
    for number, (run, end) in enumerate(zip(campaign.runs.values(), ends, strict=True), 1):
        if number == killed:
            going.clear()
            archive.append("opened")
        archive.append("start", **run_fields(run), attempt=2, started=1e9 + number)
        going.append((run, 1e9 + number))
        if len(going) < 3:
            continue
        run, started = going.pop(end)
        interim = ({"stream": 1, "ending_s": started, "interval_s": 1.0, "throughput_mbps": 7.5},)
        record = Record(run, 2, "ok", "", started, 4, {"throughput_mbps": number}, interim)
        archive.append("end", **end_fields(record))
        archive.roll()
    while archive.roll():
        pass
    archive.close()
    return reader.open(path)


@pytest.mark.long
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    ends=st.lists(st.integers(0, 2), min_size=24, max_size=24),
    killed=st.none() | st.integers(2, 24),
    lost=st.integers(0, 9),
)
def test_runs_that_go_on_at_the_end_of_a_part_are_told_by_the_next(
    tmp_path_factory, ends, killed, lost
):
    folder = tmp_path_factory.mktemp("at_once")
    campaign = at_once(folder / "out", ends, killed)
    written = campaign.archive.parts()
    assert len(written) > 8
    assert any(part.about["going"] for part in written)
    alike(campaign.path, bare(campaign.path, folder / "bare"))
    (campaign.path / f"parts/{lost:06d}.parquet").unlink(missing_ok=True)
    alike(campaign.path, reader.open(folder / "bare"))
    shutil.rmtree(folder)


def test_runs_that_are_measured_now_are_told(tmp_path):
    campaign = at_once(tmp_path / "parted", [1] * 24)
    shutil.copytree(campaign.path, tmp_path / "bare", ignore=shutil.ignore_patterns("parts"))
    campaign.archive.lock()
    try:
        state = reader.open(campaign.path).state()
    finally:
        campaign.archive.close()
    other = reader.open(tmp_path / "bare")
    other.archive.lock()
    try:
        expected = reader.open(other.path).state()
    finally:
        other.archive.close()
    assert state["running"]["runs"] == expected["running"]["runs"] == [1, 24]
    assert state["interrupted"] == expected["interrupted"] == 0


# -- what is lost ---------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_parts_cut_or_flipped_anywhere_change_no_table(tmp_path_factory, whole, told, data):
    folder = tmp_path_factory.mktemp("cut") / "out"
    shutil.copytree(whole, folder)
    files = sorted((folder / "parts").glob("[0-9]*"))
    for file in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=3, unique=True)):
        raw = bytearray(file.read_bytes())
        what = data.draw(st.sampled_from(("cut", "flip", "gone")))
        if what == "gone":
            file.unlink()
        elif what == "cut":
            file.write_bytes(raw[: data.draw(st.integers(0, len(raw) - 1))])
        else:
            bit = data.draw(st.integers(0, 8 * len(raw) - 1))
            raw[bit // 8] ^= 1 << bit % 8
            file.write_bytes(raw)
    campaign, (frame, intervals, state) = reader.open(folder), told
    pd.testing.assert_frame_equal(campaign.frame(), frame)
    pd.testing.assert_frame_equal(campaign.intervals(), intervals)
    assert {**campaign.state(), "path": ""} == {**state, "path": ""}
    shutil.rmtree(folder)


@pytest.mark.long
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_kill_at_any_byte_of_the_journal_and_of_the_parts_is_gone_on_from(
    tmp_path_factory, whole, data
):
    """The journal cut anywhere, with any of the parts that were written by then."""
    folder = tmp_path_factory.mktemp("killed") / "out"
    shutil.copytree(whole, folder)
    journal = folder / "journal.jsonl"
    text = journal.read_bytes()
    cut = data.draw(st.integers(text.index(b"\n") + 1, len(text)))
    journal.write_bytes(text[:cut])
    for part in reader.open(whole).archive.parts():
        names = [*part.names, parts.json_name(part.number)]
        kept = names
        if part.end.size > cut:
            kept = []
        elif data.draw(st.booleans()):  # killed while it was written: its JSON comes last
            kept = names[: data.draw(st.integers(0, 2))]
        for name in set(names) - {*kept}:
            (folder / name).unlink(missing_ok=True)
    for file in (folder / "raw").iterdir():
        file.unlink()
    campaign = reader.open(folder)
    other = bare(folder, folder.parent / "bare")
    pd.testing.assert_frame_equal(campaign.frame(), other.frame())
    campaign.archive.lock()
    head = replace(campaign.archive.journal.head)
    while campaign.archive.roll():
        pass
    run = campaign.runs[24]
    campaign.archive.append("start", **run_fields(run), attempt=3, started=9.0)
    campaign.archive.close()
    other.archive.lock()
    assert other.archive.journal.head == head
    other.archive.append("start", **run_fields(run), attempt=3, started=9.0)
    other.archive.close()
    pd.testing.assert_frame_equal(reader.open(folder).frame(), reader.open(other.path).frame())
    shutil.rmtree(folder.parent)


def test_a_journal_shorter_than_its_parts_is_told(out):
    path = out / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20]))
    count = parts.newest(reader.open(out).archive.folder)
    for command in ("status", "table", "parse"):
        ran = CliRunner().invoke(group, [command, str(out)])
        assert isinstance(ran.exception, ArchiveError)
        assert (
            f"journal.jsonl:21: this line and all after it are lost: it had {count.end.lines} lines when"
            in str(ran.exception)
        )


def test_parts_of_another_journal_count_for_nothing(out, tmp_path):
    rewritten(
        out, lambda body: body.replace(b'"throughput_mbps": 200.0', b'"throughput_mbps": 250.0')
    )
    assert reader.open(out).archive.parts() == ()
    frame = reader.open(out).frame()
    assert next(iter(frame["throughput_mbps"])) == 250.0
    campaign = reader.open(out)
    campaign.archive.lock()
    while campaign.archive.roll():
        pass
    campaign.archive.close()
    assert len(reader.open(out).archive.parts()) > 4
    pd.testing.assert_frame_equal(reader.open(out).frame(), frame)


@pytest.mark.parametrize("name", ["000002.parquet", "000003-interim.parquet", "000001.json"])
def test_parse_makes_what_is_lost_of_parts_again(out, name):
    before = {file.name: file.read_bytes() for file in (out / "parts").iterdir()}
    raw = bytearray(before[name])
    raw[len(raw) // 2] ^= 1
    (out / "parts" / name).write_bytes(raw)
    (out / "parts" / "000005.parquet").unlink()
    ran = CliRunner().invoke(group, ["parse", str(out)])
    assert ran.exception is None, ran.output
    assert {file.name: file.read_bytes() for file in (out / "parts").iterdir()} == before


@pytest.mark.parametrize("name", ["000001.json", "000001.parquet", "000002-interim.parquet"])
def test_nothing_is_read_through_a_link(out, tmp_path, name):
    file = out / "parts" / name
    elsewhere = tmp_path / name
    shutil.move(file, elsewhere)
    file.symlink_to(elsewhere)
    alike(out, bare(out, tmp_path / "bare"))
    assert len(reader.open(out).archive.parts()) == (0 if name.endswith("json") else 6)


def test_what_is_put_back_goes_by_parts_of_ones_own_alone(out, tmp_path, monkeypatch):
    """Somebody may have put parts into a folder whose journal is as it was."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.rmtree(out / "parts")
    campaign = begun(out)
    with logins.locked(campaign):
        campaign.archive.append("put_back", role="source", interface="data0", setting="offload")
        campaign.archive.compaction.roll_all()
        registered = len(campaign.archive.parts())
    place = {"role": "source", "interface": "data0", "setting": "offload"}
    assert registered > 4
    assert reader.open(out).archive.own_part().number == registered
    assert unfinished(reader.open(out).archive) == ()
    file = out / parts.json_name(registered)
    about = json.loads(file.read_text())
    about.pop("sha256")
    about["unfinished"] = [{"event": "found", "at": 1.0, **place, "state": {"a": 2}}]
    file.write_text(json.dumps({**about, "sha256": digest(about)}))
    archive = reader.open(out).archive
    assert len(archive.parts()) == registered, "it says of itself that it is whole"
    assert archive.own_part() is None
    assert unfinished(archive) == ()


def test_what_is_written_goes_through_no_link(out, tmp_path):
    shutil.rmtree(out / "parts")
    trap = tmp_path / "trap"
    trap.mkdir()
    (out / "parts").symlink_to(trap)
    archive = reader.open(out).archive
    archive.lock()
    assert not archive.roll()
    archive.close()
    assert not [*trap.iterdir()]


def test_a_full_disk_stops_no_campaign(out, monkeypatch):
    shutil.rmtree(out / "parts")
    archive = reader.open(out).archive
    archive.lock()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(type(archive.folder), "write", full)
        assert not archive.roll()
    assert not archive.roll(), "it is not tried after every run"
    archive.append("opened")
    archive.close()


def test_a_journal_damaged_meanwhile_is_for_its_readers_to_tell(out):
    shutil.rmtree(out / "parts")
    archive = reader.open(out).archive
    archive.lock()
    raw = bytearray((out / "journal.jsonl").read_bytes())
    raw[1500] ^= 1
    (out / "journal.jsonl").write_bytes(raw)
    assert not archive.roll()
    archive.close()
    with pytest.raises(ArchiveError, match=r"journal\.jsonl:\d+: "):
        reader.open(out).frame()


@pytest.mark.long
def test_commands_on_a_campaign_with_parts(out):
    for command in (["status"], ["table"], ["export"], ["figures", "--out", str(out / "f")]):
        ran = CliRunner().invoke(group, [command[0], str(out), *command[1:]])
        assert isinstance(ran.exception, SystemExit | None), ran.exception
    state = json.loads(CliRunner().invoke(group, ["status", str(out), "--json"]).output)
    assert (state["ok"], state["failed"], state["interrupted"]) == (22, 2, 1)
    assert state["not_put_back"] == [{"role": "source", "interface": "data0", "setting": "offload"}]


def with_raw_output(out: Path) -> Campaign:
    """A campaign of 18 runs with figures made up, and raw output that tells others."""
    campaign = folders.complete(out, EXAMPLE / "experiment.yaml", replicates=3)
    example = reader.open(EXAMPLE)
    by_config = {r.run.config: r.run.number for r in example.records()}
    for number, run in campaign.runs.items():
        campaign.archive.raw.write(number, 1, example.archive.raw.read(by_config[run.config], 1))
    return reader.open(out)


@pytest.mark.long
def test_raw_output_of_a_campaign_with_parts_is_read_again_as_without(tmp_path, monkeypatch):
    campaign = with_raw_output(tmp_path / "out")
    out = campaign.path
    bare(out, tmp_path / "bare")
    campaign.archive.lock()
    campaign.archive.compaction.roll_all()
    campaign.archive.close()
    assert len(campaign.archive.parts()) == 2
    printed = []
    for folder in (out, tmp_path / "bare"):
        ran = CliRunner().invoke(group, ["parse", str(folder)])
        assert ran.exception is None, ran.output
        printed.append(ran.output.splitlines()[0])
    assert printed == ["18 attempts read again, 18 changed"] * 2
    told = [reader.open(folder).frame() for folder in (out, tmp_path / "bare")]
    pd.testing.assert_frame_equal(*told)


def test_what_was_parsed_before_is_read_again_in_pieces_too(tmp_path, monkeypatch):
    out = with_raw_output(tmp_path / "out").path
    monkeypatch.setattr(Campaign, "records", None)  # as a whole
    read = []
    real = reparse._interpret
    monkeypatch.setattr(reparse, "_interpret", lambda r, *rest: read.append(r) or real(r, *rest))
    for changed in (18, 0):
        campaign = reader.open(out)
        campaign.archive.lock()
        campaign.archive.compaction.roll_all()
        assert campaign.archive.parts()
        read.clear()
        assert reparse.reparse(campaign) == (18, changed)
        assert sorted(record.run.number for record in read) == [*range(1, 19)]
        campaign.archive.close()
    assert any(part.about["repeated"] for part in reader.open(out).archive.parts())


def test_csv_comes_in_pieces(out, tmp_path):
    assert len([*reader.open(out).frames()]) == len(reader.open(out).archive.parts()) + 1
    CliRunner().invoke(group, ["export", str(out), "--format", "csv", "--out", str(tmp_path / "c")])
    reader.open(out).frame().to_csv(tmp_path / "whole.csv", index=False)
    mine, whole = pd.read_csv(tmp_path / "c"), pd.read_csv(tmp_path / "whole.csv")
    pd.testing.assert_frame_equal(mine, whole)


def test_chosen_attempts_are_rows_of_the_frame(out):
    campaign = reader.open(out)
    wanted = campaign.frame().iloc[[20, 3, 9]]
    rows = campaign.attempts(wanted[["run", "attempt"]])
    pd.testing.assert_frame_equal(rows, wanted, check_dtype=False)


def test_records_of_some_runs_are_those_of_all(out):
    campaign = reader.open(out)
    every = campaign.records()
    assert len(campaign.archive.parts()) > 1
    numbers = sorted({record.run.number for record in every})
    for some in ({numbers[0]}, {numbers[-1]}, {*numbers[::3]}, {*numbers}, {max(numbers) + 1}):
        expected = [record for record in every if record.run.number in some]
        assert campaign.records_of(some) == expected


def test_an_attempt_that_was_parsed_again_is_in_one_piece(tmp_path):
    campaign = with_raw_output(tmp_path / "out")
    for _ in range(2):
        campaign = reader.open(campaign.path)
        campaign.archive.lock()
        reparse.reparse(campaign)
        campaign.archive.compaction.roll_all()
        campaign.archive.close()
    pieces = pd.concat(reader.open(campaign.path).frames())
    assert not pieces.duplicated(["run", "attempt"]).any()
    assert len(pieces) == len(campaign.frame())


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("compare", "OUT"),
        *(("export", "--format", form) for form in ("json", "influx", "openmetrics", "opensearch")),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_campaign_with_parts_is_printed_as_one_without(out, tmp_path, words):
    """Its commands read only some columns, or a part at a time."""

    def printed(folder: Path) -> str:
        argv = [words[0], str(folder), *(str(folder) if w == "OUT" else w for w in words[1:])]
        done = CliRunner().invoke(group, argv)
        assert done.exit_code == 0, done.output
        text = done.output.replace(str(folder), "OUT")
        return text.replace('_s": 4.0,', '_s": 4,')  # a part of integers keeps them

    assert printed(out) == printed(bare(out, tmp_path / "bare").path)


def test_a_page_of_parts_is_that_of_records(out, tmp_path):
    campaign = reader.open(out)
    attempts = campaign.frame(contents.ATTEMPT)
    failures, more = contents.failures(attempts)
    assert more == 0
    failed = [r for r in campaign.records() if r.status != "ok"]
    assert sum(failure.count for failure in failures) == len(failed)
    assert {(f.status, f.reason) for f in failures} == {(r.status, r.reason) for r in failed}


def test_results_of_before_there_were_parts_go(out):
    (out / "results.csv").write_text("old\n")
    campaign = netlimits.open(out)
    assert campaign.write_results() == (out / "parts",)
    assert not (out / "results.csv").exists()
