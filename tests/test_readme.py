"""What README says of settings is what an experiment takes: each example, and none is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
