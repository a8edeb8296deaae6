"""`benchmarks/texts.py`: each figure that it holds stands in its text, and no measured one is missing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import benchmark
import pytest
import yaml

TOP = Path(__file__).parents[1]
texts = benchmark.module("texts")

BENCHMARKS = list(texts.benchmarks())
FIGURES = [(b.command, f) for b in BENCHMARKS for f in b.figures]
PAGES = [TOP / "README.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").rglob("*.md"))]
GIVEN: dict[str, dict[str, list[str]]] = yaml.safe_load((TOP / "benchmarks/given.yaml").read_text())

UNIT = r" ?(?:%|×|times|threads|ns|µs|ms|s|min|minutes|seconds|hours|[KMGT]i?B|[KMG]bit/s|of \d+)(?!\w)"
NUMBER = r"\d+(?:\.\d+)?"
FIGURE = re.compile(
    rf"(?<![\w.,/-])(?:\d[\d,]*\.\d+(?!\.?\d)|\d{{1,3}}(?:,\d{{3}})+|{NUMBER}(?=(?: to {NUMBER})?{UNIT}))"
)
"""A number with a unit, with digits behind a point (not 2.7.0), or with thousands."""
NO_TEXT = re.compile(r"^ *```.*?^ *```|<!--.*?-->|`[^`]*`", re.DOTALL | re.MULTILINE)
"""Code, which settings are in, and what nobody sees; of fences all but what was printed (`text`)."""


def without_digits(code: re.Match[str]) -> str:
    return code[0] if code[0].startswith("```text\n") else re.sub(r"\d", "_", code[0])


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def places(text: str, words: str) -> list[range]:
    """Where the numbers stand that are in braces in these words, in the text on one line."""
    parts = re.split(r"[{}]", on_one_line(words))
    starts = [sum(map(len, parts[:place])) for place in range(len(parts))]
    matches = re.finditer(re.escape("".join(parts)), on_one_line(text))
    return [
        range(match.start() + starts[place], match.start() + starts[place] + len(parts[place]))
        for match in matches
        for place in range(1, len(parts), 2)
    ]


def unheld(page: str, text: str) -> Iterator[str]:
    """Each figure of a page that no benchmark prints and that is not given, with words around it."""
    words = [figure.words for _, figure in FIGURES if figure.text == page]
    for files in GIVEN.values():
        words += [*files.get("everywhere", ()), *files.get(page, ())]
    known = [place for each in words for place in places(text, each)]
    prose = on_one_line(NO_TEXT.sub(without_digits, text))
    for figure in FIGURE.finditer(prose):
        if not any(figure.start() in place for place in known):
            yield prose[max(0, figure.start() - 40) : figure.end() + 20]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_of_a_text_is_printed_by_a_benchmark_or_given(page):
    assert not [*unheld(str(page.relative_to(TOP)), page.read_text())]


@pytest.mark.parametrize(
    ("added", "count"),
    [
        ("It takes 3.2 s.", 1),
        ("It takes 40 to 50\n% of it, and 3 threads.", 3),
        ("A ratio of 0.12, at 1,200 runs: 2.9 times as much.", 3),
        ("```text\nratio 3.25\n```\n", 1),
        ("`--delay 20 ms` of netperf 2.7.0 on 4 hosts.\n```\n3.2 s\n```\n", 0),
    ],
)
def test_a_figure_that_somebody_adds_is_found(added, count):
    for page in PAGES[:2]:
        text = f"{page.read_text()}\n{added}\n"
        assert len([*unheld(page.name, text)]) == count


@pytest.mark.parametrize(
    ("page", "words"),
    [(page, each) for files in GIVEN.values() for page, some in files.items() for each in some],
)
def test_what_is_given_stands_in_its_text(page, words):
    pages = PAGES if page == "everywhere" else [TOP / page]
    assert any(places(each.read_text(), words) for each in pages)


@pytest.mark.parametrize("figure", [f for _, f in FIGURES], ids=[f.words for _, f in FIGURES])
def test_a_figure_stands_in_its_text(figure):
    assert figure.stands()
    assert figure.told >= 0


def test_every_benchmark_that_a_text_names_is_held():
    named = {n for page in PAGES for n in re.findall(r"benchmarks/(\w+)\.py", page.read_text())}
    held = {benchmark.name for benchmark in BENCHMARKS}
    assert named <= held | {"texts", "exact"}, "exact.py prints nothing: relation.py asks it"
    for name in held - {"netlimits"}:
        assert (TOP / "benchmarks" / f"{name}.py").is_file()


def test_what_takes_hours_or_a_folder_is_left_out_unless_it_is_asked_for(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "told.py").write_text("import sys; print('ratio', len(sys.argv))")
    (tmp_path / "texts.yaml").write_text(
        "- {benchmark: 'told.py \"a b\" {dir}', hours: true, texts: {README.md: [['{3}', 'ratio #']]}}"
    )
    monkeypatch.setattr(texts, "HERE", tmp_path)
    for words, told in (
        ([], "it needs --dir and --hours"),
        (["--hours"], "it needs --dir"),
        (["--dir", "here"], "it needs --hours"),
        (["--dir", "here", "--hours"], ""),
    ):
        monkeypatch.setattr(sys, "argv", ["texts.py", *words])
        assert texts.main() == 0
        _, line = capsys.readouterr().out.splitlines()
        assert (
            line == f"  left out: {told}"
            if told
            else line.split() == ["README.md", "3", "3", "{3}"]
        )


def test_a_command_of_netlimits_runs_too_in_a_folder_that_goes(monkeypatch):
    output, status = texts.measured(texts.Benchmark("netlimits describe --help {new}", ()), None)
    assert output.startswith("Usage: netlimits describe")
    assert re.search(r"^seconds in all: [0-9.]+$", output, re.MULTILINE)
    assert status == 0


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
    (tmp_path / "told.py").write_text("print('ratio   1.30')\nraise SystemExit(1)")
    (tmp_path / "texts.yaml").write_text("\n".join(entries.splitlines()[:5]))
    assert texts.main() == 1, "a bound of its own is missed"
    _, own, figure = capsys.readouterr().out.splitlines()
    assert own.endswith("no longer holds")
    assert not figure.endswith("no longer holds")


@pytest.mark.parametrize(
    ("text", "value"), [("1,300", 1300), ("2.9 million", 2.9e6), ("1.3 GB", 1300), ("0.02", 0.02)]
)
def test_a_number_is_read_with_its_unit(text, value):
    assert texts.number(text) == value
