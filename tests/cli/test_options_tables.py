"""Tables of others on the command line: `--metric COLUMN=METRIC` and what goes with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.cli import main

TABLE = """\
size;transport;Mbit/s down;cpu time;note
1K;tcp;1.100,5;10,1;a
1K;tcp;1.102,5;12,2;b
1K;udp;900,5;10,3;c
1K;udp;902,5;12,4;d
8K;tcp;9.400,5;20,5;e
8K;tcp;9.402,5;22,6;f
8K;udp;9.300,5;20,7;g
8K;udp;9.302,5;22,8;h
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "x.csv"
    file.write_text(TABLE)
    return file


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0), *capsys.readouterr()


MAPPED = ("--metric", "Mbit/s down=throughput")


def test_a_table_prints_what_its_columns_are_said_to_be(path: Path, capsys):
    code, out, err = call(capsys, "table", path, *MAPPED, "--rows", "size")
    assert code == 0
    assert out.startswith("Throughput (Mbit/s - Higher is Better)")
    assert "1102" in out
    assert "9402" in out, "split by transport, which would be pooled"
    assert err.splitlines()[0] == (
        f"netlimits: {path}: left out, neither metric nor factor: cpu time, note; name them "
        "with --metric 'COLUMN=METRIC', --factor or --ignore"
    )
    code, out, err = call(
        capsys, "table", path, *MAPPED, "--rows", "size", "--pool", "transport",
        "--ignore", "note", "--ignore", "cpu time",
    )  # fmt: skip
    assert (code, err) == (0, "")


def test_own_metrics_and_units_are_said_in_one_word(path: Path, capsys):
    words = ("--metric", "cpu time=cpu_time:ms:lower", "--unit", "cpu time=s", "--factor", "size")
    code, out, _ = call(capsys, "table", path, *words, "--format", "csv")
    assert code == 0
    assert "cpu_time_ms" in out
    assert "11250" in out


def test_charts_comparisons_verdicts_and_exports_take_them_too(path: Path, tmp_path: Path, capsys):
    few = ("--ignore", "note", "--ignore", "cpu time")
    code, out, err = call(
        capsys, "figures", path, *MAPPED, *few, "--format", "svg", "--out", tmp_path / "f"
    )
    assert code == 0
    assert "left out" not in err
    assert Path(out.split()[-1]).is_file()
    code, out, _ = call(capsys, "compare", path, path, *MAPPED, *few)
    assert code == 0
    assert "Throughput (Mbit/s)" in out
    assert call(capsys, "explain", path, *MAPPED, *few)[0] == 0
    code, out, _ = call(capsys, "export", path, *MAPPED, *few, "--format", "influx")
    assert code == 0
    assert "size=1K,transport=tcp" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metric", "Mbit down=throughput"), "there is no column 'Mbit down'"),
        (("--metric", "Mbit/s down=thruput"), "no metric is called 'thruput'"),
        (("--metric", "note=throughput"), "throughput must be a number, not 'a'"),
        ((*MAPPED, "--unit", "size"), "--unit size: write COLUMN=VALUE"),
        ((*MAPPED, "--csv", "engine=c"), "--csv engine=c: write OPTION=VALUE with one of sep"),
        ((*MAPPED, "--csv", "skiprows=x"), "write a number of lines"),
        (("--metric", "cpu time=x:ms:better"), "write NAME:UNIT:higher or NAME:UNIT:lower"),
    ],
)
def test_what_cannot_be_meant_is_one_line(words, message, path: Path, capsys):
    code, out, err = call(capsys, "table", path, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["explain", "export"])
def test_a_command_that_shows_all_metrics_takes_no_name_of_one(command, path: Path, capsys):
    code, _, err = call(capsys, command, path, "--metric", "throughput")
    assert code == 2
    assert "--metric throughput: write COLUMN=METRIC" in err


def test_a_folder_has_no_columns_to_name(tmp_path: Path, capsys):
    code, _, err = call(capsys, "table", tmp_path, *MAPPED)
    assert code == 2
    assert "is a results folder, whose columns are known; leave --metric" in err
