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
from setting_examples import EXAMPLES
from settings.conftest import FAR, NEAR, Bench, sh

from netlimits.errors import SettingError

pytestmark = pytest.mark.lab

LINK_LOCAL = "fe80::1234:5678:9abc:def0/64"

WISHES = {name: example.veth for name, example in EXAMPLES.items() if example.veth}

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
