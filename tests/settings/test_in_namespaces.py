"""Every setting on a real kernel: changes, looked at by other means, put back, compared."""

from __future__ import annotations

import json
import re

import pytest

from netlimits.errors import RestoreError, SettingError
from netlimits.settings import sysctl
from netlimits.settings.qdisc.kinds import KINDS

pytestmark = pytest.mark.lab


def words(bench, *argv: str) -> str:
    return " ".join(bench.sh(*argv).split())


def test_an_mtu_and_what_lies_on_the_interface(bench):
    bench.sh("ip", "link", "add", "above", "link", "data0", "type", "macvlan")
    bench.sh("ip", "-6", "route", "add", "2001:db8:1::/64", "via", "2001:db8::2", "mtu", "8000")
    bench.sh("ip", "-6", "route", "add", "2001:db8:2::/64", "via", "2001:db8::2", "mtu", "1400")
    bench.sh("sysctl", "-qw", "net.ipv6.conf.data0.mtu=4000")
    before = bench.leaves()
    bench.reach("mtu", 1400)
    assert "mtu 1400" in words(bench, "ip", "link", "show", "data0")
    assert "mtu 1400" in words(bench, "ip", "link", "show", "above")  # the kernel's doing
    assert "mtu 8000" not in words(bench, "ip", "-6", "route", "show", "2001:db8:1::/64")
    bench.reach("mtu", 1500)
    assert "mtu 1500" in words(bench, "ip", "link", "show", "data0")
    bench.put_back_as(before)


def test_an_mtu_too_small_for_ipv6_gives_all_of_ipv6_back(bench):
    bench.sh("ip", "-6", "addr", "add", "2001:db8:9::1/64", "dev", "data0", "nodad")
    bench.sh("ip", "-6", "addr", "add", "2001:db8:8::1/128", "dev", "data0", "nodad",
             "noprefixroute", "preferred_lft", "0")  # fmt: skip
    bench.sh("ip", "-6", "route", "add", "2001:db8:1::/64", "via", "2001:db8::2", "mtu", "8000")
    bench.sh("ip", "-6", "route", "add", "default", "via", "2001:db8:9::2", "metric", "7")
    bench.sh("ip", "neigh", "add", "2001:db8::7", "lladdr", "02:00:00:00:00:01", "dev", "data0",
             "nud", "permanent")  # fmt: skip
    bench.sh(
        "sysctl",
        "-qw",
        "net.ipv6.conf.data0.accept_ra=2",
        "net.ipv6.conf.data0.hop_limit=99",
        "net.ipv6.neigh.data0.ucast_solicit=5",
    )
    before = bench.leaves()
    bench.reach("mtu", 576)
    assert "inet6" not in bench.sh("ip", "addr", "show", "data0")
    bench.put_back_as(before)


def test_an_mtu_that_would_lose_something_for_good_is_refused(bench):
    bench.sh("ip", "-6", "addr", "add", "2001:db8:7::1/64", "dev", "data0", "valid_lft", "3000",
             "preferred_lft", "2000", "nodad")  # fmt: skip
    before = bench.sh("ip", "link", "show", "data0")
    with pytest.raises(SettingError, match=r"sender: mtu: .* 2001:db8:7::1; use 1280 or more"):
        bench.reach("mtu", 1000)
    assert bench.sh("ip", "link", "show", "data0") == before
    assert bench.log.originals == []


def test_an_mtu_the_driver_has_not(bench):
    with pytest.raises(SettingError, match="data0 takes an MTU of at most 65535, not 70000"):
        bench.reach("mtu", 70000)


TBF = {"kind": "tbf", "rate": "1gbit", "burst": "128kb", "latency": "50ms"}
TBF_LOOKS = "tbf rate 1Gbit burst 131000b lat 50ms"


@pytest.mark.parametrize(
    ("original", "wanted", "looks"),
    [
        ("", TBF, TBF_LOOKS),
        (
            "",
            {"kind": "tbf", "rate": 100_000_000, "burst": 20000, "limit": "1mb"},
            "tbf rate 100Mbit burst 20000b lat 82.3ms",
        ),
        (
            "",
            {"kind": "htb", "rate": "1gbit", "ceil": "2gbit", "burst": "100kb"},
            "rate 1Gbit ceil 2Gbit burst 102250b cburst 102000b",
        ),
        (
            "pfifo limit 33",
            {"kind": "htb", "rate": "123456789bit", "burst": "15kb"},
            "rate 123456Kbit ceil 123456Kbit",
        ),
        ("bfifo limit 44", {"kind": "pfifo", "limit": 77}, "pfifo limit 77p"),
        ("pfifo_fast", {"kind": "bfifo", "limit": "77kb"}, "bfifo limit 77Kb"),
        ("tbf rate 1234567bit burst 70001b limit 200003b", {"kind": "mq"}, "mq"),
        ("tbf rate 9gbit burst 70001b limit 900001b mpu 64 overhead 14", TBF, TBF_LOOKS),
        ("mq", TBF, TBF_LOOKS),
        ("mq", {"kind": "pfifo_fast"}, "pfifo_fast bands 3"),
    ],
)
def test_a_qdisc(bench, original, wanted, looks):
    if original:
        bench.sh("tc", "qdisc", "add", "dev", "data0", "root", "handle", "77:", *original.split())
    bench.sh("tc", "qdisc", "add", "dev", "data0", "clsact")
    before = bench.leaves()
    bench.reach("qdisc", wanted)
    shown = words(bench, "tc", "qdisc", "show", "dev", "data0", "root")
    shown += words(bench, "tc", "class", "show", "dev", "data0")
    shown = re.sub(r" root| refcnt \d+| [0-9a-f]+:(?= )", "", shown)
    assert looks in shown
    many = len(bench.host.argvs)
    bench.reach("qdisc", wanted)  # it is there already: one look, no write
    assert len(bench.host.argvs) == many + 1
    bench.reach("qdisc", {"kind": "tbf", "rate": "10mbit", "burst": "10kb", "latency": "1s"})
    bench.put_back_as(before)


def test_a_qdisc_a_kernel_lacks_is_refused_in_its_words(bench, monkeypatch):
    monkeypatch.setitem(KINDS, "no-such-qdisc", KINDS["fq"])
    before = bench.leaves()
    with pytest.raises(SettingError, match=r"Unknown qdisc|qdisc kind is unknown"):
        bench.reach("qdisc", {"kind": "no-such-qdisc"})
    bench.put_back_as(before)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (["qdisc add dev data0 root handle 1: htb default 1",
          "class add dev data0 parent 1: classid 1:1 htb rate 1gbit"], "classes"),
        (["qdisc add dev data0 root handle 1: tbf rate 1gbit burst 128kb limit 1mb",
          "qdisc add dev data0 parent 1:1 handle 2: pfifo limit 5"], "inner qdiscs"),
        (["qdisc add dev data0 root handle 1: tbf rate 1gbit burst 128kb limit 1mb "
          "peakrate 2gbit mtu 9000"], "mtu_raw"),
        (["qdisc add dev data0 root handle 1: mq",
          "qdisc add dev data0 parent 1:1 handle 2: pfifo limit 5"], "inner qdiscs"),
    ],
)  # fmt: skip
def test_a_qdisc_that_could_not_be_restored_is_left_alone(bench, make, why):
    for line in make:
        bench.sh("tc", *line.split())
    before = bench.leaves()
    with pytest.raises(SettingError, match=f"could not be restored: .*{why}"):
        bench.reach("qdisc", {"kind": "pfifo", "limit": 10})
    assert bench.leaves() == before
    assert bench.log.originals == []


def test_sysctls_one_after_the_other(bench):
    bench.sh("sysctl", "-qw", "net.ipv4.tcp_rmem=4097 20001 30003")
    before = bench.leaves()
    bench.reach("sysctl", {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_sack": 0})
    assert bench.sh("cat", "/proc/sys/net/ipv4/tcp_rmem").split() == ["4096", "131072", "6291456"]
    bench.reach("sysctl", {"net.ipv4.tcp_timestamps": 0, "net.ipv4.tcp_sack": 1})
    bench.reach("sysctl", {"net.ipv4.tcp_timestamps": 1, "net.ipv4.tcp_sack": 0})
    assert words(bench, "cat", "/proc/sys/net/ipv4/tcp_sack") == "0"
    assert [set(f.state) for f in bench.log.originals] == [
        {"net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"},
        {"net.ipv4.tcp_rmem", "net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps"},
    ]
    assert bench.log.originals[-1].state["net.ipv4.tcp_sack"] == "1"  # as it was first found
    bench.put_back_as(before)


def test_a_sysctl_the_kernel_refuses_or_lacks(bench):
    before = bench.leaves()
    with pytest.raises(
        SettingError, match=r"tcp_congestion_control is .*, not nosuch .*setting key"
    ):
        bench.reach("sysctl", {"net.ipv4.tcp_congestion_control": "nosuch"})
    with pytest.raises(SettingError, match=r"there is no net\.core\.default_qdisc .*namespace"):
        bench.reach("sysctl", {"net.core.default_qdisc": "pfifo_fast"})
    bench.put_back_as(before)


def test_a_sysctl_that_moves_another_is_undone_with_it_at_once(bench, monkeypatch):
    """A queue of 101 packets is 212,992 bytes, and writing 101 again would make it 211,090."""
    monkeypatch.setattr(sysctl, "_ROUNDED", {})
    before = bench.leaves()
    wanted = {"net.ipv4.tcp_sack": 0, "net.ipv4.neigh.data0.unres_qlen": 7}
    with pytest.raises(
        SettingError, match=r"it also changes net\.ipv4\.neigh\.data0\.unres_qlen_bytes and was"
    ):
        bench.reach("sysctl", wanted)
    assert bench.leaves() == before
    bench.reach("sysctl", {"net.ipv4.neigh.data0.unres_qlen_bytes": 300_000})
    assert words(bench, "sysctl", "-n", "net.ipv4.neigh.data0.unres_qlen") != "101"
    bench.put_back_as(before)


def test_a_sysctl_that_only_the_machine_has_may_stay_as_it_is(bench):
    before = bench.leaves()
    name = "net.core.rmem_default"
    bench.reach("sysctl", {name: {"want": 2147483647, "if_fixed": "accept"}})
    with pytest.raises(SettingError, match=r"rmem_default"):
        bench.reach("sysctl", {name: 2147483647})
    bench.put_back_as(before)


def test_metrics_of_the_interfaces_own_networks(bench):
    bench.sh("ip", "route", "change", "198.51.100.0/24", "dev", "data0", "proto", "kernel",
             "scope", "link", "src", "198.51.100.1", "mtu", "lock", "8000", "advmss", "7000",
             "initcwnd", "3")  # fmt: skip
    before = bench.leaves()
    bench.reach("route", {"quickack": 1, "initcwnd": 20, "cwnd": 44, "rto_min": "1500ms"})
    four = words(bench, "ip", "route", "show", "198.51.100.0/24")
    assert "proto kernel scope link src 198.51.100.1 mtu lock 8000" in four
    for metric in ("advmss 7000", "initcwnd 20", "quickack 1", "cwnd lock 44", "rto_min lock 1.5s"):
        assert metric in four
        assert metric.startswith("advmss") or metric in words(
            bench, "ip", "-6", "route", "show", "2001:db8::/64"
        )
    many = len(bench.host.argvs)
    bench.reach("route", {"quickack": 1, "initcwnd": 20, "cwnd": 44, "rto_min": "1500ms"})
    assert len(bench.host.argvs) == many + 1
    bench.reach("route", {"quickack": 0, "initcwnd": 10, "cwnd": 45, "rto_min": "5ms"})
    assert "quickack" not in bench.sh("ip", "route")
    bench.put_back_as(before)


@pytest.mark.parametrize("to", ["default", "203.0.113.0/24", "2001:db8:1::/64", "::/0"])
def test_metrics_of_one_route(bench, to):
    bench.sh("ip", "route", "add", "default", "via", "198.51.100.2", "metric", "9")
    bench.sh(
        "ip", "route", "add", "203.0.113.0/24", "via", "198.51.100.2", "dev", "data0", "onlink"
    )
    bench.sh(
        "ip", "-6", "route", "add", "2001:db8:1::/64", "via", "2001:db8::2", "src", "2001:db8::1"
    )
    bench.sh("ip", "-6", "route", "add", "default", "via", "2001:db8::2", "metric", "99")
    before = bench.leaves()
    bench.reach("route", {"to": to, "quickack": 1, "advmss": 1000})
    after = bench.leaves()
    every = after["route"] + after["route6"]
    changed = list({line for line in every if "quickack" in line})
    assert len(changed) == 1
    assert changed[0].startswith("default" if to in ("default", "::/0") else to)
    bench.put_back_as(before)


def test_a_route_that_is_not_there(bench):
    with pytest.raises(
        SettingError, match=r"no route to 192\.0\.2\.0/24 over data0; there are: 198"
    ):
        bench.reach("route", {"to": "192.0.2.0/24", "quickack": 1})


def test_channels(bench):
    before = bench.leaves()
    bench.reach("channels", {"rx": 3, "tx": 2})
    assert [line.split() for line in bench.sh("ethtool", "-l", "data0").splitlines()[-4:-2]] == [
        ["RX:", "3"],
        ["TX:", "2"],
    ]
    bench.put_back_as(before)


@pytest.mark.parametrize(
    ("name", "wanted", "why"),
    [
        (
            "ring",
            {"rx": 64},
            "ethtool -g data0` shows none: netlink error: Operation not supported",
        ),
        ("coalesce", {"rx-usecs": 0}, "ethtool -c data0` shows none: netlink error: Operation not"),
        ("channels", {"combined": 4}, "data0 has no combined; it has rx, tx"),
        ("link", {"speed": 2500}, "data0 is a virtual interface: it shows 10000 Mbit/s and has no"),
        ("channels", {"rx": 9}, "data0 has rx of at most 4, not 9"),
    ],
)
def test_what_a_veth_has_not(bench, name, wanted, why):
    with pytest.raises(SettingError, match=why):
        bench.reach(name, wanted)
    assert bench.log.originals == []


def test_everything_at_once_and_a_controller_that_is_lost(bench):
    """Put back by another Applied from what the journal holds, as after a SIGKILL."""
    bench.sh("ip", "-6", "route", "add", "2001:db8:1::/64", "via", "2001:db8::2", "mtu", "8000")
    bench.sh("tc", "qdisc", "add", "dev", "data0", "root", "handle", "8:", "pfifo", "limit", "9")
    before = bench.leaves()
    wishes = [
        ("sysctl", {"net.ipv4.tcp_sack": 0}),
        ("channels", {"tx": 2}),
        ("mtu", 1000),
        ("offload", {"tso": "off", "gro": "on"}),
        ("qdisc", {"kind": "tbf", "rate": "1gbit", "burst": "64kb", "latency": "10ms"}),
        ("route", {"quickack": 1}),
    ]
    for name, wanted in wishes:
        bench.reach(name, wanted)
    assert [f.setting for f in bench.log.originals] == [name for name, _ in wishes]
    journal = [json.loads(json.dumps(dict(f.state))) for f in bench.log.originals]
    assert journal == [f.state for f in bench.log.originals]
    bench.changes = bench.apply_to(tuple(bench.log.originals))
    bench.put_back_as(before)


def test_what_cannot_be_put_back_is_told_with_the_command(bench):
    bench.reach("qdisc", {"kind": "pfifo", "limit": 10})
    bench.reach("mtu", 4000)
    bench.sh("ip", "link", "del", "data0")
    with pytest.raises(RestoreError, match=r"data0: mtu: .*\n.*data0: qdisc: "):
        bench.changes.restore()
