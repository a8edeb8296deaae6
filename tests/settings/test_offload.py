from __future__ import annotations

import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.model import Command
from netlimits.settings.offload import Offload

offload = Offload()


@pytest.fixture
def veth():
    return pairs.state(offload, "veth")


@pytest.fixture
def tx_off():
    return pairs.state(offload, "veth-tx-off")


@pytest.mark.parametrize("name", pairs.names("settings/offload"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/offload", name)


@pytest.mark.parametrize(
    ("short", "long"), [("tso", "tcp-segmentation-offload"), ("sg", "scatter-gather")]
)
def test_short_and_long_names_mean_the_same(veth, short, long):
    by_short = offload.change("data0", veth, {short: "off"})
    by_long = offload.change("data0", veth, {long: "off"})
    assert by_short[0].argv == ("ethtool", "-K", "data0", short, "off")
    assert by_long[0].argv == ("ethtool", "-K", "data0", long, "off")
    assert offload.unmet(veth, {short: "off"})
    assert offload.unmet(veth, {long: "off"})


def test_only_what_differs_is_changed_in_one_command(veth):
    (command,) = offload.change("data0", veth, {"tso": "off", "gso": "on", "gro": "on"})
    assert command == Command(("ethtool", "-K", "data0", "tso", "off", "gro", "on"), sudo=True)
    assert offload.change("data0", veth, {"tso": "on", "gso": "on"}) == ()


def test_a_fixed_feature_is_an_error_that_says_what_to_write(veth):
    with pytest.raises(SettingError) as error:
        offload.change("data0", veth, {"lro": "on"})
    assert "lro is [fixed] off on data0" in str(error.value)
    assert "lro: {want: on, if_fixed: accept}" in str(error.value)


def test_a_fixed_feature_may_be_accepted(veth):
    wanted = {"lro": {"want": "on", "if_fixed": "accept"}}
    assert offload.change("data0", veth, wanted) == ()
    assert offload.unmet(veth, wanted) == ()


def test_a_fixed_feature_that_is_as_wanted_needs_no_word(veth):
    assert offload.change("data0", veth, {"lro": "off"}) == ()


def test_a_blocked_feature_is_unmet_and_says_why(tx_off):
    assert offload.unmet(tx_off, {"tso": "on"}) == (
        "tso is not on: another feature keeps it off (tso needs sg and tx)",
    )


def test_ethtools_heading_says_on_while_tso_is_blocked(tx_off):
    assert offload.change("data0", tx_off, {"tso": "on"})
    assert offload.change("data0", tx_off, {"tso": "off"})


def test_an_unknown_feature_is_an_error_with_the_nearest_name(veth):
    with pytest.raises(SettingError, match="did you mean tx-tcp-segmentation"):
        offload.change("data0", veth, {"tx-tcp-segmentaton": "on"})


def test_undo_requests_the_leaves_that_were_requested(veth, tx_off):
    # tso's leaves are still requested in `tx_off`: only the checksum leaves have to be written
    (command,) = offload.undo("data0", veth, tx_off)
    pairs = dict(zip(command.argv[3::2], command.argv[4::2], strict=True))
    assert pairs["tx-checksum-ip-generic"] == "on"
    assert "tx-tcp-segmentation" not in pairs
    assert command.sudo


def test_undo_never_touches_a_fixed_leaf(veth):
    upside_down = {
        "groups": veth["groups"],
        "features": {
            n: "off" if t == "on" else "on" if t == "off" else t
            for n, t in veth["features"].items()
        },
    }
    (command,) = offload.undo("data0", veth, upside_down)
    pairs = dict(zip(command.argv[3::2], command.argv[4::2], strict=True))
    assert pairs
    assert all("[fixed]" not in veth["features"][leaf] for leaf in pairs)
    assert all(value == veth["features"][leaf].split()[0] for leaf, value in pairs.items())


def test_a_state_has_all_differences_from_another(veth, tx_off):
    assert any("tx-checksum-ip-generic" in d for d in offload.differences(veth, tx_off))
    assert any("tx-tcp-segmentation" in d for d in offload.differences(veth, tx_off))


def test_an_interface_nobody_looked_at_gets_everything_set():
    (command,) = offload.change(
        "data0", {}, {"tso": "off", "lro": {"want": "off", "if_fixed": "accept"}}
    )
    assert command.argv[3:] == ("tso", "off", "lro", "off")
