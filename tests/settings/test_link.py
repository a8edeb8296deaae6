"""Speed, duplex and autonegotiation, on what `ethtool` shows (captures/settings/link)."""

from __future__ import annotations

import json

import jsonschema
import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.settings import setting

LINK = setting("link")
TURIN = {"speed": 2500, "duplex": "full", "autoneg": "on"}
MODES = [
    "10baseT/Half", "10baseT/Full", "100baseT/Half", "100baseT/Full", "1000baseT/Full",
    "2500baseT/Full",
]  # fmt: skip


def captured(name: str):
    return pairs.state(LINK, name)


def words(modes: list[str]) -> list[str]:
    return [word for mode in MODES for word in (mode, "on" if mode in modes else "off")]


def simulated(state, commands):
    """A NIC whose partner has every mode, and which negotiates the fastest that it advertises."""
    state = json.loads(json.dumps(state))
    for command in commands:
        if command.argv[0] == "sh":  # the wait for the carrier
            assert not command.sudo
            continue
        assert command.sudo
        argv = list(command.argv[3:])
        if argv[:3] == ["autoneg", "on", "advertise"]:
            on = [mode for mode, word in zip(argv[3::2], argv[4::2], strict=True) if word == "on"]
            speed, duplex = on[-1].split("base")[0], on[-1].split("/")[1].lower()
            state |= {"autoneg": "on", "advertised": on}
        else:
            options = dict(zip(argv[::2], argv[1::2], strict=True))
            assert options["autoneg"] == "off"
            speed, duplex = (
                options.get("speed", state["speed"]),
                options.get("duplex", state["duplex"]),
            )
            state |= {"autoneg": "off", "advertised": []}
        state |= {"speed": int(speed), "duplex": duplex}
    return state


@pytest.mark.parametrize("name", pairs.names("settings/link"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/link", name)


def test_no_carrier_is_an_unknown_speed():
    assert LINK.unmet(captured("r8169-down"), TURIN) == (
        "speed is unknown, not 2500",
        "duplex is unknown, not full",
    )


def test_a_speed_is_negotiated_by_advertising_nothing_else():
    set_, wait = LINK.change("data0", captured("r8169"), {**TURIN, "speed": 1000})
    assert set_.argv == (
        "ethtool", "-s", "data0", "autoneg", "on", "advertise", *words(["1000baseT/Full"]),
    )  # fmt: skip
    assert wait.argv[:2] == ("sh", "-c")
    assert wait.argv[3:] == ("wait for the link", "data0", "150")


def test_the_right_speed_by_chance_is_not_enough():
    original = captured("r8169")
    assert LINK.unmet(original, TURIN) == (
        "10baseT/Half 10baseT/Full 100baseT/Half 100baseT/Full 1000baseT/Full could be negotiated "
        "too",
    )
    assert LINK.unmet(simulated(original, LINK.change("data0", original, TURIN)), TURIN) == ()


def test_forced():
    set_, _ = LINK.change("data0", captured("r8169"), {"speed": 100, "autoneg": "off"})
    assert set_.argv[3:] == ("speed", "100", "duplex", "full", "autoneg", "off")


def test_a_speed_that_the_nic_has_not():
    with pytest.raises(SettingError, match=r"2500baseT/Full, and none is 10000 Mbit/s full duplex"):
        LINK.change("data0", captured("r8169"), {"speed": 10000, "duplex": "full"})
    with pytest.raises(SettingError, match="none is 1000 Mbit/s half duplex"):
        LINK.change("data0", captured("r8169"), {"speed": 1000, "duplex": "half"})


@pytest.mark.parametrize(("name", "shows"), [("veth", "10000 Mbit/s"), ("virtio", "no speed")])
def test_a_virtual_nic_refuses_and_says_what_to_write(name, shows):
    state = captured(name)
    with pytest.raises(SettingError, match=f"virtual interface: it shows {shows} and has no link"):
        LINK.change("data0", state, TURIN)
    accepted = {**TURIN, "if_fixed": "accept"}
    assert LINK.change("data0", state, accepted) == ()
    assert LINK.unmet(state, accepted) == ()
    assert LINK.undo("data0", state, state) == ()


def test_what_a_veth_says_it_is_it_may_be_asked_for():
    assert LINK.change("data0", captured("veth"), {"speed": 10000, "duplex": "full"}) == ()


def test_an_interface_nobody_looked_at():
    set_, _ = LINK.change("data0", {}, TURIN)
    assert set_.argv[3:] == ("speed", "2500", "duplex", "full", "autoneg", "on")
    set_, _ = LINK.undo("data0", captured("r8169"), {})
    assert set_.argv[3:] == ("autoneg", "on", "advertise", *words(MODES))


def test_what_a_damaged_journal_holds_becomes_no_option():
    original = {**captured("r8169"), "supported": ["--flash"], "advertised": ["--flash"]}
    with pytest.raises(SettingError, match="'--flash' is no speed"):
        LINK.undo("data0", original, {})


@pytest.mark.parametrize(
    "wanted",
    [{}, {"speed": "2500"}, {"speed": 0}, {"duplex": "Full"}, {"autoneg": True}, {"mdi": 1}],
)
def test_the_schema_lets_nothing_else_through(wanted):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wanted, LINK.schema)


WISHES = st.fixed_dictionaries(
    {"speed": st.sampled_from([10, 100, 1000, 2500])},
    optional={"duplex": st.just("full"), "autoneg": st.sampled_from(["on", "off"])},
)


@given(st.sampled_from(["r8169", "r8169-1000"]), st.lists(WISHES, max_size=4))
def test_undo_leads_back_from_wherever_changes_led(name, wishes):
    original = state = captured(name)
    for wanted in wishes:
        state = simulated(state, LINK.change("data0", state, wanted))
        assert LINK.unmet(state, wanted) == ()
        assert LINK.change("data0", state, wanted) == ()
    undone = simulated(state, LINK.undo("data0", original, state))
    assert LINK.differences(original, undone) == ()
    assert LINK.undo("data0", original, undone) == ()
