"""`netlimits import` from the command line: folders that `table`, `figures`, `parse` work on."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from recorded import rewritten

import netlimits
from netlimits.analysis import frames
from netlimits.analysis.spread import repeatability, spread
from netlimits.cli import main
from netlimits.errors import ArchiveError, DataError
from netlimits.importers import folder
from netlimits.importers.base import FILE_LIMIT

CAPTURES = Path(__file__).parent.parent / "captures" / "imports"
SCRIPT = CAPTURES / "percentile-script.csv"


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of the whole command line."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), out, err


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    code, _, _ = call(capsys, "import", SCRIPT, "--out", tmp_path / "out")
    assert code == 0
    return tmp_path / "out"


def test_what_came_in_is_counted_and_the_next_step_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    files = [SCRIPT, CAPTURES / "failures.txt", CAPTURES / "iperf3-tcp.txt"]
    code, out, err = call(capsys, "import", *files, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    printed = out.splitlines()
    assert printed[0] == "3 files, 19 runs: 16 ok, 3 failed"
    assert "13 rows with an empty field for a selector" in out
    written = [Path(line) for line in printed if line.endswith(("csv", "parquet"))]
    assert [path.name for path in written] == ["results.csv", "results.parquet"]
    assert all(path.is_file() for path in written)
    following = printed[-1].removeprefix("next: netlimits ").split()
    code, out, err = call(capsys, *following)
    assert code == 0, err


def test_the_folder_is_of_the_kind_that_run_makes(imported: Path):
    campaign = netlimits.open(imported)
    frame = campaign.frame()
    assert list(frame["run"]) == list(range(1, 14))
    assert set(frame["brand"]) == {"on", "off"}
    assert set(frame["file"]) == {"percentile-script.csv"}
    assert frame["started"].isna().all()
    assert frame["config"].nunique() == 7 + 1
    assert campaign.state()["ok"] == 13
    assert (
        imported / "raw" / "imported" / "001-percentile-script.csv"
    ).read_bytes() == SCRIPT.read_bytes()
    csv = pd.read_csv(imported / "results.csv")
    assert list(csv.columns) == list(frame.columns)
    assert len(csv) == 13
    by_hand = frame[
        (frame["protocol"] == "tcp") & (frame["send_size"] == 8192) & (frame["brand"] == "off")
    ]
    table = netlimits.summary(frame, "local_sd", rows="send_size", columns=["protocol", "brand"])
    cell = table[
        (table["protocol"] == "tcp") & (table["send_size"] == 8192) & (table["brand"] == "off")
    ]
    assert cell["metric"].item() == "netperf_local_sd_us_per_kib"
    assert cell["value"].item() == pytest.approx(by_hand["netperf_local_sd_us_per_kib"].mean())


@pytest.mark.long
def test_table_figures_status_and_parse_work_on_it(
    imported: Path, capsys: pytest.CaptureFixture[str]
):
    code, out, _ = call(
        capsys,
        "table",
        imported,
        "--of",
        "local_send_throughput",
        "--of",
        "local_sd",
        "--rows",
        "send_size",
        "--columns",
        "protocol",
        "--columns",
        "brand",
    )
    assert code == 0
    assert "Send service demand by netperf" in out
    code, out, _ = call(
        capsys, "figures", imported, "--of", "local_send_throughput", "--series", "protocol"
    )
    assert code == 0
    assert (imported / "figures" / "percentiles-local_send_throughput.svg").is_file()
    code, out, _ = call(capsys, "status", imported)
    assert out.splitlines()[:2] == [f"imported (from 1 files) in {imported}", "13 runs: 13 ok"]
    code, out, _ = call(capsys, "parse", imported)
    assert out.splitlines()[0] == "13 attempts read again, 0 changed"


def test_an_imported_campaign_has_nothing_to_resume(
    imported: Path, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(ArchiveError, match="they cannot be resumed"):
        netlimits.open(imported).check_plan()
    complaint = f"netlimits: {imported}: holds imported results; they cannot be resumed\n"
    assert call(capsys, "resume", imported) == (2, "", complaint)


def test_parse_puts_right_what_an_older_reading_got_wrong(imported: Path):
    right = netlimits.open(imported).frame()
    calls = b'"local_send_calls": '
    rewritten(imported, lambda body: body.replace(calls, calls + b"9", 1))
    assert not netlimits.open(imported).frame().equals(right)
    campaign = netlimits.open(imported)
    campaign.archive.lock()
    try:
        assert folder.reparse(campaign) == (13, 1)
    finally:
        campaign.archive.close()
    pd.testing.assert_frame_equal(netlimits.open(imported).frame(), right)
    (imported / "raw" / "imported" / "001-percentile-script.csv").write_text("x")
    with pytest.raises(ArchiveError, match="was changed since the import"):
        folder.reparse(netlimits.open(imported))


def test_a_file_without_sense_is_named_and_the_others_come_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bad = tmp_path / "bad.txt"
    bad.write_text("hello\x1b[31m\n")
    twin = tmp_path / "twin.csv"
    twin.write_bytes(SCRIPT.read_bytes())
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    files = [bad, SCRIPT, twin, fifo, large]
    code, out, err = call(capsys, "import", *files, "--out", tmp_path / "out")
    assert code == 1
    assert out.startswith("1 file, 13 runs: 13 ok; 4 files left out\n")
    complaints = err.splitlines()
    assert complaints[0].startswith("netlimits: left out: bad.txt:1: is not output of a tool that")
    assert complaints[1].endswith(
        "has the same content as percentile-script.csv; its runs would count twice"
    )
    assert complaints[2].endswith("pipe: is no regular file")
    assert complaints[3].endswith(
        "large: is larger than 64 MiB (64 MiB); split it, or raise --limit"
    )
    assert len(netlimits.open(tmp_path / "out").frame()) == 13


def test_a_file_that_does_not_exist_is_wrong_input_and_the_others_come_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    absent = tmp_path / "none"
    code, _, err = call(capsys, "import", absent, "--out", tmp_path / "out")
    assert code == 2
    assert err.splitlines()[0].endswith("none: No such file or directory")
    assert not (tmp_path / "out").exists()
    code, out, _ = call(capsys, "import", absent, SCRIPT, "--out", tmp_path / "out")
    assert code == 2
    assert out.startswith("1 file, 13 runs: 13 ok; 1 file left out\n")


def test_nothing_that_comes_in_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.txt"
    bad.write_text("hello\n")
    code, _, err = call(capsys, "import", bad)
    assert code == 1
    assert err.splitlines()[-1] == "netlimits: nothing was imported: 1 file left out"
    assert list(tmp_path.iterdir()) == [bad]


def test_a_folder_without_files_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty").mkdir()
    code, _, err = call(capsys, "import", tmp_path / "empty", "--out", tmp_path / "o")
    assert code == 2
    assert (
        err == "netlimits: nothing was imported: there are no files in the folders; name others\n"
    )
    assert not (tmp_path / "o").exists()


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("netlimits.archive.frames.write", full)
    with pytest.raises(ArchiveError, match="No space left on device"):
        folder.import_files([SCRIPT], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_left_alone(imported: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ArchiveError, match="holds no imported results"):
        folder.import_files([SCRIPT], imported / "raw")
    assert folder.import_files([SCRIPT], imported).files == [], "its content is there already"
    assert len(netlimits.open(imported).frame()) == 13


def test_json_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bad = tmp_path / "bad.txt"
    bad.write_text("hello\n")
    code, out, _ = call(capsys, "import", SCRIPT, bad, "--json", "--out", tmp_path / "out")
    assert code == 1
    report = json.loads(out)
    assert (report["runs"], report["ok"]) == (13, 13)
    assert report["files"][0]["repaired"] == 13
    assert report["refused"][0]["reason"].startswith("bad.txt:1: ")
    assert report["written"] == [
        str(tmp_path / "out" / f"results.{kind}") for kind in ("csv", "parquet")
    ]


def test_what_files_do_not_say_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = tmp_path / "rows.csv"
    rows.write_text("9410.50,1.00\n9411.50,1.00\n")
    given = (
        "--given",
        "THROUGHPUT_UNITS=10^6bits/s",
        "--given",
        "offloads=off",
        "--given",
        "mtu=9000",
    )
    words = ("import", rows, "--columns", "throughput,elapsed_time", *given)
    code, _, err = call(capsys, *words, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    frame = netlimits.open(tmp_path / "out").frame()
    assert list(frame["throughput_mbps"]) == [9410.5, 9411.5]
    assert set(frame["offloads"]) == {"off"}
    assert set(frame["mtu"]) == {9000}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--given", "THROUGHPUT_UNIT=x"), "did you mean THROUGHPUT_UNITS"),
        (("--given", "run=3"), "is a column of every result"),
        (("--given", "throughput_mbps=3"), "is a column of every result"),
        (("--given", "offloads"), "write NAME=VALUE"),
        (("--columns", "a b"), "write selectors"),
        (("--columns", "nosuch"), "none of these is an output selector"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    words: tuple[str, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code, _, err = call(capsys, "import", SCRIPT, *words, "--out", tmp_path / "out")
    assert code == 2
    assert why in err
    assert not (tmp_path / "out").exists()


def test_names_of_files_stay_inside_and_say_nothing_to_a_terminal(tmp_path: Path):
    odd = tmp_path / "a"
    odd.mkdir()
    path = odd / "..\x1b[31m; rm -rf $(x) .csv"
    path.write_bytes(SCRIPT.read_bytes())
    report = folder.import_files([path], tmp_path / "out")
    kept = list((tmp_path / "out" / "raw" / "imported").iterdir())
    assert [path.name for path in kept] == ["001-__31m__rm_-rf___x__.csv"]
    assert report.files[0]["file"].isprintable()


def test_files_of_one_name_are_told_apart(tmp_path: Path):
    paths = [tmp_path / name / "data.txt" for name in ("a", "b")]
    for path, source in zip(paths, ("classic-rr.txt", "several-k.txt"), strict=True):
        path.parent.mkdir()
        path.write_bytes((CAPTURES / source).read_bytes())
    report = folder.import_files(paths, tmp_path / "out")
    assert [file["file"] for file in report.files] == [str(path) for path in paths]
    assert netlimits.open(tmp_path / "out").frame()["file"].nunique() == 2


def test_every_capture_makes_one_folder(tmp_path: Path):
    captures = (p for p in CAPTURES.iterdir() if p.suffix in (".txt", ".csv"))
    unknown = ("no-header.csv", "iperf2-csv.txt")
    paths = sorted(p for p in captures if p.name not in unknown)
    report = folder.import_files(paths, tmp_path / "out")
    assert report.refused == []
    frame = netlimits.open(tmp_path / "out").frame()
    assert len(frame) == sum(file["runs"] for file in report.files)
    intervals = netlimits.open(tmp_path / "out").intervals()
    assert {"ending_s", "interval_s", "throughput_mbps"} <= set(intervals.columns)


def test_only_data_errors_come_from_reading(tmp_path: Path):
    with pytest.raises(DataError):
        folder._bytes(Path("\x00"), "nul", FILE_LIMIT)


def test_a_folder_stands_for_the_files_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, source in (("a/1.txt.gz", "iperf3-tcp.txt"), ("b/2.csv", "percentile-script.csv")):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True)
        data = (CAPTURES / source).read_bytes()
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (tmp_path / "in" / ".hidden").write_text("x")
    (tmp_path / "in" / "b" / "notes.md").write_text("# Notes\n")
    place = tmp_path / "in"
    words = ("import", place, place / "b" / "2.csv", "--out", tmp_path / "out")
    code, out, err = call(capsys, *words)
    assert code == 1
    assert out.startswith("2 files, 14 runs: 14 ok; 1 file left out\n")
    assert err.count("left out: notes.md:1: is not output") == 1
    code, out, _ = call(capsys, "parse", tmp_path / "out")
    assert out.startswith("14 attempts read again, 0 changed")


def test_a_limit_is_of_what_is_in_a_compressed_file_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "large.gz"
    path.write_bytes(gzip.compress(b"x" * (2 << 20)))
    code, _, err = call(capsys, "import", path, "--limit", "1", "--out", tmp_path / "out")
    assert code == 1
    assert "large.gz: is larger than 1 MiB; split it, or raise --limit" in err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def turin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The Turin scripts' two files, imported."""
    (tmp_path / "iperf3.txt").write_text(
        "1 0.0061 0.0065 0.0071 98 98.7 99\n3 0.0201 0.0212 0.022 97 98 99\n"
    )
    (tmp_path / "nttcp.txt").write_text(
        "1 14000000 10.5 11.25 12.0 99.0 99.0 99.0\n3 30000 34.1 35.2 35.3 8.0 9.5 11.0\n"
    )
    files = [tmp_path / name for name in ("iperf3.txt", "nttcp.txt")]
    code, out, err = call(capsys, "import", *files, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "--rows send_size" in out
    return tmp_path / "out"


def test_turins_figures_come_out_of_turins_own_files(
    turin: Path, capsys: pytest.CaptureFixture[str]
):
    words = ("--chart", "spread", "--of", "throughput", "--series", "tool")
    code, out, err = call(capsys, "figures", turin, *words)
    assert code == 0, err
    assert "spread" in out
    frame = netlimits.open(turin).frame()
    points = spread(frame, "local_process_cpu", series="tool")
    assert points["n"].tolist() == [10, 10, 20, 20]
    assert points["max"].tolist() == [99, 99, 99, 11]
    rows = repeatability(spread(frame, series="tool"), "tool").set_index("tool")
    assert rows["turin_variance"].to_dict() == pytest.approx({"iperf3": 1.45, "nttcp": 1.35})
    assert frames.varied(frame) == ["tool", "protocol", "send_size", "count"]
    of = ("--of", "throughput", "--rows", "send_size", "--columns", "tool")
    code, out, err = call(capsys, "table", turin, *of)
    assert code == 0, err
    assert re.search(r"runs +10 +20", out)
    assert "mean of 10 to 20 runs" in out


def test_a_throughput_whose_unit_nothing_says_is_refused_as_the_help_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "rows.csv").write_text("Throughput,Elapsed Time (sec)\n941.3,10.00\n")
    words = ("import", tmp_path / "rows.csv", "--out", tmp_path / "out")
    code, _, err = call(capsys, *words)
    assert code != 0
    assert "THROUGHPUT_UNITS" in err
    code, out, _ = call(capsys, "import", "--help")
    assert "Without a banner, state the unit with --given THROUGHPUT_UNITS=..." in " ".join(
        out.split()
    )
    code, _, err = call(capsys, *words, "--given", "THROUGHPUT_UNITS=10^6bits/s")
    assert code == 0, err


def named(folder: Path, *names: str) -> list[Path]:
    """Copies of an output under these names, each with a comment's worth of other bytes."""
    paths = []
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPT.read_text() + "\n" * number)
        paths.append(path)
    return paths


NAMED = tuple(f"buf{b}/{d}ms_{r}.csv" for b in (1, 2) for d in (5, 40) for r in (1, 2))
PATTERN = "buf{buffer}/{delay}ms_{replicate}.csv"


def test_factors_come_from_names_and_runs_whose_factors_agree_are_replicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    files = named(tmp_path, *NAMED)
    code, out, err = call(capsys, "import", *files, "--name", PATTERN, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "--name" not in out
    frame = netlimits.open(tmp_path / "out").frame()
    assert list(frame.columns).index("buffer") < list(frame.columns).index("protocol")
    assert frame.groupby(["buffer", "delay"])["file"].nunique().to_dict() == {
        (b, d): 2 for b in (1, 2) for d in (5, 40)
    }
    assert "file" not in frames.varied(frame)
    rows = ("--of", "local_send_throughput", "--rows", "delay", "--columns", "buffer")
    assert call(capsys, "table", tmp_path / "out", *rows, "--format", "csv")[0] == 0
    code, out, _ = call(capsys, "compare", tmp_path / "out", tmp_path / "out", "--of", "local_sd")
    assert code == 0
    assert "Buffer" in out
    assert call(capsys, "parse", tmp_path / "out")[1].startswith(
        "104 attempts read again, 0 changed"
    )


def test_a_pattern_is_offered_and_what_does_not_match_one_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    files = named(tmp_path, *NAMED)
    _, out, _ = call(capsys, "import", *files, "--out", tmp_path / "out")
    assert "names of the files, add --name 'buf{buf}/{ms}ms_{replicate}.csv'" in out
    (other,) = named(tmp_path / "more", "other.csv")
    other.write_text(other.read_text() + "\n" * 99)
    code, _, err = call(
        capsys, "import", files[0], other, "--name", PATTERN, "--out", tmp_path / "named"
    )
    assert code == 1
    assert f"left out: other.csv: its name does not match --name '{PATTERN}'" in err


def test_files_are_added_to_an_imported_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    files, out = named(tmp_path, *NAMED), tmp_path / "out"
    assert call(capsys, "import", *files[:4], "--name", PATTERN, "--out", out)[0] == 0
    code, printed, err = call(capsys, "import", *files[4:], "--out", out, "--given", "kernel=6.9")
    assert (code, err) == (0, "")
    assert printed.startswith("4 files, 52 runs")
    campaign = netlimits.open(out)
    frame = campaign.frame()
    assert frame["run"].tolist() == list(range(1, 105))
    assert set(frame["buffer"]) == {1, 2}, "the folder's pattern holds for files that are added"
    assert frame["kernel"].isna().sum() == 52
    assert len(campaign.imported["files"]) == 8
    assert campaign.state()["ok"] == 104
    code, printed, _ = call(capsys, "parse", out)
    assert printed.startswith("104 attempts read again, 0 changed")
    code, _, err = call(capsys, "import", files[0], "--out", out)
    assert code != 0
    assert "has the same content as" in err
    assert len(netlimits.open(out).frame()) == 104


def test_nothing_is_added_to_what_was_not_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").touch()
    code, _, err = call(capsys, "import", SCRIPT, "--out", tmp_path)
    assert code == 2
    assert "the folder is not empty and holds no imported results" in err


def test_a_reason_names_the_runs_that_it_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = (CAPTURES / "iperf3-text-tcp.txt").read_text().partition("- - -")[0]
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(text + "\n" * number)
    code, out, _ = call(capsys, "import", *sorted(tmp_path.iterdir()), "--out", tmp_path / "out")
    last = len(text.rstrip().splitlines())
    reason = "4 × iperf3 printed no summary: the run was interrupted"
    assert (code, out.splitlines()[1]) == (0, f"  {reason} (0.txt:{last}, 1.txt:{last} and 2 more)")


def test_without_a_good_run_no_table_is_offered(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = CAPTURES / "error-refused.txt"
    code, out, _ = call(capsys, "import", file, "--out", tmp_path / "out")
    assert (code, out.splitlines()[0]) == (0, "1 file, 1 run: 1 failed")
    assert "next:" not in out  # `table` of no good run is an error


def test_the_table_that_is_offered_is_of_a_metric_that_no_run_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = "iperf -c 192.0.2.1 -u\n" + "\n".join(
        (CAPTURES / "iperf2-udp.txt").read_text().splitlines()
    )
    (tmp_path / "whole.txt").write_text(text)
    (tmp_path / "cut.txt").write_text(text.partition("Server Report")[0].rpartition("\n")[0])
    code, out, _ = call(
        capsys, "import", tmp_path / "whole.txt", tmp_path / "cut.txt", "--out", tmp_path / "out"
    )
    assert out.startswith("2 files, 2 runs: 2 ok")
    following = out.splitlines()[-1].removeprefix("next: netlimits ").split()
    assert "local_send_throughput" in following
    code, _, err = call(capsys, *following)
    assert code == 0, err


def test_an_experiment_and_a_results_folder_are_no_output(tmp_path, capsys):
    experiment = tmp_path / "x.yaml"
    experiment.write_text("experiment: x\nmeasure:\n  netperf: {seconds: 1}\n")
    code, _, err = call(capsys, "import", experiment, "--out", tmp_path / "o")
    assert code == 1
    assert "x.yaml: is an experiment file; measure with `netlimits run`" in err
    (tmp_path / "campaign.json").write_text("{}")
    code, _, err = call(capsys, "import", tmp_path, "--out", tmp_path / "o")
    assert code == 2
    assert "is a results folder already" in err
