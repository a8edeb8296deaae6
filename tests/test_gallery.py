"""experiments/README.md shows every experiment: its question, its command, a chart of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netlimits.experiment import load, plan, resolution

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
TEXT = (EXPERIMENTS / "README.md").read_text()
SECTIONS = dict(re.findall(r"^## ([a-z-]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
FILES = sorted(EXPERIMENTS.glob("*.yaml"))
WITHOUT_CHART = ("highest-rate", "rrul")
"""Experiments of no report, which the gallery does not keep."""


def test_there_is_a_section_for_each_experiment_and_for_nothing_else():
    assert sorted(SECTIONS) == sorted(path.stem for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_section_has_the_question_the_command_and_the_chart(path: Path):
    section = SECTIONS[path.stem]
    assert f"netlimits run experiments/{path.name}" in section
    if path.stem != "stateless-offloads-gro-hw":  # the same question, and it says so
        assert " ".join(load.load(path).question.split()) in " ".join(section.split())
    if path.stem in WITHOUT_CHART:
        return
    (chart,) = re.findall(r"!\[[^\]]+\]\((figures/[^)]+)\)", section)
    assert (EXPERIMENTS / chart).stat().st_size > 1000
    assert (EXPERIMENTS / chart).read_bytes().startswith(b"\x89PNG")
    assert len(section.partition(f"({chart})")[2].split()) >= 15, "and how to read it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_table_says_how_many_runs_there_are_and_how_long(path: Path):
    (row,) = re.findall(rf"^\| \[{path.stem}\]\(#{path.stem}\) \|.*\| (.*) \|$", TEXT, re.MULTILINE)
    loaded = plan.seeded(load.load(path))
    runs = sum(1 for _ in plan.Plan(loaded).runs())
    setup = resolution.setup(loaded, next(iter(plan.Plan(loaded).runs())).values)
    assert row == f"{runs} of {setup.options.get('seconds', 10)} s", setup.tool
