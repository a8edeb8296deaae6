"""scripts/benchmarks.py: the page has what is recorded, and a run replaces its own figures alone."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("benchmarks_page", TOP / "scripts" / "benchmarks.py")
assert spec
assert spec.loader
page = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = page
spec.loader.exec_module(page)

FIGURES = """
- title: Counting
  command: count.py 3
  about: How much is counted.
  columns: [what, sheep, goats]
  rows:
    - [all, "^sheep +#", "^goats +#"]
    - [sheep alone, "^sheep +#", ""]
  matrix: Judged
- {title: Herds, command: "herd.py {dir}", about: Herds., columns: [what, size], rows: [[all, "^size #"]],
   listing: "| herd"}
"""
OUTPUT = """\
sheep   1,200.5 of them
goats   7
Judged on 3 runs
| made as | sheep | goat |
|---|---|---|
| lamb | **2** | 1 |
"""
HERD = {"date": "2026-01-01", "machine": "a barn", "rows": [["all", "9"]], "second": []}


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks" / "figures.yaml").write_text(FIGURES)
    (tmp_path / "benchmarks" / "record.json").write_text(json.dumps({"herd.py {dir}": HERD}))
    monkeypatch.setattr(page, "TOP", tmp_path)
    monkeypatch.setattr(page, "FIGURES", tmp_path / "benchmarks" / "figures.yaml")
    monkeypatch.setattr(page, "RECORD", tmp_path / "benchmarks" / "record.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "docs" / "benchmarks.md")
    return tmp_path


def ran(farm: Path, monkeypatch: pytest.MonkeyPatch, output: str, *words: str) -> tuple[int, str]:
    (farm / "benchmarks" / "count.py").write_text(f"print({output!r})")
    monkeypatch.setattr(sys, "argv", ["benchmarks.py", *words])
    status = page.main()
    return status, (farm / "docs" / "benchmarks.md").read_text("utf-8")


def test_the_page_is_what_the_record_has():
    assert page.page(json.loads(page.RECORD.read_text("utf-8"))) == page.PAGE.read_text("utf-8"), (
        "run scripts/benchmarks.py --draw"
    )


def test_every_benchmark_is_there_and_has_its_figures():
    record = json.loads(page.RECORD.read_text("utf-8"))
    assert record.keys() <= {each.command for each in page.benchmarks()}
    for each in page.benchmarks():
        assert (TOP / "benchmarks" / shlex.split(each.command)[0]).is_file()
        rows = record[each.command]["rows"] if each.command in record else each.rows
        assert all(len(row) == len(each.columns) for row in rows)
        assert [row[0] for row in rows] == [row[0] for row in each.rows]


def test_a_benchmark_that_runs_replaces_its_own_figures_alone(farm, monkeypatch):
    status, text = ran(farm, monkeypatch, OUTPUT)
    assert status == 0
    assert "| all | 1,200.5 | 7 |\n| sheep alone | 1,200.5 |  |" in text
    assert "| lamb | sheep 2, goat 1 |" in text
    assert "`benchmarks/herd.py DIR`, 2026-01-01, a barn:\n\n| what | size |" in text
    assert json.loads(page.RECORD.read_text())["herd.py {dir}"] == HERD


def test_a_figure_that_is_not_printed_is_an_error_and_the_recorded_ones_stay(farm, monkeypatch):
    ran(farm, monkeypatch, OUTPUT)
    status, text = ran(farm, monkeypatch, OUTPUT.replace("goats", "cows"), "count")
    assert status == 1
    assert "| all | 1,200.5 | 7 |" in text


def test_what_a_benchmark_printed_elsewhere_is_recorded(farm, monkeypatch):
    output = "| herd | size |\n|---|---|\n| north | 4 |\n\nsize 4\n"
    (farm / "printed").write_text(output)
    status, text = ran(farm, monkeypatch, "", "herd", "--output", str(farm / "printed"))
    assert status == 0
    assert "| all | 4 |\n\n| herd | size |\n| --- | --- |\n| north | 4 |" in text


def test_only_what_is_named_runs(farm, monkeypatch):
    status, text = ran(farm, monkeypatch, OUTPUT, "herd")
    assert status == 0
    assert "`benchmarks/count.py 3` has not been run yet." in text
    with pytest.raises(SystemExit):
        ran(farm, monkeypatch, OUTPUT, "cows")
