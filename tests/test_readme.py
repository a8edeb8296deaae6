"""What README says of settings is what an experiment takes: each example, and none is missing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from netlimits.cli import group
from netlimits.experiment import load, resolution
from netlimits.settings import SETTINGS

README = (Path(__file__).parents[1] / "README.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| .* \| `(\1: .+)` \|$", README, re.MULTILINE))
AROUND = ("streams", "family", "pace", "bulk", "trace")

HEAD = """\
experiment: documented
roles: [sender, receiver]
measure: {netperf: {test: UDP_STREAM, interim_seconds: 1, send_size: 1024}}
"""


def test_every_setting_has_its_row_in_the_order_of_the_registry():
    assert list(ROWS) == [*(setting.name for setting in SETTINGS), *AROUND]


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_the_example_of_a_setting_is_taken_as_it_stands(name, tmp_path):
    path = tmp_path / "documented.yaml"
    path.write_text(f"{HEAD}settings:\n- roles: [sender]\n  {ROWS[name]}\n")
    assert [use.name for use in load.load(path).settings] == [name]


@pytest.mark.parametrize("name", AROUND)
def test_the_example_of_what_is_around_the_tool_is_taken(name, tmp_path):
    path = tmp_path / "documented.yaml"
    path.write_text(f"{HEAD}{ROWS[name]}\n")
    experiment = load.load(path)
    assert getattr(resolution.setup(experiment, {}).around, name)


def test_the_switch_of_a_duet_is_taken_on_both_sides(tmp_path):
    section = README.partition("### A against B")[2].partition("\n### ")[0]
    path = tmp_path / "documented.yaml"
    path.write_text(HEAD + re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1])
    (key, value) = re.search(r"--against (settings\.\S+)=(\w+)", section).groups()
    sides = load.sides(path, (), None, ((key, value),))
    assert [side.settings[0].options["to"] for side in sides] == ["old", "new"]
    for line in re.findall(r"^netlimits (?:run|compare) .*", section, re.MULTILINE):
        command, *words = shlex.split(line)[1:]
        named = group.get_command(click.Context(group), command)
        assert named
        named.make_context(command, words)
