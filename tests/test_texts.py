"""`benchmarks/texts.py`: each figure that it holds stands in its text, and none of a benchmark is missing."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
_SPEC = importlib.util.spec_from_file_location("figures_of_texts", TOP / "benchmarks" / "texts.py")
assert _SPEC
assert _SPEC.loader
texts = sys.modules[_SPEC.name] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(texts)

BENCHMARKS = list(texts.benchmarks())
FIGURES = [(b.command, f) for b in BENCHMARKS for f in b.figures]
BY_HAND = {
    "coverage": "each row of it is in a test and in STATISTICS",
    "attacks": "hours: its table is of several calls, each with its seed",
    "verdicts": "hours: its table is of a folder of campaigns",
}


@pytest.mark.parametrize("figure", [f for _, f in FIGURES], ids=[f.words for _, f in FIGURES])
def test_a_figure_stands_in_its_text(figure):
    assert figure.stands()
    assert figure.told > 0


def test_every_benchmark_that_a_text_names_is_held():
    pages = [TOP / "README.md", *(TOP / "docs").rglob("*.md")]
    named = {n for page in pages for n in re.findall(r"benchmarks/(\w+)\.py", page.read_text())}
    assert named - {"texts"} - {benchmark.name for benchmark in BENCHMARKS} == {*BY_HAND} & named
    for benchmark in BENCHMARKS:
        assert (TOP / "benchmarks" / f"{benchmark.name}.py").is_file()


def test_what_a_benchmark_prints_is_found_and_held(tmp_path, monkeypatch, capsys):
    (tmp_path / "told.py").write_text("print('ratio   1.30   (reach: 3)\\nmost 1,200 MiB')\n")
    (tmp_path / "README.md").write_text("It takes 1.2\ntimes as long, and 3,000 MiB.")
    entries = """
- benchmark: told.py
  texts:
    README.md:
      - ["takes {1.2} times", "^ratio +#"]
      - ["and {3,000} MiB", "^most # MiB"]
      - ["and {3,000} MiB", "^least # MiB"]
"""
    (tmp_path / "texts.yaml").write_text(entries)
    monkeypatch.setattr(texts, "HERE", tmp_path)
    monkeypatch.setattr(texts, "TOP", tmp_path)
    monkeypatch.setattr(sys, "argv", ["texts.py"])
    assert texts.main() == 1
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("no longer holds") for line in lines] == [False, True, True]
    assert all(figure.stands() for benchmark in texts.benchmarks() for figure in benchmark.figures)


@pytest.mark.parametrize(
    ("text", "value"), [("1,300", 1300), ("2.9 million", 2.9e6), ("1.3 GB", 1300), ("0.02", 0.02)]
)
def test_a_number_is_read_with_its_unit(text, value):
    assert texts.number(text) == value
