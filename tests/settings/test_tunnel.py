"""Tunnels: the two ends, what is written, and what ip shows of one."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.model import Machine, SettingUse
from netlimits.settings import options_of, setting
from netlimits.settings.tunnel import overhead

TUNNEL = setting("tunnel")
NONE = {"mtu": 1500, "has": ["vxlan", "geneve", "ip_gre", "wireguard", "wg"], "tunnel": {}}
ROLES = ("sender", "receiver")


def machines(*addresses: str) -> dict[str, Machine]:
    return {r: Machine(r, interface="data0", address=a)
            for r, a in zip(ROLES, addresses, strict=True)}  # fmt: skip


V4, V6 = machines("198.51.100.1", "198.51.100.2"), machines("2001:db8::1", "2001:db8::2")


def end(options, role="sender", among=V4, roles=ROLES):
    return options_of(SettingUse("tunnel", roles, options, 1), role, among)


def lines(options, **more):
    return [" ".join(c.argv) for c in TUNNEL.change("data0", NONE, end(options, **more))]


@pytest.mark.parametrize("name", pairs.names("settings/tunnel"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/tunnel", name)


def test_the_ends_mirror_each_other():
    near, far = end({"kind": "vxlan"}), end({"kind": "vxlan"}, "receiver")
    assert (near["local"], near["address"]) == (far["remote"], f"{far['peer']}")
    assert near["address"] == "198.19.255.1/30"
    assert far["address"] == "198.19.255.2/30"


def test_what_is_written():
    assert lines({"kind": "vxlan"}) == [
        "ip link add nltun0 type vxlan id 4242 local 198.51.100.1 remote 198.51.100.2 dstport 4789 "
        "dev data0",
        "ip addr add 198.19.255.1/30 dev nltun0",
        "ip link set dev nltun0 mtu 1450 up",
    ]
    assert lines({"kind": "gre"})[::2] == [
        "ip link add nltun0 type gre local 198.51.100.1 remote 198.51.100.2 ttl 64",
        "ip link set dev nltun0 mtu 1476 up",
    ]
    assert lines({"kind": "gre"}, among=V6)[::2] == [
        "ip link add nltun0 type ip6gre local 2001:db8::1 remote 2001:db8::2 hoplimit 64",
        "ip link set dev nltun0 mtu 1456 up",
    ]
    assert lines({"kind": "geneve", "network": "2001:db8:9::/64", "mtu": 1300})[1:] == [
        "ip addr add 2001:db8:9::1/64 dev nltun0 nodad", "ip link set dev nltun0 mtu 1300 up",
    ]  # fmt: skip


def test_wireguards_keys_are_those_of_both_ends_and_in_no_command_line():
    near, far = (
        TUNNEL.change("data0", NONE, end({"kind": "wireguard"}, role))[1] for role in ROLES
    )
    assert near.stdin.split() == far.stdin.split()[::-1]
    assert not {*near.stdin.split()} & {*near.argv}
    assert near.argv[4:] == ("51820", "198.51.100.2:51820", "198.19.255.2")
    assert TUNNEL.change("data0", NONE, end({"kind": "wireguard"}, among=V6))[1].argv[5] == (
        "[2001:db8::2]:51820"
    )


def test_wireguard_does_not_take_the_hosts_redirects():
    """The kernel sets send_redirects of all interfaces to 0 when a WireGuard interface goes up."""
    for before, kind, last in (
        ("1", "wireguard", "sysctl -w net.ipv4.conf.all.send_redirects=1"),
        ("0", "wireguard", "ip link set dev nltun0 mtu 1440 up"),
        ("1", "vxlan", "ip link set dev nltun0 mtu 1450 up"),
    ):
        commands = TUNNEL.change("data0", {**NONE, "redirects": before}, end({"kind": kind}))
        assert " ".join(commands[-1].argv) == last


def test_what_ip_shows_is_compared():
    state = pairs.state(TUNNEL, "vxlan")
    assert TUNNEL.unmet(state, end({"kind": "vxlan"})) == ()
    assert TUNNEL.unmet(state, {"kind": "vxlan"}) == (), "without the hosts' addresses"
    assert TUNNEL.unmet(state, end({"kind": "vxlan", "port": 9999})) == (
        "its port is 4789, not 9999",
    )
    assert TUNNEL.unmet(state, {"kind": "gre"})[0] == "its kind is vxlan, not gre"
    assert TUNNEL.change("data0", state, {"kind": "vxlan", "port": 9999})[0].argv[:3] == (
        "ip", "link", "del",
    )  # fmt: skip
    assert TUNNEL.unmet(pairs.state(TUNNEL, "wireguard"), {"kind": "wireguard"}) == ()
    assert [c.argv for c in TUNNEL.undo("data0", NONE, state)] == [
        ("ip", "link", "del", "dev", "nltun0")
    ]
    (blind,) = TUNNEL.undo("data0", NONE, {})
    assert "[ ! -e /sys/class/net/nltun0 ] ||" in blind.argv[2], "a guard may run it again"
    assert TUNNEL.undo("data0", NONE, NONE) == ()


@pytest.mark.parametrize(
    ("options", "more", "why"),
    [
        ({"kind": "vxlan"}, {"roles": ("sender",)}, "a tunnel has two ends, not 1"),
        ({"kind": "vxlan"}, {"among": machines("198.51.100.1", "2001:db8::2")}, "two families"),
        ({"kind": "vxlan", "network": "198.19.0.0/32"}, {}, "no network with two addresses"),
        ({"kind": "gre", "port": 4000}, {}, "gre has no port"),
    ],
)
def test_what_is_refused(options, more, why):
    with pytest.raises(SettingError, match=why):
        lines(options, **more)


def test_a_host_without_the_module_or_the_program_is_refused():
    with pytest.raises(SettingError, match=r"has no wireguard and no wg .*install it"):
        TUNNEL.change("data0", {**NONE, "has": ["vxlan"]}, {"kind": "wireguard"})
    with pytest.raises(SettingError, match="an interface nltun0 already"):
        TUNNEL.check_found("data0", pairs.state(TUNNEL, "vxlan"))


def test_the_bytes_that_a_packet_gains():
    assert [overhead({"kind": kind}) for kind in ("vxlan", "geneve", "gre", "wireguard")] == [
        50, 50, 24, 60,
    ]  # fmt: skip
    assert overhead({"kind": "gre"}, ipv6=True) == 44
