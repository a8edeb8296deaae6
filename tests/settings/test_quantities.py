"""Rings, coalescing and channels, on what `ethtool` showed (captures/settings)."""

from __future__ import annotations

import json

import jsonschema
import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.hosts.scripted import answer
from netlimits.model import Completed
from netlimits.restore.originals import quoted_lines
from netlimits.settings import setting
from netlimits.settings.queues.channels import rss_words

SETTINGS = {name: setting(name) for name in ("ring", "coalesce", "channels")}


def captured(name: str, setting_: str):
    return pairs.state(SETTINGS[setting_], name)


def simulated(state, commands):
    """A driver that takes every number."""
    state = json.loads(json.dumps(state))
    for command in commands:
        assert command.sudo
        words = command.argv[3:]
        now = state.get("now", state)
        for name, value in zip(words[::2], words[1::2], strict=True):
            assert name in now, "netlink error: Invalid argument"
            now[name] = int(value) if value.isdigit() else value
    return state


@pytest.mark.parametrize(
    ("setting_", "name"),
    [(setting_, name) for setting_ in SETTINGS for name in pairs.names(f"settings/{setting_}")],
)
def test_each_capture_gives_what_its_pair_expects(setting_, name):
    pairs.check(f"settings/{setting_}", name)


def test_coalescing_switches_come_before_numbers():
    state = captured("virtio", "coalesce")
    commands = SETTINGS["coalesce"].change("data0", state, {"rx-usecs": 9, "adaptive-rx": "on"})
    assert [c.argv for c in commands] == [
        ("ethtool", "-C", "data0", "adaptive-rx", "on"),
        ("ethtool", "-C", "data0", "rx-usecs", "9"),
    ]


def test_coalescing_that_is_there_needs_no_command():
    state = captured("stmmac", "coalesce")
    wanted = {"rx-usecs": 202, "adaptive-rx": "off"}
    assert SETTINGS["coalesce"].change("data0", state, wanted) == ()


def test_ethtool_6_names_two_numbers_otherwise_than_it_takes_them():
    text = pairs.text("settings/coalesce", "virtio")
    text = text.replace("rx-frame-low: n/a", "rx-frame-low: 7")
    s = SETTINGS["coalesce"]
    state = s.state(Completed("sender", s.read("data0", {}), 0, text, "", 0.0))
    (command,) = s.change("data0", state, {"rx-frames-low": 8})
    assert command.argv[3:] == ("rx-frames-low", "8")


def test_a_number_the_driver_adapts_need_not_come_back():
    s, state = SETTINGS["coalesce"], captured("virtio", "coalesce")
    adaptive = {**state, "adaptive-rx": "on"}
    moved = {**adaptive, "rx-usecs": 64}
    assert s.differences(adaptive, moved) == ()
    assert s.differences(state, {**state, "rx-usecs": 64}) == ("rx-usecs is 64, was 0",)
    assert s.unmet(moved, {"rx-usecs": 0}) == (
        "rx-usecs is 64, not 0: adaptive-rx is on; ask for `adaptive-rx: off` too",
    )


@pytest.mark.parametrize(
    ("name", "setting_", "wanted", "why"),
    [
        ("virtio", "ring", {"rx": 512}, "data0 has rx of at most 256, not 512"),
        ("virtio", "ring", {"rx-mini": 5}, "data0 has no rx-mini; it has rx, tx"),
        ("virtio", "channels", {"rx": 1}, "data0 has no rx; it has combined"),
        (
            "virtio",
            "coalesce",
            {"adaptive-tx": "on"},
            "data0 has no adaptive-tx; it has adaptive",
        ),
    ],
)
def test_what_the_driver_has_not(name, setting_, wanted, why):
    with pytest.raises(SettingError, match=why):
        SETTINGS[setting_].change("data0", captured(name, setting_), wanted)


def test_an_old_ethtool_says_0_for_what_is_not_there():
    text = pairs.text("settings/ring", "virtio").replace("n/a", "0")
    s = SETTINGS["ring"]
    state = s.state(Completed("sender", s.read("data0", {}), 0, text, "", 0.0))
    assert state == captured("virtio", "ring")


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    "wanted", [{"-x": 1}, {"rx": "-1"}, {"rx": "4; reboot"}, {"rx-usecs": -1}, {}, {"rx": True}]
)
def test_the_schema_lets_nothing_else_through(name, wanted):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wanted, SETTINGS[name].schema)


def test_an_interface_nobody_looked_at():
    (command,) = SETTINGS["ring"].change("data0", {}, {"rx": 512})
    assert command.argv == ("ethtool", "-G", "data0", "rx", "512")
    original = captured("virtio", "ring")
    (command,) = SETTINGS["ring"].undo("data0", original, {})
    assert command.argv[3:] == ("rx", "256", "tx", "256")


NUMBERS = st.fixed_dictionaries({}, optional={"rx": st.integers(1, 256), "tx": st.integers(1, 256)})
COALESCING = st.fixed_dictionaries(
    {},
    optional={
        "adaptive-rx": st.sampled_from(["on", "off"]),
        "adaptive-tx": st.sampled_from(["on", "off"]),
        "rx-usecs": st.integers(0, 999),
        "tx-frames": st.integers(0, 99),
    },
)


@given(
    st.one_of(
        st.tuples(st.just(("virtio", "ring")), st.lists(NUMBERS, max_size=3)),
        st.tuples(st.just(("stmmac", "coalesce")), st.lists(COALESCING, max_size=3)),
    )
)
def test_undo_leads_back_from_wherever_changes_led(case):
    (name, setting_), wishes = case
    s, original = SETTINGS[setting_], captured(name, setting_)
    state = original
    for wanted in wishes:
        state = simulated(state, s.change("data0", state, wanted))
        assert s.unmet(state, wanted) == ()
        assert s.change("data0", state, wanted) == ()
    undone = simulated(state, s.undo("data0", original, state))
    assert undone == original
    assert s.differences(original, undone) == ()
    assert s.undo("data0", original, undone) == ()


def test_what_a_queue_held_comes_back_with_it():
    channels = SETTINGS["channels"]
    original = pairs.state(channels, "virtio-queues")
    first = {name: value for name, value in original["queues"].items() if "1" not in name[:5]}
    fewer = {**original, "now": {"combined": 1}, "queues": first}
    numbers, queues = channels.undo("data0", original, fewer)
    assert numbers.argv == ("ethtool", "-L", "data0", "combined", "2")
    assert "rx-1/rps_cpus=3" in queues.argv
    assert "interrupt virtio2-input.1=0" in queues.argv
    assert channels.undo("data0", original, original) == ()
    moved = {**original, "queues": {**original["queues"], "tx-0/xps_cpus": "3"}}
    assert channels.differences(original, moved) == ("tx-0/xps_cpus is 3, was 2",)
    (command,) = channels.undo("data0", original, moved)
    path = "/sys/class/net/data0/queues/tx-0/xps_cpus"
    assert quoted_lines([command]) == f"`echo 2 | tee {path}`"
    assert quoted_lines([queues]).count(" | tee ") == sum(
        "1" in name[:5] for name in original["queues"]
    )


RSS = """\
rss 0     0     0     0     0     0     1     1
rss 1     1     1     1     1     1     1     1
"""


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("0 1 0 1 0 1", "equal 2"),
        ("0 0 0 0", "equal 1"),
        ("2 3 2 3", "equal 2 start 2"),
        ("0 0 0 1 3 3", "weight 3 1 0 2"),
        ("1 0 0 1", ""),
        ("", ""),
    ],
)
def test_an_rss_table_is_said_in_ethtools_words(table: str, words: str):
    assert " ".join(rss_words(table)) == words


def test_an_rss_table_comes_back_after_the_numbers_or_they_are_not_changed():
    channels = SETTINGS["channels"]
    shown = pairs.text("settings/channels", "virtio-queues") + RSS
    read = channels.read("data0", {})
    original = channels.state(answer(read, stdout=shown))
    assert original["rss"] == "0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1"
    assert channels.change("data0", original, {"combined": 1})
    lost = {**original, "rss": "0 1 " * 8}
    (table, _) = channels.undo("data0", original, lost)
    assert table.argv == ("ethtool", "-X", "data0", "weight", "6", "10")
    assert table.argv in [c.argv for c in channels.undo("data0", original, {})]
    assert channels.differences(original, lost) == ("RSS table is equal 2, was weight 6 10",)
    default = {**original, "rss": ("0 1 " * 8).strip()}
    assert "-X" not in [c.argv[1] for c in channels.undo("data0", default, {})]
    strange = {**original, "rss": "1 0 0 1"}
    with pytest.raises(SettingError, match="an RSS table that `ethtool -X` cannot make again"):
        channels.change("data0", strange, {"combined": 1})
    assert channels.change("data0", strange, {"combined": 2}) == ()
