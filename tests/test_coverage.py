"""What `benchmarks/coverage.py` prints, in a short form: each interval covers what it says."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

spec = importlib.util.spec_from_file_location(
    "coverage_of_intervals", Path(__file__).parents[1] / "benchmarks" / "coverage.py"
)
coverage = importlib.util.module_from_spec(spec)
__import__("sys").modules[spec.name] = coverage
spec.loader.exec_module(coverage)


def test_the_default_intervals_cover_93_to_97_percent_or_say_why_not():
    rows = list(coverage.rows(60))
    assert len(rows) > 120
    outside = [str(row) for row in rows if not row.good and not row.reason]
    assert not outside, "\n".join(outside)
    assert {row.reason for row in rows} <= {"", *coverage.REASONS}
    kinds = {row.interval for row in rows if "CV 5 %" in row.data and row.good}
    assert len(kinds) == 12, "each interval holds on runs of one kind"
    alike = [row for row in rows if row.reason == coverage.ALIKE and row.runs == "40"]
    assert all(row.noted and row.noted > 0.6 * row.of for row in alike)
    few = [row for row in rows if row.reason == coverage.FEW and row.interval.startswith("mean")]
    assert min(row.percent for row in few) < 80, "the data that no few runs can tell are there"


def test_a_row_outside_without_a_reason_is_told():
    row = coverage.Row("mean", "data", "3", 60, 100)
    assert not row.good
    assert "OUTSIDE" in str(row)
