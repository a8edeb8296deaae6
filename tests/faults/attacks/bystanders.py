"""Bystanders: odd state on the hosts before a campaign, which its settings may move without a word.

A second interface in the same subnet, policy rules and further tables, static and proxy neighbours,
routes over several next hops, foreign qdiscs and filters, odd sysctls, stacks of interfaces. What must
hold: the campaign is refused with the hosts untouched; or all is as it was found, as other tools than
netlimits' own show it; or the exit status is 3, the reason is told, what is told by hand mends it, and the
command that is printed frees the hosts.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator

from faults.attacks.base import Family, Held, Needs
from faults.ground import Ground
from waiting import wait

STATES: dict[str, tuple[str, str]] = {
    "second interface in the subnet": (
        "ip link add near0 type veth peer name near1; ip link set near1 up; ip link set near0 up; "
        "ip addr add {near}/24 dev near0",
        "ip link del near0",
    ),
    "second interface with a better route": (
        "ip link add near0 type veth peer name near1; ip link set near1 up; ip link set near0 up; "
        "ip addr add {near}/24 dev near0 noprefixroute; ip route append {net}/24 dev near0 proto 99",
        "ip link del near0",
    ),
    "the same IPv6 network twice": (
        "ip -6 addr add 2001:db8:1::1/64 dev data0 nodad; ip -6 addr add 2001:db8:1::2/64 dev mgmt0 nodad",
        "ip -6 addr del 2001:db8:1::1/64 dev data0; ip -6 addr del 2001:db8:1::2/64 dev mgmt0",
    ),
    "an IPv6 gateway": (
        "ip -6 addr add 2001:db8:2::1/64 dev data0 nodad; "
        "ip -6 route add 2001:db8:9::/64 via 2001:db8:2::9 dev data0 metric 77 mtu lock 1300",
        "ip -6 addr del 2001:db8:2::1/64 dev data0; ip -6 route flush 2001:db8:9::/64",
    ),
    "an IPv6 route over two next hops": (
        "ip -6 addr add 2001:db8:3::1/64 dev data0 nodad; ip -6 route add 2001:db8:7::/64 "
        "nexthop via 2001:db8:3::8 dev data0 nexthop via 2001:db8:3::9 dev data0 weight 2",
        "ip -6 route flush 2001:db8:7::/64; ip -6 addr del 2001:db8:3::1/64 dev data0",
    ),
    "a token": ("ip token set ::77 dev data0", "ip token set :: dev data0"),
    "policy rules and tables": (
        "ip rule add from 192.0.2.0/24 lookup 77 pref 1000; ip route add {net}/24 dev data0 table 77 "
        "mtu lock 1300; ip route add default dev data0 table 78 advmss 1000; ip -6 rule add fwmark 7 lookup 78",
        "ip rule del pref 1000; ip route flush table 77; ip route flush table 78; ip -6 rule del fwmark 7",
    ),
    "routes of other types": (
        "ip route add blackhole 203.0.113.64/28; ip route add {net}/24 dev data0 tos 0x10 proto 77; "
        "ip route add {net}/24 dev data0 metric 500 proto 77",
        "ip route del blackhole 203.0.113.64/28; ip route del {net}/24 tos 0x10 proto 77; "
        "ip route del {net}/24 metric 500 proto 77",
    ),
    "a route over two interfaces": (
        "ip route add 203.0.113.0/26 nexthop dev data0 weight 1 nexthop dev mgmt0 weight 2",
        "ip route del 203.0.113.0/26",
    ),
    "a nexthop object": (
        "ip nexthop add id 77 dev data0; ip route add 203.0.113.128/25 nhid 77",
        "ip route del 203.0.113.128/25; ip nexthop del id 77",
    ),
    "static and proxy neighbours": (
        "ip neigh add {net77} dev data0 lladdr 02:00:00:00:00:77; ip neigh add proxy {net78} dev data0; "
        "ip -6 neigh add 2001:db8::77 dev data0 lladdr 02:00:00:00:00:77; "
        "ip -6 neigh add proxy 2001:db8::78 dev data0",
        "ip neigh flush dev data0 nud permanent; ip neigh del proxy {net78} dev data0; "
        "ip -6 neigh flush dev data0 nud permanent; ip -6 neigh del proxy 2001:db8::78 dev data0",
    ),
    "filters on ingress": (
        "tc qdisc add dev data0 clsact; tc filter add dev data0 ingress protocol ip pref 7 "
        "u32 match ip dst 203.0.113.7 flowid 1:1",
        "tc qdisc del dev data0 clsact",
    ),
    "a foreign htb with our handle": (
        "tc qdisc add dev data0 root handle 6e6c: htb default 1; "
        "tc class add dev data0 parent 6e6c: classid 6e6c:1 htb rate 9gbit",
        "tc qdisc del dev data0 root",
    ),
    "a foreign tbf": (
        "tc qdisc add dev data0 root handle 77: tbf rate 8gbit burst 1m limit 9m",
        "tc qdisc del dev data0 root",
    ),
    "classes and filters of another interface": (
        "tc qdisc add dev mgmt0 root handle 5: htb default 7; tc class add dev mgmt0 parent 5: classid 5:7 "
        "htb rate 9gbit; tc filter add dev mgmt0 parent 5: protocol ip u32 match ip dst 203.0.113.7 flowid 5:7",
        "tc qdisc del dev mgmt0 root",
    ),
    "a path shaped by netem": (
        "tc qdisc add dev data0 root netem delay 500us limit 5000",
        "tc qdisc del dev data0 root",
    ),
    "cake": ("tc qdisc add dev data0 root cake bandwidth 5gbit", "tc qdisc del dev data0 root"),
    "odd sysctls of neighbours": (
        "sysctl -w net.ipv4.neigh.data0.unres_qlen_bytes=77777 net.ipv4.neigh.mgmt0.base_reachable_time_ms=12345",
        "sysctl -w net.ipv4.neigh.data0.unres_qlen_bytes=212992 "
        "net.ipv4.neigh.mgmt0.base_reachable_time_ms=30000",
    ),
    "odd sysctls of IPv6": (
        "sysctl -w net.ipv6.conf.data0.accept_ra=2 net.ipv6.conf.data0.hop_limit=77 "
        "net.ipv6.conf.mgmt0.ignore_routes_with_linkdown=1",
        "sysctl -w net.ipv6.conf.data0.accept_ra=1 net.ipv6.conf.data0.hop_limit=64 "
        "net.ipv6.conf.mgmt0.ignore_routes_with_linkdown=0",
    ),
    "a long queue": (
        "ip link set dev data0 txqueuelen 77", "ip link set dev data0 txqueuelen 1000"
    ),
    "features of both interfaces": (
        "ethtool -K data0 tx-udp-segmentation off; ethtool -K mgmt0 gso off",
        "ethtool -K data0 tx-udp-segmentation on; ethtool -K mgmt0 gso on",
    ),
    "a macvlan": (
        "ip link add above0 link data0 type macvlan; ip link set above0 up mtu 8000",
        "ip link del above0",
    ),
    "a macvlan in a bridge with a macvlan": (
        "ip link add above0 link data0 type macvlan; ip link add over0 type bridge; "
        "ip link set above0 master over0; ip link set above0 up; ip link set over0 up; "
        "ip link add top0 link over0 type macvlan; ip link set top0 up",
        "ip link del top0; ip link del over0; ip link del above0",
    ),
    "VLANs in VLANs": (
        "ip link add data0.7 link data0 type vlan id 7; ip link set data0.7 up; "
        "ip link add data0.7.8 link data0.7 type vlan id 8; ip link set data0.7.8 up",
        "ip link del data0.7.8; ip link del data0.7",
    ),
}  # fmt: skip
"""What is there, as commands on a host, and what takes it away; a kernel may lack some of it."""

SETTINGS = (
    "offload: {tso: off, gro: off}",
    "mtu: 1400",
    "mtu: 1000",
    "qdisc: {kind: tbf, rate: 5gbit, burst: 1mb, limit: 4mb}",
    "route: {quickack: 1}",
    "route: {mtu: 1300}",
    "sysctl: {net.ipv4.neigh.data0.unres_qlen_bytes: 50000}",
    "sysctl: {net.ipv4.neigh.mgmt0.base_reachable_time_ms: 20500}",
    "sysctl: {net.ipv6.conf.data0.ignore_routes_with_linkdown: 1}",
    "sysctl: {net.ipv4.tcp_congestion_control: reno}",
)
TEXT = """\
experiment: bystanders
factors: {{times: [1, 2]}}
settings:
{settings}
measure:
  netperf: {{seconds: 1, send_size: 1024}}
dummies: [times]
repeat: {{replicates: 1, order: listed}}
"""


def attack(held: Held) -> str | None:
    """One to four odd states on each host, and a campaign of one to three settings beside them."""
    ground, chance = held.ground, held.chance
    states = {host: chance.sample(list(STATES), chance.randint(1, 4)) for host in ground.lab.hosts}
    chosen = {text.split(":")[0]: text for text in chance.sample(SETTINGS, chance.randint(1, 3))}
    held.says("; ".join(chosen.values()))
    lines = "".join(f"  - roles: [sender, receiver]\n    {text}\n" for text in chosen.values())
    base = ground.leaves()
    with contextlib.ExitStack() as stack:
        for host, names in states.items():
            for name in names:
                stack.enter_context(_standing(held, host, name))
        ground.original = _settled(ground)
        if through := _campaign(held, TEXT.format(settings=lines)):
            return through
    ground.original = base
    wait(
        lambda: ground.leaves() == base,
        lambda: f"the lab is not as built: {ground.leaves() ^ base}",
    )
    return None


@contextlib.contextmanager
def _standing(held: Held, host: str, name: str) -> Iterator[None]:
    """A state on a host until the end of `with`; nothing, where the kernel does not have it."""
    ground, (make, remove) = held.ground, STATES[name]
    data = ground.lab.data(host).rpartition(".")[0]
    last = 50 + [*ground.lab.hosts].index(host)
    words = {
        "net": f"{data}.0",
        "net77": f"{data}.77",
        "net78": f"{data}.78",
        "near": f"{data}.{last}",
    }
    try:
        ground.on(host, "sh", "-ec", make.format(**words))
    except Exception:
        held.says(f"{host}: no {name}")
        ground.on(host, "sh", "-c", remove.format(**words), check=False)
        yield
        return
    held.says(f"{host}: {name}")
    try:
        yield
    finally:
        ground.on(host, "sh", "-c", remove.format(**words), check=False)


def _settled(ground: Ground) -> set[str]:
    """The hosts' leaves, once nothing moves any more: addresses of IPv6 take a second or two."""
    last: list[set[str]] = [set()]

    def stands() -> set[str]:
        before, last[0] = last[0], ground.leaves()
        tentative = any(" tentative" in leaf for leaf in last[0])
        return last[0] if before == last[0] and not tentative else set()

    return wait(stands, "nothing moves")


def _campaign(held: Held, text: str) -> str | None:
    ground, out = held.ground, held.folder / "out"
    ran = ground("run", ground.experiment(text), *ground.hosts, "--out", out, status=None)
    told = ran.stderr
    held.says(f"exit status {ran.returncode}")
    if ran.returncode == 3:
        if "not restored" not in told:
            return f"exit status 3 without a reason: {told}"
        commands = [line for line in told.splitlines() if line.endswith(" --forget")]
        if not commands:
            return f"exit status 3 without the command that frees the hosts: {told}"
        _by_hand(ground, told)
        ground(*shlex.split(commands[-1].partition(": netlimits ")[2]))
    elif ran.returncode == 2 and not told.strip():
        return "refused without a word"
    try:
        ground.hosts_are_as_found()
    except AssertionError as error:
        return f"exit status {ran.returncode}: {told}\n{error}"
    return None


def _by_hand(ground: Ground, told: str) -> None:
    """Do what is told to be done by hand."""
    for line in told.splitlines():
        host = line.strip().partition(": ")[0]
        if host in ground.lab.hosts:
            for command in re.findall(r"`([^`]+)`", line.partition("by hand: ")[2]):
                ground.on(host, "sh", "-c", command, check=False)


FAMILY = Family("bystanders", attack, needs=Needs.NAMESPACES, portable=True)
