"""A journal that lost, doubled, moved or changed a line says so, and at which line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import edited, recorded, rewritten

import netlimits
from netlimits.archive import frames, reader
from netlimits.archive.journal import Head
from netlimits.archive.store import Archive
from netlimits.cli import group
from netlimits.errors import ArchiveError, ArchiveUnwritable, NetlimitsError

EXAMPLES = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    recorded(out)
    return out


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


def lines(folder: Path) -> list[bytes]:
    return (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)


def write(folder: Path, content: list[bytes]) -> None:
    (folder / "journal.jsonl").write_bytes(b"".join(content))


def refusals(folder: Path) -> list[str]:
    """What each reader says."""
    complaints = []
    for command in ("status", "table", "figures", "parse"):
        done = CliRunner().invoke(group, [command, str(folder)])
        assert isinstance(done.exception, NetlimitsError), done.output
        complaints.append(" ".join(str(done.exception).split()))
        assert "\n" not in str(done.exception)
    with pytest.raises(ArchiveError):
        netlimits.open(folder).frame()
    return complaints


def fresh(folder: Path) -> pd.DataFrame:
    """The frame, made of the journal."""
    campaign = reader.open(folder)
    return frames.frame(campaign.archive, campaign.experiment)


def test_lines_are_numbered_and_chained(out):
    numbers = [json.loads(line)["n"] for line in lines(out)]
    assert numbers == [*range(1, len(numbers) + 1)]
    head = Head()
    for line in lines(out):
        assert head.problem(line) == ""
        body = b"{" + line.split(b",", 2)[2].rstrip(b"\n")
        assert head.sealed(body) == line
        head.add(line)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda ls: [*ls[:3], *ls[4:]], "journal.jsonl:4: is line 5 of this journal: the line before it is lost"),
        (lambda ls: [*ls[:3], *ls[6:]], "journal.jsonl:4: is line 7 of this journal: the 3 lines before it are lost"),
        (lambda ls: [*ls[:3], ls[2], *ls[3:]], "journal.jsonl:4: is line 3 of this journal: it is duplicated"),
        (lambda ls: [ls[0], ls[2], ls[1], *ls[3:]], "journal.jsonl:2: is line 3 of this journal"),
        (lambda ls: ls[1:], "journal.jsonl:1: is line 2 of this journal"),
        (lambda ls: [*ls[:2], ls[2].replace(b"100.0", b"900.0", 1), *ls[3:]], "journal.jsonl:3: was changed"),
        (lambda ls: [*ls[:-1], ls[-1][:-1] + b"\v"], "was changed: it has no end"),
        (lambda ls: [*ls[:3], b"{nonsense\n", *ls[4:]], "journal.jsonl:4: is damaged"),
        (lambda ls: ls[:-2], "its last lines are lost: it lacks attempt 1 at run 4"),
        (lambda ls: ls[:1], "its last lines are lost: it lacks attempt 1 at run 1"),
        (lambda ls: [], "journal.jsonl:1: is lost, or was changed"),
    ],
)  # fmt: skip
def test_what_is_lost_or_changed_is_told_with_its_line(out, change, complaint):
    write(out, change(lines(out)))
    assert [complaint in line for line in refusals(out)] == [True] * 4, refusals(out)


def test_a_tail_that_results_were_made_of_is_missed(out):
    reader.open(out).write_results()
    shutil.rmtree(out / "raw")
    (out / "raw").mkdir()
    write(out, lines(out)[:-1])
    assert all(
        "journal.jsonl:9: this line and all after it are lost: it had 9 lines when" in complaint
        for complaint in refusals(out)
    )


@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=st.data())
def test_no_bit_of_a_journal_can_flip_unseen(whole: Path, data: st.DataObject):
    raw = bytearray((whole / "journal.jsonl").read_bytes())
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    head = Head()
    good = []
    for line in (
        bytes(raw).splitlines(keepends=True) if b"\r" not in raw else bytes(raw).split(b"\n")
    ):
        if head.problem(line):
            break
        head.add(line)
        good.append(line)
    assert b"".join(good) != bytes(raw)


def test_a_torn_line_is_cut_off_and_no_fault(out):
    cut = lines(out)
    write(out, [*cut[:-1], cut[-1][:40]])
    assert netlimits.open(out).state()["interrupted"] == 1


def test_labels_hang_on_no_file_that_can_be_edited(out):
    """With the checksum made right too, the runs themselves say what they were."""
    before = fresh(out)
    text = (out / "experiment.yaml").read_text()
    (out / "experiment.yaml").write_text(text.replace("[1500, 8896]", "[8896, 1500]"))
    assert all(
        "experiment.yaml: was changed since the campaign started" in complaint
        for complaint in refusals(out)
    )
    campaign = netlimits.open(out)
    digest = campaign.archive.folder.digest("experiment.yaml").encode()
    old = netlimits.open(out).archive._created["experiment.yaml"].encode()
    rewritten(out, lambda body: body.replace(old, digest))
    pd.testing.assert_frame_equal(fresh(out), before)


def test_another_seed_or_plan_is_told_whatever_the_checksums_say(out):
    text = (out / "experiment.yaml").read_text()
    edited(out, "experiment.yaml", text.replace("replicates: 2", "replicates: 2, seed: 5"))
    assert all("the seed 5, and campaign.json 1" in complaint for complaint in refusals(out))
    edited(out, "experiment.yaml", text.replace("replicates: 2", "replicates: 3"))
    with pytest.raises(ArchiveError, match=r"does not give plan\.csv"):
        reader.open(out).check_plan()


@pytest.mark.parametrize("name", ["campaign.json", "experiment.yaml", "plan.csv"])
def test_a_file_that_is_never_written_again_was_changed(out, name):
    with (out / name).open("a") as file:
        file.write("\n")
    for complaint in refusals(out):
        assert f"{name}: was changed since the campaign started" in complaint


def test_imported_runs_that_are_lost_are_counted(tmp_path):
    capture = Path(__file__).parents[1] / "captures" / "imports" / "percentile-script.csv"
    other = capture.with_name("several-k.txt")
    from netlimits.importers.folder import import_files

    import_files([capture, other], tmp_path / "out")
    kept = lines(tmp_path / "out")
    (tmp_path / "out" / "results.json").unlink()
    write(tmp_path / "out", kept[:-1])
    with pytest.raises(ArchiveError, match=r"holds \d+ runs, and \d+ were imported"):
        netlimits.open(tmp_path / "out").frame()


# -- what is made of it ---------------------------------------------------------------------


def test_results_are_believed_by_checksum(out, monkeypatch):
    campaign = reader.open(out)
    campaign.write_results()
    monkeypatch.setattr(frames, "frame", None)  # would be called to make them anew
    kept = reader.open(out).frame()
    monkeypatch.undo()
    pd.testing.assert_frame_equal(kept, fresh(out))


@pytest.mark.long
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_bit_flips_in_what_was_made_change_no_table(tmp_path_factory, whole, data):
    out = tmp_path_factory.mktemp("flips") / "out"
    shutil.copytree(whole, out)
    campaign = reader.open(out)
    campaign.write_results()
    right = fresh(campaign.path)
    name = data.draw(st.sampled_from(["results.parquet", "results.json", "results.csv"]))
    raw = bytearray((out / name).read_bytes())
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    (out / name).write_bytes(raw)
    pd.testing.assert_frame_equal(reader.open(out).frame(), right)
    shutil.rmtree(out)


def test_results_that_cannot_be_written_say_what_is_safe(out, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(
        ArchiveUnwritable, match=r"results\.csv: No space left .* `netlimits parse`"
    ):
        reader.open(out).write_results()


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch):
    def full(file):
        file.write("run\n")
        raise OSError(28, "No space left on device")

    with pytest.raises(ArchiveError, match="No space left") as caught:
        Archive.create(tmp_path / "out", {}, "experiment: x\n", {"sender": {}}, full)
    assert caught.value.exit_status == 2
    assert not (tmp_path / "out").exists()


EXPERIMENT = """\
experiment: alike
roles: [source, sinks: 2]
factors: {{a: {values}}}
measure: {{netperf: {{seconds: 1}}}}
repeat: {{order: listed, seed: 1}}
"""


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ('["1", 1]', ['"1"', "1"]),
        ("[true, 'True']", ["True", '"True"']),
        ("[1, 1.0]", ["1", "1.0"]),
        ("[1, 1.5]", [1.0, 1.5]),
        ("[0, 128K]", ["0", "128K"]),
        ("[true, 1]", ["True", "1"]),
        (f"[{10**29}, 1]", [str(10**29), "1"]),
        (f"[{10**29}, {10**29 + 1}]", [str(10**29), str(10**29 + 1)]),
        (f"[-{2**63}, {2**63 - 1}]", [-(2**63), 2**63 - 1]),
        ("[[]]", None),
    ],
)
def test_factors_that_look_alike_stay_apart(tmp_path, values, labels):
    from netlimits.experiment import load

    text = EXPERIMENT.format(values=values)
    if labels is None:
        with pytest.raises(NetlimitsError):
            load.parse(text, "x.yaml")
        return
    campaign = recorded(tmp_path / "out", text=text, traced=())
    campaign.write_results()
    for frame in (fresh(campaign.path), reader.open(tmp_path / "out").frame()):
        assert list(frame["a"]) == labels
        assert frame["a"].nunique() == len(labels)


# -- what stands in no campaign's files ------------------------------------------------------

NO_SENDER: dict[str, dict] = {"machines": {"sender": {}}}


@pytest.mark.parametrize(
    "change",
    [
        {"seed": None}, {"seed": True}, {"created": None}, {"machines": {}}, {"machines": {"sender": {}}},
        {"machines": {"sender": {"ssh": ""}}}, {"machines": {"sender": {"ssh": "-x"}}},
        {"machines": {"sender": {"address": "x"}}}, {"machines": {"sender": {"ssh_config": ""}}},
        {"overrides": [["a"]]}, {"shared_kernel": 1}, {"skipped": []}, {"imported": {}}, {"id": "../x"},
        {"features": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_a_campaign_json_that_is_none_is_one_line(tmp_path, change):
    folder = tmp_path / "out"
    shutil.copytree(EXAMPLES / "example-campaign", folder)
    meta = json.loads((folder / "campaign.json").read_text())
    for key, value in change.items():
        if value is None and key == "created":
            del meta["created"]
        elif key == "machines" and value:
            meta["machines"]["sender"].update(value["sender"])
            if not value["sender"]:
                del meta["machines"]["sender"]
        else:
            meta[key] = value
    edited(folder, "campaign.json", json.dumps(meta))
    for command in ("status", "table", "parse", "restore", "resume"):
        done = CliRunner().invoke(group, [command, str(folder)])
        assert isinstance(done.exception, NetlimitsError), done.exc_info
        complaint = str(done.exception)
        if change == NO_SENDER:  # a campaign of other roles, for all that it says of itself
            assert "has no machine for sender" in complaint or command in ("restore", "resume")
        else:
            assert (
                complaint == f"{folder / 'campaign.json'}: is damaged; restore the file from a copy"
            )
        assert "\n" not in complaint


@pytest.mark.parametrize(
    "facts", ['{"kernel": false}', "[]", '{"link": {"value": "x"}}', "{", '{"link": 1}']
)
def test_facts_that_are_none_are_one_line(tmp_path, facts):
    folder = tmp_path / "out"
    shutil.copytree(EXAMPLES / "example-campaign", folder)
    (folder / "hosts" / "sender.json").write_text(facts)
    with pytest.raises(ArchiveError, match=r"hosts/sender\.json: (is damaged|cannot be read)"):
        netlimits.open(folder).archive.facts("sender")


def test_raw_output_without_a_host_is_one_line(out):
    path = out / "raw" / "000001-1.jsonl"
    path.write_text(path.read_text().replace('"host"', '"hast"', 1))
    done = CliRunner().invoke(group, ["parse", str(out)])
    assert str(done.exception).endswith(
        "raw/000001-1.jsonl: cannot be read: it is damaged; restore it from a copy"
    )


@pytest.mark.long
def test_a_parquet_file_that_is_none_is_refused_on_one_line(tmp_path, capsys):
    from netlimits.cli import main

    good = EXAMPLES / "example-campaign"
    frame = netlimits.open(good).frame()
    frame.to_parquet(tmp_path / "runs.parquet")
    raw = (tmp_path / "runs.parquet").read_bytes()
    for at in range(len(raw) // 2, len(raw), len(raw) // 60):
        (tmp_path / "bad.parquet").write_bytes(raw[:at] + b"\xff" + raw[at + 1 :])
        with pytest.raises(SystemExit):
            main(
                ["table", str(tmp_path / "bad.parquet"), "--of", "throughput", "--rows", "protocol"]
            )
        complaint = capsys.readouterr().err
        assert complaint.count("\n") <= 1, complaint
        assert "Traceback" not in complaint


@pytest.mark.parametrize("number", ["0", "-1", "1" + "0" * 30, "-1" + "0" * 400, "true", "1.5"])
@pytest.mark.parametrize("key", [b'"attempt": 1', b'"run": 2'])
def test_runs_and_attempts_count_from_one(out, key, number):
    name = key.split(b":")[0]
    rewritten(out, lambda body: body.replace(key, name + b": " + number.encode(), 1))
    done = CliRunner().invoke(group, ["table", str(out)])
    assert isinstance(done.exception, ArchiveError)
    assert "is damaged" in str(done.exception)


def test_a_journal_of_holes_is_not_read_to_its_end(out):
    lines = (out / "journal.jsonl").read_bytes().count(b"\n")
    with (out / "journal.jsonl").open("ab") as journal:
        journal.truncate(1 << 40)
    for command in ("table", "status", "parse"):
        done = CliRunner().invoke(group, [command, str(out)])
        assert isinstance(done.exception, ArchiveError)
        assert f"journal.jsonl:{lines + 1}: is damaged" in str(done.exception)


def test_a_figure_whose_name_no_file_can_hold_is_refused(out):
    rewritten(out, lambda body: body.replace(b'"start_skew_s"', b'"\\ud800"', 1))
    for command in (["table"], ["parse"], ["export"], ["report"]):
        done = CliRunner().invoke(group, [*command, str(out)])
        assert isinstance(done.exception, ArchiveError)
        assert "is damaged" in str(done.exception)
