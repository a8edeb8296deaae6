"""CSV and Parquet files of runs: read as they are, or refused with what is wrong."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netlimits.analysis.sources import run_files
from netlimits.errors import DataError


def test_an_empty_field_alone_is_missing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "runs.csv"
    path.write_text("qdisc,offloads\nNone,on\nNA,\n")
    frame = run_files.load(path)
    assert frame["qdisc"].tolist() == ["None", "NA"]
    assert frame["offloads"].isna().tolist() == [False, True]
    for name, content in (("a.parquet", "no"), ("b.csv", ""), ("c.dat", "x")):
        bad = tmp_path / name
        bad.write_text(content)
        with pytest.raises(DataError, match=name):
            run_files.load(bad)


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "/proc/kmsg", "pipe", "."])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_no_file_of_runs_is_not_waited_for(tmp_path, target, suffix):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / f"runs.{suffix}").symlink_to(target)
    with pytest.raises(
        DataError, match=r"runs\.\w+: not readable as a table: is (a folder|no|empty)"
    ):
        run_files.load(tmp_path / f"runs.{suffix}")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_of_runs_beyond_the_limit_is_not_read(tmp_path, suffix):
    path = tmp_path / f"runs.{suffix}"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DataError, match="is larger than 2 GiB"):
        run_files.load(path)


@pytest.mark.parametrize(
    ("name", "cell", "problem"),
    [
        ("attempt", "abc", "'abc'"),
        ("run", "1;2", "'1;2'"),
        ("block", "x" * 100, f"'{'x' * 40}'"),
        ("duration_s", "long", "'long'"),
        ("attempt", "9" * 400, "a number that is too large"),
    ],
)
def test_what_counts_runs_is_a_number(tmp_path, name, cell, problem):
    path = tmp_path / "runs.csv"
    path.write_text(f"{name},status,x_mbps\n1,ok,5\n{cell},ok,6\n")
    with pytest.raises(DataError, match=f"column {name}: must contain numbers, not {problem}"):
        run_files.load(path)


def test_a_parquet_file_that_lies_of_itself_is_refused_in_one_line(tmp_path):
    path = tmp_path / "runs.parquet"
    table = pa.table({"x_mbps": [1.0]})
    lie = {"columns": [{"name": "x_mbps"}], "index_columns": [], "column_indexes": []}
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(lie)}), path)
    with pytest.raises(
        DataError, match=r"not readable as a table: .*field_name|pandas_type"
    ) as error:
        run_files.load(path)
    assert "\n" not in str(error.value)
