"""What holds of every setting's state, on each that a capture shows."""

from __future__ import annotations

import json

import pairs
import pytest

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
