"""Metrics of routes, on what `ip route` showed (captures/settings/route)."""

from __future__ import annotations

import jsonschema
import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.model import Completed
from netlimits.settings.route import Route

route = Route()
OWN = "198.51.100.0/24 proto kernel scope link src 198.51.100.1"
OWN6 = "inet6 2001:db8::/64 proto kernel metric 256 pref medium"
ONLINK = "203.0.113.0/24 via 198.51.100.2 onlink"


def read(text: str, interface: str = "data0"):
    return route.state(Completed("sender", route.read(interface, {}), 0, text, "", 0.0))


@pytest.fixture
def state():
    return pairs.state(route, "veth")


@pytest.fixture
def second():
    """With an interface in the same networks that was there first."""
    return pairs.state(route, "two-interfaces")


def argvs(commands):
    assert all(c.sudo for c in commands)
    return [" ".join(c.argv) for c in commands]


@pytest.mark.parametrize("name", pairs.names("settings/route"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/route", name)


def test_the_interfaces_own_networks_are_meant_by_default(state):
    assert argvs(route.change("data0", state, {"quickack": 1, "initcwnd": 20})) == [
        f"ip -4 route change {OWN} quickack 1 initcwnd 20 dev data0",
        f"ip -6 route change {OWN6.removeprefix('inet6 ')} quickack 1 initcwnd 20 dev data0",
    ]


def test_metrics_that_are_there_are_kept(state):
    wanted = {"to": "203.0.113.0/24", "initcwnd": 30, "quickack": 0}
    assert argvs(route.change("data0", state, wanted)) == [
        f"ip -4 route change {ONLINK} mtu lock 8000 cwnd lock 44 advmss 7000 initcwnd 30 "
        "rto_min 5ms dev data0"
    ]
    assert route.change("data0", state, {"to": "203.0.113.0/24", "rto_min": "5ms"}) == ()
    assert route.unmet(state, {"to": "203.0.113.0/24", "cwnd": 45}) == (
        "cwnd of the route to 203.0.113.0/24 is lock 44, not 45",
    )


@pytest.mark.parametrize("to", ["default", "0.0.0.0/0"])
def test_a_default_route(state, to):
    (command,) = route.change("data0", state, {"to": to, "quickack": 1})
    assert command.argv[:7] == ("ip", "-4", "route", "change", "default", "via", "198.51.100.2")


def test_no_such_route_names_those_there_are(state):
    with pytest.raises(SettingError, match=r"no route to ::/0 over data0; there are: default, 198"):
        route.change("data0", state, {"to": "::/0", "quickack": 1})
    with pytest.raises(SettingError, match="no route of its own network over lo; there are: none"):
        route.change("lo", read(""), {"quickack": 1})


def test_a_route_that_runs_out_is_left_alone(state):
    wanted = {"to": "2001:db8:2::/64", "quickack": 1}
    with pytest.raises(SettingError, match=r"could not be restored as it is \(expires 2999sec"):
        route.change("data0", state, wanted)
    later = read(pairs.text("settings/route", "veth").replace("2999sec", "2990sec"))
    assert route.differences(state, later) == ()
    assert route.undo("data0", state, later) == ()


def test_a_multipath_route_is_left_alone(second):
    with pytest.raises(SettingError, match=r"restored as it is \(nexthop via 198\.51\.100\.2 dev"):
        route.change("data0", second, {"to": "203.0.113.0/24", "quickack": 1})


@pytest.mark.parametrize("to", [{}, {"to": "198.51.100.0/24"}, {"to": "2001:db8::/64"}])
def test_a_route_behind_another_interfaces_is_left_alone(second, to):
    problem = r"to (198\.51|2001).* over data0 comes after that of mgmt0 with the same metric"
    with pytest.raises(SettingError, match=problem):
        route.change("data0", second, {**to, "quickack": 1})
    assert route.change("data0", second, {**to, "quickack": 0}) == ()


def test_a_route_before_another_interfaces_is_changed_and_so_is_one_of_multicast(second):
    (command,) = argvs(route.change("data0", second, {"to": "192.0.2.0/24", "quickack": 1}))
    assert command == "ip -4 route change 192.0.2.0/24 via 198.51.100.2 quickack 1 dev data0"
    (command,) = argvs(route.change("data0", second, {"to": "224.0.0.0/4", "quickack": 1}))
    assert command == "ip -4 route change multicast 224.0.0.0/4 scope link quickack 1 dev data0"


@pytest.mark.parametrize("metric", ["metric 7", "tos 0x10"])
def test_a_route_of_another_kind_is_none_of_the_same_place(metric):
    state = read(f"198.51.100.0/24 {metric} dev mgmt0 scope link\n{OWN} dev data0\n")
    assert state["behind"] == {}
    assert route.change("data0", state, {"quickack": 1})


def test_a_route_that_is_gone_is_made_again(state):
    now = {**state, "routes": {k: v for k, v in state["routes"].items() if k != ONLINK}}
    (command,) = route.undo("data0", state, now)
    assert command.argv[:4] == ("ip", "-4", "route", "prepend")
    assert route.differences(state, now)[0].startswith("the route to 203.0.113.0/24 has gone, had")


def test_a_route_that_fell_behind_comes_first_again(second):
    before = read(f"{OWN} dev data0\n{OWN6} dev data0\n")
    assert set(before["routes"]) < set(second["routes"])
    assert route.differences(before, second) == (
        "the route to 198.51.100.0/24 comes after that of mgmt0",
    )
    assert argvs(route.undo("data0", before, second)) == [
        f"ip -4 route del {OWN} dev data0",
        f"ip -4 route prepend {OWN} dev data0",
    ]


def test_who_has_not_looked_names_the_routes_and_how_to_find_them(state):
    (command,) = route.undo("data0", state, {})
    name, interface, *arguments = command.argv[3:]
    assert (name, interface) == ("restore routes", "data0")
    assert arguments[10:15] == [
        "-4", "prepend", "table main exact 203.0.113.0/24 metric 0 tos 0", ONLINK,
        "mtu lock 8000 cwnd lock 44 advmss 7000 initcwnd 20 rto_min 5ms quickack 1",
    ]  # fmt: skip
    assert " ".join(command.by_hand[0].argv) == (
        "ip -4 route prepend default via 198.51.100.2 metric 9 dev data0"
    )
    assert arguments[15:18] == ["-6", "append", "table main exact 2001:db8::/64 metric 256"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"to": "-6"}, {"to": "default\n"}, {"to": "default dev eth0"}, {"to": "example.org"}, {"quickack": 2},
        {"initcwnd": 0}, {"rto_min": "5"}, {"rto_min": "-5ms"}, {"via": "192.0.2.1"}, {},
    ],
)  # fmt: skip
def test_the_schema_lets_nothing_else_through(wanted):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wanted, route.schema)


def test_what_is_no_network_is_an_error(state):
    with pytest.raises(SettingError, match=r"route: to: '1\.2\.3/99'"):
        route.change("data0", state, {"to": "1.2.3/99", "quickack": 1})


@pytest.mark.parametrize(
    ("given_", "shown"), [("5ms", "5ms"), ("1500ms", "1.5s"), ("70000ms", "70s")]
)
def test_times_are_compared_as_ip_shows_them(given_, shown):
    state = read(f"{OWN} dev data0 rto_min lock {shown}\n")
    assert route.unmet(state, {"rto_min": given_}) == ()


WISHES = st.fixed_dictionaries(
    {"quickack": st.sampled_from([0, 1])},
    optional={
        "initcwnd": st.integers(1, 99),
        "cwnd": st.integers(1, 99),
        "mtu": st.integers(68, 9000),
        "rto_min": st.integers(1, 5000).map(lambda n: f"{n}ms"),
        "to": st.sampled_from(["203.0.113.0/24", "default", "2001:db8:1::/64"]),
    },
)


def simulated(state, commands):
    """What `ip route change` does: the route's metrics become those that are said."""
    routes = dict(state["routes"])
    for command in commands:
        words = list(command.argv[4:])
        line = " ".join(words).replace("rto_min ", "rto_min lock ")
        ((name, metrics),) = read(("inet6 " if command.argv[1] == "-6" else "") + line)[
            "routes"
        ].items()
        assert name in routes, "RTNETLINK answers: No such file or directory"
        routes[name] = metrics
    return {"routes": routes, "behind": {}}


@given(st.lists(WISHES, min_size=1, max_size=4))
def test_undo_leads_back_from_wherever_changes_led(wishes):
    original = pairs.state(route, "veth")
    state = original
    for wanted in wishes:
        state = simulated(state, route.change("data0", state, wanted))
        assert route.unmet(state, wanted) == ()
        assert route.change("data0", state, wanted) == ()
    # rto_min is said in ms and shown in s: what was found is said as it was shown
    undone = simulated(state, route.undo("data0", original, state))
    assert route.differences(original, undone) == ()
    assert route.undo("data0", original, undone) == ()
