"""Interfaces beside, upon and away from the data interface, and what IPv6 holds there.

A second interface in the same networks, VLANs' like, bridges and another namespace's interfaces, routes
of every kind, neighbours, tokens, rules: drawn by chance. Then `mtu` and `route` are set and restored,
by `Changes` or by a guard's script; or refused, and nothing may have changed. All that can be seen must
be as before, and so must the way that packets take.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from random import Random

from faults.attacks.base import Family, Held, Needs
from settings.conftest import FAR, NEAR, Bench, built, sh

from netlimits.errors import SettingError

SECOND = (
    f"ip link add name mgmt0 netns {NEAR} type veth peer name mgmt0 netns {FAR}",
    f"ip -n {FAR} link set mgmt0 up",
    f"ip -n {NEAR} link set mgmt0 mtu 9000 up",
    f"ip -n {NEAR} addr add 198.51.100.3/24 dev mgmt0",
    f"ip -n {NEAR} addr add 2001:db8::3/64 dev mgmt0 nodad",
)
AGAIN = (
    f"ip -n {NEAR} addr flush dev data0 scope global",
    f"ip -n {NEAR} addr add 198.51.100.1/24 dev data0",
    f"ip -n {NEAR} addr add 2001:db8::1/64 dev data0 nodad",
)
"""The addresses of data0 once more, so that its routes come after those of others."""
STACK = (
    f"ip -n {NEAR} link add low link data0 type macvlan",
    f"ip -n {NEAR} link add br0 type bridge",
    f"ip -n {NEAR} link set low master br0",
    f"ip -n {NEAR} link add high link br0 type macvlan",
)
AWAY = f"ip -n {NEAR} link add away link {{below}} netns {FAR} type macvlan"
KEEPER = """
import ctypes, fcntl, os, socket, struct, subprocess, sys
near, below, made, kept, state = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
home = os.open("/proc/self/ns/net", os.O_RDONLY)
assert libc.unshare(0x40000000) == 0
inside = os.open("/proc/self/ns/net", os.O_RDONLY)
asked = socket.socket()
there = f"/run/netns/{near}"
link = ["link", below, *(["netns", str(os.getpid())] if made == "made there" else []), "type", "macvlan"]
run = lambda *argv: subprocess.run(argv, check=True)
run("nsenter", "--net=" + there, "ip", "link", "add", "hidden0", *link)
if made == "moved there":
    run("nsenter", "--net=" + there, "ip", "link", "set", "hidden0", "netns", str(os.getpid()))
run("ip", "link", "set", "hidden0", "mtu", "9000", state)
if kept == "mount":
    run("mount", "-t", "tmpfs", "kept", "/mnt")
    open("/mnt/hidden", "w").close()
    run("mount", "--bind", "/proc/self/ns/net", "/mnt/hidden")
assert libc.setns(home, 0) == 0
if kept != "file":
    os.close(inside)
print("ready", flush=True)
for line in sys.stdin:
    answer = fcntl.ioctl(asked, 0x8921, struct.pack("16s16x", b"hidden0"))
    print(*struct.unpack("16xi12x", answer), flush=True)
"""
"""Keep a network namespace that has no name and no process, with a macvlan; print the MTU of that."""
KEPT = (("made there", "mount"), ("made there", "file"), ("moved there", "socket"))
DEEDS = tuple(
    f"ip -n {NEAR} {deed}"
    for deed in (
        "link set data0 down",
        "link set br0 mtu 1400",
        "link set high mtu 1300",
        "link set low up",
        "addr add 198.51.100.77/24 dev data0",
        "addr add 203.0.113.1/32 dev data0 noprefixroute",
        "addr add 2001:db8:7::1/64 dev data0 nodad valid_lft 900 preferred_lft 500",
        "addr add 2001:db8:6::1/64 dev data0 nodad metric 77",
        "addr add 2001:db8:6::2/64 dev mgmt0 nodad metric 77",
        "route add default via 198.51.100.2 dev data0 initcwnd 9",
        "route append default via 198.51.100.4 dev mgmt0",
        "route append default via 198.51.100.5 dev data0",
        "route add 192.0.2.0/24 via 198.51.100.2 dev data0 mtu lock 1400 rto_min 7ms",
        "route add 192.0.2.0/24 tos 0x10 dev data0",
        "route add 192.0.2.0/24 dev mgmt0 metric 5",
        "route add 192.0.2.0/24 dev data0 table 77",
        "route add 203.0.113.0/24 nexthop via 198.51.100.2 dev data0 nexthop via 198.51.100.4 dev mgmt0",
        "route add multicast 224.0.0.0/4 dev data0",
        "-6 route add default via 2001:db8::2 dev data0 hoplimit 7",
        "-6 route append default via 2001:db8::4 dev mgmt0",
        "-6 route add default from 2001:db8::/48 via 2001:db8::2 dev data0",
        "-6 route add 2001:db8:1::/64 via 2001:db8::2 dev data0 mtu 8000",
        "-6 route add 2001:db8:1::/64 via 2001:db8::2 dev data0 metric 9 mtu lock 1300 quickack 1",
        "-6 route add 2001:db8:2::/64 dev mgmt0 mtu 7000",
        "-6 route append 2001:db8:2::/64 dev data0 mtu 7000",
        "-6 route add 2001:db8:3::/64 via 2001:db8::2 dev data0 expires 900 mtu 7000",
        "-6 route add 2001:db8:4::/64 dev data0 table 77 mtu 1300",
        "-6 route add fe80::/64 dev data0 metric 99",
        "-6 route add unreachable 2001:db8:5::/64",
        "-6 route add 2001:db8::/64 dev data0 metric 50 expires 900",
        "-6 route add multicast ff0e::/16 dev data0 mtu 1400",
        "-6 route add local 2001:db8:a::1 dev data0 table 77 mtu 1400",
        "-6 route add anycast 2001:db8:b::1 dev data0",
        "nexthop add id 7 via 2001:db8::8 dev data0",
        "-6 route add 2001:db8:8::/64 nhid 7 mtu 7000",
        "neigh add proxy 2001:db8::77 dev data0",
        "neigh add 2001:db8::7 lladdr 02:00:00:00:00:01 dev data0 nud permanent",
        "neigh add 198.51.100.7 lladdr 02:00:00:00:00:01 dev data0 nud permanent",
        "token set ::99 dev data0",
        "-6 rule add iif data0 lookup 77",
        "rule add oif data0 lookup 77",
        "addrlabel add prefix 2001:db8::/64 dev data0 label 77",
    )
)
SYSCTLS = ("forwarding=1", "proxy_ndp=1", "hop_limit=99", "addr_gen_mode=1", "disable_ipv6=1")
TARGETS = ("198.51.100.9", "192.0.2.9", "203.0.113.9", "224.1.1.1", "2001:db8::9", "2001:db8:1::9",
           "2001:db8:2::9", "2001:db8:99::9", "ff0e::1")  # fmt: skip
SIZES = (68, 576, 1000, 1279, 1280, 1400, 1500, 8999, 9500, 20000)
TO = ("198.51.100.0/24", "192.0.2.0/24", "default", "::/0", "2001:db8::/64", "2001:db8:1::/64",
      "2001:db8:2::/64", "224.0.0.0/4", "203.0.113.0/24")  # fmt: skip
_PASSING = re.compile(
    r"\d+sec|\btentative ?|\bcache\b|uid \d+|NO-CARRIER,|,?LOWER_UP|state [A-Z]+|linkdown ?"
)
"""What comes and goes by itself, and late."""
LOOKS = ("-6 neigh show proxy", "token list", "nexthop show", "rule show", "-6 rule show",
         "addrlabel list")  # fmt: skip

_ALONE = threading.Lock()
"""Held by an attack: its namespaces have a process's names."""


def attack(held: Held) -> str | None:
    with _ALONE, built() as bench, contextlib.ExitStack() as stack:
        bench.sh("ip", "link", "set", "lo", "up")
        _built(held, held.chance)
        keeper = stack.enter_context(_keeper(held)) if held.chance.random() < 0.25 else None
        return _attack(held, bench, keeper)


@contextlib.contextmanager
def _keeper(held: Held) -> Iterator[subprocess.Popen[str]]:
    """A process that keeps a hidden namespace."""
    way, kept = held.chance.choice(KEPT)
    state = held.chance.choice(("up", "down"))
    held.says(f"a macvlan {way}, {state}, in a namespace that only a {kept} keeps")
    argv = ("unshare", "-m", "--propagation", "private", sys.executable, "-c", KEEPER)
    with subprocess.Popen(
        [*argv, NEAR, "data0", way, kept, state],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as keeper:  # fmt: skip
        assert keeper.stdout
        assert keeper.stdout.readline() == "ready\n"
        yield keeper


def _attack(held: Held, bench: Bench, keeper: subprocess.Popen[str] | None) -> str | None:
    chance = held.chance
    before = _seen(bench, keeper)
    settled = True
    try:
        for _ in range(chance.randint(1, 3)):
            name, wanted = _wish(chance)
            held.says(f"{name} {wanted}")
            many = len(bench.log.originals)
            try:
                bench.reach(name, wanted)
            except SettingError as error:
                held.says(f"refused: {error}")
                settled = settled and len(bench.log.originals) == many
        if not bench.log.originals and (through := _differs(before, _seen(bench, keeper))):
            return f"changed although refused: {through}"
        if chance.random() < 0.5:
            held.says("a guard's script")
            bench.fire(held.folder)
        else:
            bench.changes.restore()
    except Exception as error:
        return f"not restored: {error}"
    return _differs(before, _seen(bench, keeper))


def _built(held: Held, chance: Random) -> None:
    """Make the ground; what does not fit there is left out."""
    lines = [*SECOND] if chance.random() < 0.6 else []
    lines += AGAIN if chance.random() < 0.5 else ()
    lines += STACK if chance.random() < 0.3 else ()
    if chance.random() < 0.2:
        lines.append(AWAY.format(below=chance.choice(("data0", "br0", "mgmt0"))))
        lines.append(f"ip -n {FAR} link set away mtu {chance.choice((1000, 9000))} up")
    lines += [deed for deed in DEEDS if chance.random() < 0.15]
    if chance.random() < 0.3:
        sysctl = chance.choice(SYSCTLS)
        lines.append(f"ip netns exec {NEAR} sysctl -qw net.ipv6.conf.data0.{sysctl}")
    for line in lines:
        with contextlib.suppress(AssertionError):
            sh(*line.split())
            held.says(line.removeprefix(f"ip -n {NEAR} "))


def _wish(chance: Random) -> tuple[str, object]:
    if chance.random() < 0.5:
        return "mtu", chance.choice(SIZES)
    metrics = {"quickack": 1, "initcwnd": 20, "mtu": 600, "rto_min": "5ms"}
    wanted: dict[str, object] = dict(chance.sample([*metrics.items()], chance.randint(1, 3)))
    if chance.random() < 0.7:
        wanted["to"] = chance.choice(TO)
    return "route", wanted


def _seen(bench: Bench, keeper: subprocess.Popen[str] | None) -> dict[str, list[str]]:
    """What can be seen, but the order of routes; and which way packets to some targets take."""
    seen = {name: sorted(lines) for name, lines in bench.leaves().items()}
    for look in LOOKS:
        seen[look] = bench.sh("ip", *look.split(), check=False).splitlines()
    for target in TARGETS:
        seen[f"to {target}"] = bench.sh("ip", "route", "get", target, check=False).splitlines()
    away = sh("ip", "-n", FAR, "-o", "link", "show")
    seen["away"] = re.findall(r"^\d+: (\S+).* (mtu \d+)", away, re.MULTILINE)
    if keeper:
        assert keeper.stdin and keeper.stdout  # noqa: PT018
        print(file=keeper.stdin, flush=True)
        seen["hidden"] = [keeper.stdout.readline()]
    return {name: [_PASSING.sub("", str(line)) for line in lines] for name, lines in seen.items()}


def _differs(before: dict[str, list[str]], after: dict[str, list[str]]) -> str | None:
    changed = {
        name: {
            "gone": [line for line in lines if line not in after[name]],
            "new": [line for line in after[name] if line not in lines],
        }
        for name, lines in before.items()
        if lines != after[name]
    }
    return str(changed) if changed else None


FAMILY = Family("neighbours", attack, weight=0.5, needs=Needs.NAMESPACES)
