"""What a guard puts back is what `restore` puts back: every setting, alone and together.

Each case is changes twice on a real kernel and undone twice: by the guard's own script, then by
`Applied`. Everything that can be seen of the stack has to be as before, both times.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from settings.conftest import FAR, NEAR, Bench, sh

from netlimits.errors import SettingError
from netlimits.settings import SETTINGS

pytestmark = pytest.mark.lab

LINK_LOCAL = "fe80::1234:5678:9abc:def0/64"

ECN = "net.ipv4.tcp_ecn"
SWITCH = {
    "verify": ["sysctl", "-n", ECN],
    "command": {n: ["sysctl", "-qw", f"{ECN}={n}"] for n in ("0", "1", "2")},
}

WISHES: dict[str, list[object]] = {
    "switch": [{**SWITCH, "to": 0}],
    "sysctl": [{"net.ipv4.tcp_sack": 0, "net.ipv4.tcp_rmem": "4096 131072 6291456"}],
    "channels": [{"tx": 2}, {"rx": 3, "tx": 1}],
    "mtu": [68, 1279, 1280],
    "offload": [{"sg": "off", "gro": "on"}, {"tx": "off", "rx": "off"}],
    "napi": [{"gro_flush_timeout": 20000, "defer_hard_irqs": 2}],
    "xps": [{"spread": "cpus"}],
    "rfs": [{"per_queue": 100}],
    "gso": [{"max": 100_000, "gro_max": 100_000}, {"max": 30_000}],
    "tunnel": [
        {
            "kind": "vxlan",
            "local": "198.51.100.1",
            "remote": "198.51.100.2",
            "address": "198.19.255.1/30",
            "peer": "198.19.255.2/30",
        }
    ],
    "rps": [{"cpus": 1}, {"cpus": "off"}],
    "qdisc": [
        {"kind": "pfifo", "limit": 10},
        {"kind": "htb", "rate": "1gbit", "burst": "100kb"},
        {
            "kind": "tbf",
            "rate": "1gbit",
            "burst": "64kb",
            "latency": "10ms",
            "child": {"kind": "pfifo", "limit": 9},
        },
    ],
    "route": [{"quickack": 1, "initcwnd": 20}, {"mtu": 600, "rto_min": "5ms"}],
    "load": [{"workers_per_cpu": 1, "cpu_load": 1, "hours": 0.02}],
}
"""What may be asked of a veth: it has no rings, no coalescing and no interrupts of its own."""

GROUNDS = {
    "plain": (),
    "NetworkManager's": (
        "sysctl -qw net.ipv6.conf.data0.addr_gen_mode=1",
        "ip -6 addr flush dev data0 scope link",
        f"ip -6 addr add {LINK_LOCAL} dev data0 nodad noprefixroute",
        "ip -6 route add fe80::/64 dev data0 proto kernel metric 1024",
    ),
    "stable": (
        "sysctl -qw net.ipv6.conf.data0.addr_gen_mode=3",
        "sysctl -qw net.ipv6.conf.data0.hop_limit=99",
        "ip -6 route add 2001:db8:1::/64 via 2001:db8::2 mtu 8000",
        "ip neigh add 2001:db8::7 lladdr 02:00:00:00:00:01 dev data0 nud permanent",
    ),
    "configured": (
        "tc qdisc add dev data0 root handle 8: pfifo limit 9",
        "ip route add 203.0.113.0/24 via 198.51.100.2 initcwnd 3",
        "ethtool -K data0 gro on",
        "ip link add above link data0 type macvlan",
    ),
}
"""What was set on the interface before, as somebody may have it."""


LISTENS = """
import socket, sys
with socket.create_server(("198.51.100.2", 5299)) as server:
    print("ready", flush=True)
    server.accept()[0].recv(1)
"""
SENDS = """
import socket
with socket.create_connection(("198.51.100.2", 5299), timeout=300) as near:
    near.sendall(bytes(4096))
"""


PYTHON = (sys.executable, "-IS", "-c")
"""Python without its site, which takes longer to load than these take."""


def traffic() -> None:
    """What makes the kernel learn of a path that takes no full packet."""
    far = ["ip", "netns", "exec", FAR, *PYTHON, LISTENS]
    with subprocess.Popen(far, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout
            assert server.stdout.readline() == b"ready\n"
            sh("ip", "netns", "exec", NEAR, *PYTHON, SENDS)
        finally:
            server.kill()


def seen(bench: Bench) -> dict[str, list[str]]:
    """The leaves, and what the kernel remembers of paths."""
    return {**bench.leaves(), "path": bench.sh("ip", "-4", "route", "show", "cache").splitlines()}


def undone_both_ways(bench: Bench, wishes: list[tuple[str, object]], folder: Path) -> None:
    before = seen(bench)
    for way in ("guard", "restore"):
        bench.log.originals.clear()
        bench.changes = bench.apply_to()
        for name, wanted in wishes:
            try:
                bench.reach(name, wanted)
            except SettingError as error:
                if not re.search("could not be (restored|put back)", str(error)):
                    raise
        if present_mtu(bench) == 68:
            traffic()
            assert len(wishes) > 1 or "mtu lock 68" in "".join(seen(bench)["path"])
        if way == "guard":
            bench.fire(folder)
        else:
            bench.changes.restore()
        if any(name == "tunnel" for name, _ in wishes):  # whose peer answers by ICMP: it has none
            bench.sh("ip", "route", "flush", "cache")
        for name, lines in seen(bench).items():
            gone, new = set(before[name]) - set(lines), set(lines) - set(before[name])
            assert lines == before[name], (way, wishes, name, {"gone": gone, "new": new})


def present_mtu(bench: Bench) -> int:
    return int(bench.sh("cat", "/sys/class/net/data0/mtu"))


def prepare(bench: Bench, ground: str) -> None:
    for line in ("ip link set lo up", *GROUNDS[ground]):  # the kernel tells itself over lo
        bench.sh(*line.split())


def test_a_route_of_ipv6_with_metrics_that_is_lost_with_the_mtu(bench, tmp_path):
    prepare(bench, "plain")
    wishes = [("route", {"mtu": 600, "rto_min": "5ms"}), ("mtu", 1000)]
    undone_both_ways(bench, wishes, tmp_path)


def test_every_setting_that_a_veth_has_is_here():
    assert set(WISHES) == {s.name for s in SETTINGS} - {
        *("ring", "coalesce", "irq", "link", "pause", "rss", "ntuple"),
        *("ingress", "governor", "c_states"),  # which this kernel, or a guest, may lack
    }


@pytest.mark.parametrize("ground", GROUNDS)
def test_each_setting_alone(bench, tmp_path, ground):
    prepare(bench, ground)
    for name in WISHES if ground == "plain" else ("mtu", "qdisc", "route"):
        for wanted in WISHES[name] if ground == "plain" else WISHES[name][1:3]:
            undone_both_ways(bench, [(name, wanted)], tmp_path)


@pytest.mark.parametrize("ground", GROUNDS)
def test_settings_together(bench, tmp_path, ground):
    dice = random.Random(ground)
    prepare(bench, ground)
    for _ in range(2 if ground == "plain" else 1):
        names = dice.sample([*WISHES], dice.randint(2, len(WISHES)))
        undone_both_ways(bench, [(n, dice.choice(WISHES[n])) for n in names], tmp_path)
