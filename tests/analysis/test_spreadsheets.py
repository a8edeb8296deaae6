from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.analysis.sources import run_files, spreadsheets
from netlimits.experiment.configurations import cell
from netlimits.export import FORMATS
from netlimits.export.base import Runs
from netlimits.tables import render

FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "a;=1+1", "a\t+1")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS[:6])
def test_a_text_that_begins_a_formula_gets_a_quote_and_numbers_none(text: str):
    in_cell = {"\t=1": "'\t'=1", "\r=1": "'\r'=1"}.get(text, f"'{text}")
    frame = pd.DataFrame({"run": [1], "figure": [-1.5], "=reason": [text]})
    for written in (
        spreadsheets.to_csv(frame),
        render(frame, "csv"),
        "".join(FORMATS["csv"](Runs("x", frame, []))),
    ):
        assert read(written) == [["run", "figure", "'=reason"], ["1", "-1.5", in_cell]]
        assert f'"{in_cell}"' in written
    assert cell(text) == f'"{in_cell}"'
    assert (cell(-1.5), cell(-2)) == ("-1.5", "-2")


@pytest.mark.parametrize("separator", [";", "\t", "|", "\n"])
def test_a_spreadsheet_that_splits_elsewhere_finds_no_formula_either(separator: str):
    """One with a decimal comma splits at semicolons, also within our quotes."""
    text = f"a{separator}=cmd{separator}b{separator} '-1"
    written = spreadsheets.to_csv(pd.DataFrame({"run": [1], "reason": [text]}))
    assert "=cmd" in written
    parts = [part.lstrip(" ") for line in written.splitlines() for part in line.split(separator)]
    assert not [part for part in parts if part.startswith(("=", "-", "'-"))], parts
    assert cell(text) == f"\"a{separator}'=cmd{separator}b{separator} ''-1\""


def test_a_file_without_one_looks_as_ever():
    frame = pd.DataFrame({"run": [1], "status": ["ok"], "missing": [None]})
    assert spreadsheets.to_csv(frame) == "run,status,missing\n1,ok,\n"


@pytest.mark.long
@given(
    st.lists(
        st.sampled_from([*FORMULAS, "'=1", "''@x", "'", "x", "it's", "a; '=1", "\t\t=1", "\r\n-1"]),
        min_size=1,
    )
)
def test_what_we_write_we_read_back(texts: list[str]):
    frame = pd.DataFrame({"reason": texts, "figure": -1.5, "kind": pd.Categorical(texts)})
    kept = pd.read_csv(io.StringIO(spreadsheets.to_csv(frame), newline=""))
    back = spreadsheets.from_csv(kept)
    assert back["reason"].tolist() == back["kind"].tolist() == texts
    assert back["figure"].tolist() == frame["figure"].tolist()


def test_a_file_of_runs_is_read_as_it_was_written(tmp_path: Path):
    frame = pd.DataFrame({"run": [1, 2], "=x": ["=1+1", "b"], "rate": [-1.5, None]})
    (tmp_path / "runs.csv").write_text(spreadsheets.to_csv(frame))
    pd.testing.assert_frame_equal(run_files.load(tmp_path / "runs.csv"), frame)
