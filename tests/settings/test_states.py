"""What holds of every setting's state, on each that a capture shows."""

from __future__ import annotations

import json

import pairs
import pytest

from netlimits.restore.guard import script
from netlimits.restore.guard.claim import Holder
from netlimits.restore.originals import Original, quoted_lines
from netlimits.settings import SETTINGS, Setting

STATES = [
    pytest.param(setting, name, id=f"{setting.name}-{name}")
    for setting in SETTINGS
    for name in pairs.names(f"settings/{setting.name}")
    if "state" in pairs.about(f"settings/{setting.name}", name)["expected"]
]


@pytest.mark.parametrize(("setting", "name"), STATES)
def test_a_state_goes_into_a_journal_and_comes_out_as_it_was(setting: Setting, name: str):
    state = pairs.state(setting, name)
    journalled = json.loads(json.dumps(state))
    assert journalled == state
    assert setting.differences(journalled, state) == ()
    assert setting.undo("data0", journalled, state) == ()


@pytest.mark.parametrize(("setting", "name"), STATES)
def test_its_way_back_is_lines_that_a_person_can_type(setting: Setting, name: str):
    state = pairs.state(setting, name)
    text = quoted_lines(setting.undo("data0", state, {}))
    assert text.isprintable()
    assert "sh -c" not in text
    original = Original("sender", "data0", setting.name, state)
    guard = script.render(Holder("x", "0", "desk", "ada", 7, 1.8e9), [original], 60)
    shown = [line.strip() for line in guard.splitlines() if line.startswith("    # would ")]
    assert [f"`{line.removeprefix('# would ')}`" for line in shown] == text.split("; ") * bool(text)
