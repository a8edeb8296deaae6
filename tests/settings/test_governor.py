"""Governors: on the text of a host that has them; a guest has none."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.settings import setting

GOVERNOR = setting("governor")
STATE = pairs.state(GOVERNOR, "two-cpus")


@pytest.mark.parametrize("name", pairs.names("settings/governor"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/governor", name)


def test_what_is_written_and_restored():
    path = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
    commands = GOVERNOR.change("data0", {**STATE, "cpu1": "performance"}, "performance")
    assert [(c.argv, c.stdin) for c in commands] == [(("tee", path.format(0)), "performance\n")]
    assert GOVERNOR.unmet(STATE, "powersave") == ()
    on = {**STATE, "cpu0": "performance", "cpu1": "performance"}
    assert [c.stdin for c in GOVERNOR.undo("data0", STATE, on)] == ["powersave\n"] * 2
    assert GOVERNOR.differences(STATE, on)[0] == "cpu0 is performance, was powersave"
    with pytest.raises(SettingError, match="no governor ondemand; there are performance powersave"):
        GOVERNOR.change("data0", STATE, "ondemand")
