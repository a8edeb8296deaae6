"""Flow control: on the text that ethtool prints."""

from __future__ import annotations

import pairs
import pytest

from netlimits.settings import setting

PAUSE = setting("pause")
STATE = pairs.state(PAUSE, "negotiated")


@pytest.mark.parametrize("name", pairs.names("settings/pause"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/pause", name)


def test_what_is_written_and_restored():
    (command,) = PAUSE.change("data0", STATE, {"tx": "off", "autoneg": "off", "rx": "on"})
    assert command.argv == ("ethtool", "-A", "data0", "autoneg", "off", "tx", "off")
    assert PAUSE.unmet(STATE, {"rx": "off"}) == ("rx is on, not off",)
    (back,) = PAUSE.undo("data0", STATE, {**STATE, "rx": "off"})
    assert back.argv == ("ethtool", "-A", "data0", "rx", "on")
    assert PAUSE.undo("data0", STATE, {})[0].argv[3:] == (
        "autoneg", "on", "rx", "on", "tx", "on",
    )  # fmt: skip
