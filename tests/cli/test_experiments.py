"""`netlimits experiments`, and commands that are given an experiment's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlimits.cli import group
from netlimits.errors import InputError

SOURCE = Path(__file__).parents[2] / "experiments"


def call(*arguments: str) -> str:
    outcome = CliRunner().invoke(group, arguments, standalone_mode=False)
    if outcome.exception:
        raise outcome.exception
    return outcome.output


def test_every_shipped_experiment_is_listed_with_its_question():
    listed = json.loads(call("experiments", "--json"))
    assert {row["name"] for row in listed} == {path.stem for path in SOURCE.glob("*.yaml")}
    assert all(row["question"].endswith("?") for row in listed)
    assert call("experiments").startswith("quickstart ")


def test_a_name_is_planned_like_its_file():
    planned = call("plan", "quickstart", "--rows", "3")
    assert planned == call("plan", str(SOURCE / "quickstart.yaml"), "--rows", "3")


def test_a_file_here_takes_precedence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (SOURCE / "quickstart.yaml").read_text().replace("seconds: 1", "seconds: 7")
    Path("quickstart").write_text(text)
    assert json.loads(call("plan", "quickstart", "--json", "--rows", "0"))["seconds"] > 80


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(
        InputError, match=r"quickstrt: there is no such file .* did you mean quickstart\?"
    ):
        call("run", "quickstrt", "--local")


def test_a_copy_is_never_written_over_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("experiments", "--copy", "quickstart") == "quickstart.yaml\n"
    assert Path("quickstart.yaml").read_text() == call("experiments", "quickstart")
    with pytest.raises(InputError, match="is there already"):
        call("experiments", "--copy", "tso", "quickstart")
    assert not Path("tso.yaml").exists()
