"""Other interfaces, and what IPv6 cannot give back: as they were, or refused before a change."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from settings.conftest import FAR, NEAR, Bench, sh
from settings.test_undo_both_ways import undone_both_ways
from waiting import wait

from netlimits.errors import SettingError

pytestmark = pytest.mark.lab

MEMBER = """
import socket, struct, sys
near = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
group = socket.inet_pton(socket.AF_INET6, "ff02::fb") + struct.pack("@I", socket.if_nametoindex("data0"))
near.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
print("ready", flush=True)
sys.stdin.read()
"""
ADVERTISES = """
import socket, struct
router = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
mtu = struct.pack("!BBHI", 5, 1, 0, 1500)
router.sendto(struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + mtu, ("ff02::1%data0", 0))
"""


def prepare(bench: Bench, *lines: str) -> None:
    for line in ("ip link set lo up", *lines):
        bench.sh(*line.split())


def second(bench: Bench, *lines: str) -> None:
    """Give the host an interface in the same networks, `mgmt0`."""
    peer = ("type", "veth", "peer", "name", "mgmt0", "netns", FAR)
    sh("ip", "link", "add", "name", "mgmt0", "netns", NEAR, *peer)
    sh("ip", "-n", FAR, "link", "set", "mgmt0", "up")
    prepare(bench, "ip link set mgmt0 up", "ip addr add 198.51.100.3/24 dev mgmt0",
            "ip addr add 2001:db8::3/64 dev mgmt0 nodad", *lines)  # fmt: skip
    wait(lambda: "linkdown" not in bench.sh("ip", "route"), "its link is up")


FIRST = (  # data0's addresses once more, so that the routes of mgmt0 come first
    "ip addr flush dev data0 scope global",
    "ip addr add 198.51.100.1/24 dev data0",
    "ip addr add 2001:db8::1/64 dev data0 nodad",
)


def refused(bench: Bench, name: str, wanted: object, problem: str) -> None:
    before = re.sub(r"\d+sec", "", str(bench.leaves()))
    with pytest.raises(SettingError, match=problem):
        bench.reach(name, wanted)
    assert re.sub(r"\d+sec", "", str(bench.leaves())) == before
    assert bench.log.originals == []


def test_a_route_behind_another_interfaces_is_refused(bench):
    second(bench, *FIRST)
    problem = r"the route to 198\.51\.100\.0/24 over data0 comes after that of mgmt0"
    refused(bench, "route", {"quickack": 1}, problem)


def test_a_route_before_another_interfaces_is_changed_alone(bench, tmp_path):
    second(bench)
    before = bench.leaves()
    bench.reach("route", {"quickack": 1})
    after = bench.leaves()
    for table in ("route", "route6"):
        with_it = [line.replace(" quickack 1", "") for line in after[table]]
        assert with_it == before[table] != after[table]
    bench.fire(tmp_path)
    bench.put_back_as(before)


@pytest.mark.parametrize("way", ["guard", "restore"])
def test_a_route_that_a_link_lost_comes_back_to_its_place(bench, tmp_path, way):
    second(bench, "ip -6 route del 2001:db8::/64 dev data0",
           "ip route add 203.0.113.0/24 via 198.51.100.2 dev data0")  # fmt: skip
    before = bench.sh("ip", "-4", "route")
    bench.reach("route", {"quickack": 1})
    prepare(bench, "ip link set data0 down", "ip link set data0 up")
    wait(lambda: "linkdown" not in bench.sh("ip", "route"), "its link is up")
    assert bench.sh("ip", "route").splitlines()[0].startswith("198.51.100.0/24 dev mgmt0")
    if way == "guard":
        bench.fire(tmp_path)
    else:
        bench.changes.restore()
    assert bench.sh("ip", "-4", "route") == before


def test_an_mtu_below_1280_leaves_other_interfaces_their_routes(bench, tmp_path):
    second(
        bench,
        *FIRST,
        "ip neigh add proxy 2001:db8::77 dev data0",
        "ip neigh add 2001:db8::7 lladdr 02:00:00:00:00:01 dev data0 nud permanent",
        "ip -6 route add 2001:db8:9::/64 via 2001:db8::9 dev data0 metric 99 mtu lock 1400",
        "ip -6 route add 2001:db8:8::/64 via 2001:db8::9 dev data0 table 77",
        "ip -6 route add default from 2001:db8::/48 via 2001:db8::9 dev data0 hoplimit 9",
        "ip -6 rule add iif data0 lookup 77",
        "ip addrlabel add prefix 2001:db8::/64 dev data0 label 77",
    )
    proxies = bench.sh("ip", "-6", "neigh", "show", "proxy")
    assert "2001:db8::77" in proxies
    link_locals_settle(bench)
    undone_both_ways(bench, [("mtu", 1000)], tmp_path)
    assert bench.sh("ip", "-6", "neigh", "show", "proxy") == proxies
    assert "iif data0" in bench.sh("ip", "-6", "rule")
    assert "dev data0 label 77" in bench.sh("ip", "addrlabel")


@pytest.mark.parametrize(
    ("route", "mtu", "problem"),
    [
        ("multicast ff0e::/16 dev data0 mtu 1400", 1000, ""),
        ("local 2001:db8:4::1 dev data0 table 77 mtu 1400", 1400, "routes to 2001:db8:4::1"),
        ("anycast 2001:db8:3::1 dev data0", 1000, r"2001:db8:3::1 \(anycast\)"),
    ],
)
def test_somebodys_routes_of_other_types_are_restored_or_refused(
    bench, tmp_path, route, mtu, problem
):
    prepare(bench, f"ip -6 route add {route}")
    link_locals_settle(bench)
    if problem:
        refused(bench, "mtu", mtu, problem)
    else:
        undone_both_ways(bench, [("mtu", mtu)], tmp_path)


def test_a_guard_leaves_a_routers_route_to_an_addresses_network(bench, tmp_path):
    prepare(bench, "ip -6 route add 2001:db8::/64 dev data0 metric 50 expires 900")
    link_locals_settle(bench)
    bench.reach("mtu", 1400)
    bench.fire(tmp_path)
    assert "2001:db8::/64 dev data0 metric 50 expires" in bench.sh("ip", "-6", "route")


def link_locals_settle(bench: Bench) -> None:
    wait(lambda: "tentative" not in bench.sh("ip", "addr"), "addresses are no more tentative")


@pytest.fixture
def member(bench) -> Iterator[None]:
    """A program on the host that has joined a multicast group."""
    argv = ["ip", "netns", "exec", NEAR, sys.executable, "-IS", "-c", MEMBER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout
        assert program.stdout.readline() == b"ready\n"
        yield
        program.communicate()


@pytest.mark.usefixtures("member")
def test_what_ipv6_would_lose_for_good_is_named(bench):
    second(
        bench,
        "ip addr add 2001:db8:5::3/64 dev mgmt0 nodad",
        "ip -6 route add 2001:db8:9::/64 nexthop via 2001:db8::9 dev data0 "
        "nexthop via 2001:db8:5::9 dev mgmt0",
        "ip nexthop add id 7 via 2001:db8::8 dev data0",
        "ip -6 route add 2001:db8:8::/64 nhid 7",
        "ip -6 route add 2001:db8:7::/64 via 2001:db8::9 expires 900",
        "ip neigh add proxy 2001:db8::77 dev data0 proto static",
        "ip token set ::99 dev data0",
    )
    link_locals_settle(bench)
    refused(bench, "mtu", 1000, ", ".join((
        "route 2001:db8:7::/64", "proxy neighbour 2001:db8::77 proxy proto static", "token ::99",
        "multicast group ff02::fb of a program", r"route 2001:db8:8::/64 \(nhid\)",
        r"route 2001:db8:9::/64 \(nexthop\)", "route 2001:db8::/64 before that of mgmt0",
        "route ff00::/8 before that of mgmt0",
    )))  # fmt: skip


def test_the_mtu_of_a_routers_route_is_not_moved(bench):
    """Its next advertisement would not set it again: the interface's own is 1500 as it says."""
    sh("ip", "netns", "exec", FAR, sys.executable, "-IS", "-c", ADVERTISES)
    wait(lambda: "mtu 1500" in bench.sh("ip", "-6", "route", "show", "default"), "a router's route")
    before = bench.sh("ip", "-6", "route", "show", "default")
    with pytest.raises(SettingError, match="the mtu of data0's IPv6 routes to default, which"):
        bench.reach("mtu", 1400)
    assert "mtu 1500" in before


def test_what_is_stacked_on_an_interface_grows_back_with_it(bench, tmp_path):
    prepare(
        bench,
        "ip link add low link data0 type macvlan",
        "ip link add br0 type bridge",
        "ip link set low master br0",
        "ip link add high link br0 type macvlan",
        "ip link set high mtu 8000",
    )
    undone_both_ways(bench, [("mtu", 1400)], tmp_path)
    prepare(bench, "ip link set low mtu 2000")
    assert "mtu 2000" in bench.sh("ip", "link", "show", "br0"), "it follows its port as before"
    with pytest.raises(SettingError, match="IPv6 of low, IPv6 of br0, IPv6 of high; use 1280"):
        bench.reach("mtu", 1000)


def test_an_interface_in_another_namespace_is_not_lowered(bench):
    sh("ip", "-n", NEAR, "link", "add", "eth9", "link", "data0", "netns", FAR, "type", "macvlan")
    problem = f"1400 would lower that of eth9 in the network namespace {FAR}, on data0"
    refused(bench, "mtu", 1400, problem)
    sh("ip", "-n", FAR, "link", "set", "eth9", "mtu", "1400")
    before = bench.leaves()
    bench.reach("mtu", 1400)
    bench.put_back_as(before)


def test_a_bridge_is_not_given_an_mtu_of_its_own(bench):
    prepare(bench, "ip link add br0 type bridge", "ip link set data0 master br0")
    bench.interface = "br0"
    with pytest.raises(SettingError, match="br0 is a bridge, which would never again follow"):
        bench.reach("mtu", 1400)
