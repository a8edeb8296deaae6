"""Which differences of a host's network state are a campaign's own."""

from __future__ import annotations

import pytest

from netlimits.evidence.network.comparison import Difference
from netlimits.evidence.network.state import INTERFACE, Leaf, NetworkState
from netlimits.restore.side_effects import SideEffects

ROUTE = "{} dev {} table main proto kernel scope link"
READING = NetworkState(
    sections={
        "links": {
            Leaf("link", "v1", "link"): "data0",
            Leaf("link", "v1", "master"): "br0",
            Leaf("link", "mac0", "link"): "br0",
            Leaf("link", "data0", "link"): "peer0",
            Leaf("link", "data0", "linkinfo.info_kind"): "veth",
            Leaf("link", "peer0", "link"): "data0",
            Leaf("link", "peer0", "linkinfo.info_kind"): "veth",
            Leaf("link", "port1", "master"): "data0",
            Leaf("link", "mgmt0", "mtu"): "1500",
        },
        "ipv4": {Leaf("IPv4 route", "data0", ROUTE.format("10.0.0.0/24", "data0")): ""},
    }
)


def ours(sets: dict[str, list[str]], *leaf: str) -> bool:
    effects = SideEffects("data0", sets, READING, READING)
    return effects.includes(Difference(Leaf(*leaf), "1", "2"))


def test_the_stack_is_what_lies_on_the_interface_and_its_ports_but_no_peer():
    assert SideEffects("data0", {}, READING, READING).stack == {
        "data0",
        "v1",
        "br0",
        "mac0",
        "port1",
    }


@pytest.mark.parametrize(
    ("setting", "leaf", "own"),
    [
        ("mtu", ("link", "mac0", "mtu"), True),
        ("mtu", ("link", "mgmt0", "mtu"), False),
        ("mtu", ("address", "data0", "fd00::1/64"), True),
        ("mtu", ("token", "data0", ""), True),
        ("mtu", ("IPv4 route", "mgmt0", ROUTE.format("10.0.0.0/24", "mgmt0")), True),
        ("mtu", ("IPv4 route", "mgmt0", ROUTE.format("10.1.0.0/24", "mgmt0")), False),
        ("mtu", ("IPv4 route", "mgmt0", "10.3.0.0/24 nexthop dev mgmt0 nexthop dev v1"), True),
        ("mtu", ("IPv4 rule", "", "5: from all lookup 7"), False),
        ("mtu", ("sysctl", "data0", "net.ipv6.conf.data0.accept_ra"), True),
        ("mtu", ("sysctl", "data0", "net.ipv4.conf.data0.rp_filter"), False),
        ("mtu", ("sysctl", "", "net.core.somaxconn"), False),
        ("switch", ("sysctl", "data0", "net.ipv4.conf.data0.rp_filter"), True),
        ("mtu", (INTERFACE, "v1", ""), False),
        ("mtu", ("link", "data0", "txqlen"), False),
        ("mtu", ("link", "data0", "address"), False),
        ("link", ("link", "v1", "linkinfo.info_slave_data.cost"), True),
        ("switch", ("link", "data0", "txqlen"), True),
        ("mtu", ("address", "data0", "10.0.0.1/24"), False),
        ("ring", ("address", "data0", "fd00::1/64"), True),
        ("ring", ("IPv4 neighbour", "data0", "10.0.0.9 dev data0 PERMANENT"), True),
        ("mtu", ("qdisc", "data0", "htb 1: root"), False),
        ("mtu", ("queue setting", "data0", "queues/rx-0/rps_cpus"), False),
        ("mtu", ("queue setting", "data0", "queues/tx-0/xps_cpus"), True),
        ("channels", ("queue setting", "data0", "queues/rx-0/rps_cpus"), True),
        ("channels", ("qdisc", "data0", "mq 1: root"), True),
        ("mtu", ("features", "data0", "tx-tcp-segmentation"), True),
        ("switch", (INTERFACE, "data0", ""), True),
        ("switch", (INTERFACE, "mgmt0", ""), False),
        ("route", ("IPv4 route", "mgmt0", ROUTE.format("10.0.0.0/24", "mgmt0")), True),
        ("route", ("address", "data0", "10.0.0.1/24"), False),
        ("offload", ("features", "v1", "tx-tcp-segmentation"), True),
        ("offload", ("link", "data0", "gso_max_size"), True),
        ("offload", ("link", "data0", "mtu"), False),
        ("offload", ("qdisc", "data0", "htb 1: root"), False),
        ("qdisc", ("filter", "data0", "ingress x"), True),
        ("qdisc", ("features", "data0", "tx-tcp-segmentation"), False),
        ("load", ("features", "data0", "tx-tcp-segmentation"), False),
    ],
)
def test_a_setting_reaches_what_it_can_change_and_no_more(setting, leaf, own):
    assert ours({setting: []}, *leaf) is own


@pytest.mark.parametrize(
    ("written", "moved", "own"),
    [
        ("net.core.somaxconn", "net.core.somaxconn", True),
        ("net.core.somaxconn", "net.core.rmem_max", False),
        ("net.ipv4.neigh.default.base_reachable_time",
         "net.ipv4.neigh.eth0/100.base_reachable_time_ms", True),
        ("net.ipv4.neigh.data0.unres_qlen", "net.ipv4.neigh.data0.unres_qlen_bytes", True),
        ("net.ipv6.conf.all.accept_ra", "net.ipv6.conf.mgmt0.accept_ra", True),
        ("net.ipv6.conf.all.accept_ra", "net.ipv4.conf.mgmt0.accept_ra", False),
        ("net.ipv4.tcp_congestion_control", "net.ipv4.tcp_allowed_congestion_control", True),
    ],
)  # fmt: skip
def test_a_sysctl_reaches_its_other_views_and_the_other_interfaces(written, moved, own):
    assert ours({"sysctl": [written]}, "sysctl", "mgmt0", moved) is own


GONE = NetworkState(
    sections={
        "links": {Leaf("address", "data0", "10.0.0.1/24"): ""},
        "ipv4": {Leaf("IPv4 route", "mgmt0", "10.7.0.0/24 dev mgmt0 table main"): ""},
        "tc": {Leaf("qdisc", "data0", "noqueue 0: dev data0 root"): ""},
    }
)
NEW = NetworkState(
    sections={
        "links": {
            Leaf("address", "data0", "10.0.0.1/24"): "",
            Leaf("address", "data0", "10.9.0.1/24"): "",
        },
        "ipv4": {
            Leaf("IPv4 route", "data0", "10.7.0.0/24 dev data0 table main"): "",
            Leaf("IPv4 route", "data0", "10.0.0.2 dev data0 table main scope link"): "",
        },
        "tc": {Leaf("qdisc", "data0", "tbf 8001: dev data0 root"): ""},
    }
)


@pytest.mark.parametrize(
    ("setting", "leaf", "own"),
    [
        ("mtu", ("IPv4 route", "data0", "10.0.0.2 dev data0 table main scope link"), False),
        ("route", ("IPv4 route", "data0", "10.0.0.2 dev data0 table main scope link"), False),
        ("mtu", ("IPv4 route", "data0", "10.7.0.0/24 dev data0 table main"), True),
        ("mtu", ("IPv4 route", "data0", ROUTE.format("10.0.0.0/24", "data0")), True),
        ("mtu", ("IPv4 route", "data0", ROUTE.format("10.9.0.0/24", "data0")), False),
        ("mtu", ("IPv6 route", "data0", "fe80::/64 dev data0 table main proto kernel"), True),
        ("mtu", ("IPv6 route", "data0", "fe80::/64 dev data0 table main proto static"), False),
        ("mtu", ("IPv6 route", "data0",
                 "multicast ff00::/8 dev data0 table local proto kernel"), True),
        ("mtu", ("IPv4 nexthop", "data0", "id 7 dev data0"), False),
        ("mtu", ("IPv4 neighbour", "data0", "10.0.0.9 dev data0 PERMANENT"), False),
        ("mtu", ("address", "data0", "10.9.0.1/24"), False),
        ("mtu", ("address", "data0", "fe80::7/64"), True),
        ("mtu", ("link", "data0", "master"), False),
        ("mtu", ("token", "data0", ""), False),
        ("mtu", ("qdisc", "data0", "tbf 8001: dev data0 root"), False),
        ("mtu", ("qdisc", "data0", "pfifo_fast 0: dev data0 root"), True),
        ("qdisc", ("qdisc", "data0", "tbf 8001: dev data0 root"), True),
    ],
)  # fmt: skip
def test_of_what_is_new_only_what_the_kernel_makes_is_a_settings(setting, leaf, own):
    effects = SideEffects("data0", {setting: []}, GONE, NEW)
    assert effects.includes(Difference(Leaf(*leaf), None, "")) is own


@pytest.mark.parametrize(("now", "own"), [(NEW, False), (GONE, True)])
def test_a_default_qdisc_that_gave_way_to_anothers_is_no_settings(now, own):
    effects = SideEffects("data0", {"mtu": []}, GONE, now)
    gone = Difference(Leaf("qdisc", "data0", "noqueue 0: dev data0 root"), "", None)
    assert effects.includes(gone) is own


ADDRESSES = {f"10.0.0.{n}/24": Leaf("address", "data0", f"10.0.0.{n}/24") for n in (1, 2)}
OF_FIRST = "10.0.0.0/24 dev data0 table main proto kernel scope link src 10.0.0.1"
OF_BOTH = "10.8.0.0/24 via 10.0.0.9 dev data0 table main"


@pytest.mark.parametrize(
    ("left", "route", "own"),
    [
        (["10.0.0.2/24"], OF_FIRST, False),
        (["10.0.0.2/24"], OF_BOTH, True),
        ([], OF_BOTH, False),
        (["10.0.0.1/24", "10.0.0.2/24"], OF_FIRST, True),
    ],
)
def test_a_route_that_went_with_somebodys_address_is_no_settings(left, route, own):
    leaf = Leaf("IPv4 route", "data0", route)
    before = NetworkState(sections={"links": dict.fromkeys(ADDRESSES.values(), ""),
                                    "ipv4": {leaf: ""}})  # fmt: skip
    now = NetworkState(sections={"links": {ADDRESSES[name]: "" for name in left}})
    effects = SideEffects("data0", {"mtu": []}, before, now)
    assert effects.includes(Difference(leaf, "", None)) is own
