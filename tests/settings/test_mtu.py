"""MTU, on what a veth showed (captures/settings/mtu)."""

from __future__ import annotations

import json

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.model import Command
from netlimits.settings.mtu import Mtu

mtu = Mtu()


@pytest.fixture
def state():
    return pairs.state(mtu, "veth-9000")


@pytest.fixture
def more():
    """With a macvlan above, a route with its own MTU and an address that runs out."""
    return pairs.state(mtu, "veth-9000-more")


@pytest.fixture
def everything():
    """With mgmt0 in the same network, a bridge, and what IPv6 loses for good."""
    return pairs.state(mtu, "everything")


def argvs(commands):
    commands = list(commands)
    assert all(c.sudo for c in commands)
    return [" ".join(c.argv) for c in commands]


@pytest.mark.parametrize("name", pairs.names("settings/mtu"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/mtu", name)


def test_the_mtu_that_is_there_needs_no_command(state):
    assert mtu.change("data0", state, 9000) == ()
    assert mtu.unmet(state, 9000) == ()
    assert mtu.unmet(state, 1500) == ("it is 9000, not 1500",)


def test_an_interface_nobody_looked_at(state):
    (command,) = mtu.change("data0", {}, 1500)
    assert command == Command(("ip", "link", "set", "dev", "data0", "mtu", "1500"), sudo=True)
    commands = mtu.undo("data0", state, {})  # what a guard on the host would run
    whole = argvs(c for c in commands if c.argv[0] != "sh")
    assert whole[0] == "ip link set dev data0 mtu 9000"
    assert whole[1].startswith("sysctl -w net/ipv6/conf/data0/")
    strays, *addresses, routes, flush = (c.argv[3:] for c in commands if c.argv[0] == "sh")
    named = " ".join(addresses[-1])
    assert named == "restore an address of data0 2001:db8::1/64 scope global nodad"
    assert strays[:2] == ("delete link-local addresses but", "data0")
    assert set(strays[2:]) == {f"{a['local']}/{a['prefixlen']}" for a in state["ipv6"]["addresses"]}
    assert routes[:2] == ("restore routes", "data0")
    assert flush == ("forget path MTUs", "data0")


@pytest.mark.parametrize(
    ("wanted", "why"), [(65536, "at most 65535, not 65536"), (60, "at least 68, not 60")]
)
def test_the_drivers_limits(state, wanted, why):
    with pytest.raises(SettingError, match=why):
        mtu.change("data0", state, wanted)


def test_a_driver_without_a_limit_says_0(state):
    assert mtu.change("lo", {**state, "most": 0}, 100_000)


def test_below_1280_what_cannot_return_refuses(state, more):
    assert mtu.change("data0", state, 1279)
    assert mtu.change("data0", more, 1280)
    with pytest.raises(SettingError, match=r"2001:db8:7::1, IPv6 of above; use 1280 or more"):
        mtu.change("data0", more, 1279)


def test_ipv6_waits_until_the_mtu_is_back(state):
    small = pairs.state(mtu, "veth-1000")
    assert argvs(mtu.undo("data0", state, small)) == ["ip link set dev data0 mtu 9000"]
    problems = mtu.differences(state, small)
    assert problems[0] == "MTU is 1000, was 9000"
    assert "IPv6 address 2001:db8::1/64 is gone" in problems


def test_what_the_kernel_changed_on_the_way_is_put_back(more):
    now = json.loads(json.dumps(more))
    now["others"]["above"] = 1400
    now["ipv6"]["conf"]["conf/mtu"] = "1400"
    route = "inet6 2001:db8:1::/64 via 2001:db8::2 metric 1024 pref medium"
    assert now["ipv6"]["routes"][route] == {"mtu": "8000"}
    now["ipv6"]["routes"][route]["mtu"] = "9000"
    *plain, routes = mtu.undo("data0", more, now)
    assert argvs(plain) == [
        "ip link set dev above mtu 9000",
        "sysctl -w net/ipv6/conf/data0/mtu=9000",
    ]
    assert routes.argv[4:] == (
        "data0", "-6", "append", "table main exact 2001:db8:1::/64 metric 1024",
        route.removeprefix("inet6 "), "mtu 8000",
    )  # fmt: skip
    (by_hand,) = routes.by_hand
    assert " ".join(by_hand.argv) == (
        "ip -6 route change 2001:db8:1::/64 via 2001:db8::2 metric 1024 pref medium mtu 8000 "
        "dev data0"
    )


def test_what_lies_on_what_is_restored_from_below_and_bridges_follow(everything):
    assert [*everything["others"]] == ["low", "br0", "high"]
    small = {**everything, "mtu": 1400, "others": dict.fromkeys(everything["others"], 1400)}
    restored = [f"ip link set dev {name} mtu 9000" for name in ("data0", "low", "high")]
    assert argvs(mtu.undo("data0", everything, small)) == restored
    assert argvs(mtu.undo("data0", everything, {})[:3]) == restored
    left = {**everything, "others": {"low": 9000, "br0": 1400, "high": 9000}}
    assert argvs(mtu.undo("data0", everything, left)) == ["ip link set dev br0 mtu 9000"]


def test_a_bridge_keeps_following_its_ports(everything):
    with pytest.raises(SettingError, match="data0 is a bridge, which would never again follow"):
        mtu.change("data0", {**everything, "bridges": ["data0"]}, 1400)


def test_another_namespaces_interface_is_not_lowered(everything):
    still = {**everything, "ipv6": {**everything["ipv6"], "moving": []}}
    problem = "1400 would lower that of inside in the network namespace web, on data0"
    with pytest.raises(SettingError, match=problem):
        mtu.change("data0", still, 1400)
    assert mtu.change("data0", still, 9001)
    (inside,) = still["away"]
    for away in ({**inside, "mtu": 1400}, {**inside, "kind": "ipvlan"}):  # which follows both ways
        assert mtu.change("data0", {**still, "away": [away]}, 1400)
    hidden = pairs.state(mtu, "no-root")
    hidden["ipv6"]["moving"] = []
    with pytest.raises(SettingError, match=r"this login does not see, .* lies on data0"):
        mtu.change("data0", hidden, 1400)
    assert hidden["unseen"] == [3], "nsid 0 has the other end of data0"
    with pytest.raises(SettingError, match=r"that this login does not see \(nsid 3 of "):
        mtu.change("data0", {**hidden, "hidden": []}, 1400)
    assert mtu.change("data0", {**hidden, "hidden": []}, 9001)


def test_below_1280_everything_that_cannot_return_is_named(everything):
    alone = {**everything, "ipv6": {**everything["ipv6"], "moving": []}, "away": [], "others": {}}
    with pytest.raises(SettingError) as error:
        mtu.change("data0", alone, 1279)
    assert (
        "this could not be restored: token ::99, multicast group ff02::fb of a program, "
        "route 2001:db8:8::/64 (nhid), route 2001:db8:9::/64 (nexthop), "
        "route 2001:db8::/64 before that of mgmt0; use 1280 or more" in str(error.value)
    )


def test_an_mtu_of_a_route_that_could_not_move_back(everything):
    with pytest.raises(SettingError, match=r"the mtu of data0's IPv6 routes to 2001:db8:8::/64,"):
        mtu.change("data0", {**everything, "away": []}, 1400)


def test_proxy_neighbours_come_back(everything):
    now = {**everything, "ipv6": {**everything["ipv6"], "proxies": []}}
    assert argvs(mtu.undo("data0", everything, now)) == [
        "ip -6 neigh replace proxy 2001:db8::77 dev data0",
        "ip -6 neigh replace proxy 2001:db8::78 router dev data0",
    ]


def test_somebody_elses_new_address_stays(state):
    now = json.loads(json.dumps(state))
    new = {**now["ipv6"]["addresses"][0], "local": "2001:db8:5::5"}
    now["ipv6"]["addresses"].append(new)
    assert mtu.undo("data0", state, now) == ()
    assert mtu.differences(state, now) == ()


ADDRESSES = st.lists(
    st.builds(
        lambda n, nodad: {
            "family": "inet6", "local": f"2001:db8::{n:x}", "prefixlen": 64, "scope": "global",
            **({"nodad": True} if nodad else {}),
            "valid_life_time": 2**32 - 1, "preferred_life_time": 2**32 - 1,
        },
        st.integers(1, 0xFFFF),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda a: a["local"],
)  # fmt: skip
STATES = st.builds(
    lambda n, others, conf, addresses, routes: {
        "mtu": n,
        "least": 68,
        "most": 65535,
        "others": {f"above{i}": min(n, m) for i, m in enumerate(others)},
        "ipv6": {
            "addresses": addresses,
            "routes": {f"inet6 2001:db8:{i:x}::/64 metric {m}": {} for i, m in enumerate(routes)},
            "behind": {},
            "before": {},
            "neighbours": [],
            "proxies": [],
            "conf": {"conf/mtu": str(n), "conf/hop_limit": str(conf), "neigh/proxy_qlen": "9"},
            "fading": [],
            "strange": [],
            "moving": [],
        },
        "bridges": [],
        "away": [],
        "hidden": [],
        "unseen": [],
    },
    st.integers(1280, 65535),
    st.lists(st.integers(1280, 65535), max_size=2),
    st.integers(1, 255),
    ADDRESSES,
    st.lists(st.integers(1, 99), max_size=3),
)


def simulated(state, commands):
    """What Linux does: an MTU cuts down what lies above, and IPv6 is reset or taken off."""
    state = json.loads(json.dumps(state))
    six = state["ipv6"]
    for command in commands:
        argv = command.argv
        if argv[:3] == ("ip", "link", "set"):
            name, n = argv[4], int(argv[6])
            if name != "data0":
                state["others"][name] = n
                continue
            state["mtu"] = n
            state["others"] = {o: min(m, n) for o, m in state["others"].items()}
            if n < 1280:
                six.update(addresses=[], routes={}, neighbours=[], conf={})
            else:
                six["conf"] = {"conf/hop_limit": "64", **six["conf"], "conf/mtu": str(n)}
        elif argv[0] == "sysctl":
            for pair in argv[2:]:
                where, value = pair.split("=")
                _, _, kind, _, name = where.split("/")
                six["conf"][f"{kind}/{name}"] = value
        elif argv[:4] == ("ip", "-6", "addr", "replace"):
            local, length = argv[4].split("/")
            flags = {"nodad": True} if "nodad" in argv else {}
            six["addresses"].append({
                "family": "inet6", "local": local, "prefixlen": int(length), "scope": argv[6],
                **flags, "valid_life_time": 2**32 - 1, "preferred_life_time": 2**32 - 1,
            })  # fmt: skip
        elif argv[3:4] == ("restore routes",):
            six["routes"].update({f"inet6 {words}": {} for words in argv[8::5]})
        else:
            raise AssertionError(argv)
    return state


@given(STATES, st.lists(st.integers(68, 65535), min_size=1, max_size=3))
def test_undo_leads_back_from_wherever_changes_led(original, wishes):
    now = original
    for wanted in wishes:
        commands = mtu.change("data0", {**now, "others": {}}, wanted)
        now = simulated(now, commands)
        assert mtu.unmet(now, wanted) == ()
    for _ in range(2):  # as Applied does
        now = simulated(now, mtu.undo("data0", original, now))
    assert mtu.differences(original, now) == ()
    assert mtu.undo("data0", original, now) == ()
