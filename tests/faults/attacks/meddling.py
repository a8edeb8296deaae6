"""Somebody changes a host in mid-run: such a run is `invalid` and says so, also where it is undone.

Each campaign has three runs, with a deed in each: one that is undone before the end, one that the
kernel or a DHCP client does by itself and that makes no run invalid, and one that stays as it is. The
client stands still meanwhile, which harmless deeds cannot have: a netperf that stood still ends early.
A sysctl has no notification: it is changed to stay alone.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from faults.attacks.base import Family, Held, Needs
from waiting import LONG, wait

TEXT = """\
experiment: meddling
settings:
  - roles: [sender, receiver]
    mtu: 4000
    offload: {tso: off}
    sysctl: {net.ipv4.tcp_sack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 3, order: listed}
"""


@dataclass(frozen=True)
class Deed:
    """A change as shell commands: how it is made and undone; `restored` where the campaign does.

    `theirs` is one that none of its settings can have made.
    """

    do: str
    undo: str
    restored: bool = False
    theirs: bool = False


_ROUTE = "r=$(ip -4 route show dev data0 | head -n 1); ip route {} $r dev data0 {}"
_MANY = """i=0
while [ $i -lt %d ]; do i=$((i + 1)); echo "%s"; done | ip -force -batch - 2>/dev/null
"""
_ROUTES = "route replace 198.18.$((i / 250)).$((i % 250))/32 dev data0 table 77"
_ADDRESS = "a=$(ip -4 -o addr show dev data0 | sed 's/.*inet \\([^ ]*\\).*/\\1/'); "

HARMFUL = (
    Deed("ip link set data0 mtu 3000", "ip link set data0 mtu 4000", restored=True),
    Deed("ethtool -K data0 tso on", "ethtool -K data0 tso off", restored=True),
    Deed("ethtool -K data0 tx-nocache-copy on", "ethtool -K data0 tx-nocache-copy off"),
    Deed("tc qdisc add dev data0 root tbf rate 10gbit burst 1mb latency 9ms",
         "tc qdisc del dev data0 root"),
    Deed("ip link set data0 txqueuelen 500", "ip link set data0 txqueuelen 1000",
         theirs=True),
    Deed(_ROUTE.format("change", "initcwnd 20"), "r=$(ip -4 route show dev data0 | head -n 1); "
         "ip route change ${r% initcwnd*} dev data0"),
    Deed("ip route add PEER/32 dev data0 mtu 1300", "ip route del PEER/32"),
    Deed("ip rule add to PEER/32 lookup 77 pref 77", "ip rule del pref 77"),
    Deed("ip rule add blackhole iif data0 tos 0x10 pref 77", "ip rule del pref 77"),
)  # fmt: skip
UNDONE = (
    *HARMFUL,
    Deed(_MANY % (300, _ROUTES) + "ip link set data0 mtu 3000",
         "ip link set data0 mtu 4000; ip route flush table 77"),
    Deed(_MANY % (20000, _ROUTES), "ip route flush table 77"),
    Deed("ip link set data0 down", "ip link set data0 up"),
    Deed("ip link set data0 name data9", "ip link set data9 name data0"),
    Deed(_ADDRESS + "ip addr del $a dev data0; ip addr add $a dev data0", "true"),
)  # fmt: skip
LEFT = (
    *HARMFUL,
    Deed("sysctl -qw net.ipv4.tcp_sack=0", "true", restored=True),
    Deed("ip addr del SELF/24 dev data0", "ip addr add SELF/24 dev data0", theirs=True),
)  # fmt: skip
HARMLESS = (
    Deed("ip addr add 192.0.2.9/32 dev data0", "ip addr del 192.0.2.9/32 dev data0"),
    Deed(_ADDRESS + "ip addr change $a dev data0 valid_lft 900 preferred_lft 900; "
         "ip addr change $a dev data0 valid_lft forever preferred_lft forever", "true"),
    Deed(_ROUTE.format("replace", ""), "true"),
    Deed("ip route add 198.51.100.0/24 dev data0", "ip route del 198.51.100.0/24"),
    Deed("ip link set data0 promisc on", "ip link set data0 promisc off"),
    Deed("ip link add more0 type veth peer more1", "ip link del more0"),
    Deed("ip neigh flush dev data0", "true"),
    Deed("ip rule add from 203.0.113.0/24 lookup 77 pref 77", "ip rule del pref 77"),
    Deed("ip rule add to PEER/32 oif lo lookup 77 pref 77", "ip rule del pref 77"),
    Deed("ip -6 rule add lookup 77 pref 77", "ip -6 rule del pref 77"),
    Deed("ip link add more0 type veth peer more1; "
         + _MANY % (3000, "link set more0 mtu $((1300 + i % 2))"), "ip link del more0"),
)  # fmt: skip


def attack(held: Held) -> str | None:
    """One campaign of three runs; what got through."""
    ground, chance, out = held.ground, held.chance, held.folder / "out"
    undone, left = chance.choice(UNDONE), chance.choice(LEFT)
    turns = [(undone, "invalid"), (chance.choice(HARMLESS), "ok")]
    chance.shuffle(turns)
    turns.append((left, "invalid"))
    process = ground.campaign(TEXT, out)
    for number, (deed, status) in enumerate(turns, 1):
        host = chance.choice(ground.lab.hosts)
        (peer,) = (other for other in ground.lab.hosts if other != host)
        held.says(f"{host}: {deed.do}")

        def act(commands: str, host: str = host, peer: str = peer) -> None:
            commands = commands.replace("PEER", ground.lab.data(peer))
            commands = commands.replace("SELF", ground.lab.data(host))
            ground.inside(host, "sh", "-c", commands)

        with nullcontext() if status == "ok" else ground.held(process, out):
            ground.at_work(process, out)
            act(deed.do)
            if number < len(turns):
                act(deed.undo)
        wait(lambda count=number: len(ground.ends(out)) >= count, "the run is over", longest=LONG)
    told = ground.ended(process, None)
    if left.theirs and (process.returncode == 3 or "changed by somebody else" not in told):
        return f"not reported as somebody else's: exit status {process.returncode}: {told}"
    if not left.restored:
        act(f"{left.undo} || true")  # a restore may have taken it along
    ground.hosts_are_as_found()
    expected = [status for _, status in turns]
    ends = [(end["status"], end["reason"]) for end in ground.ends(out)]
    if [status for status, _ in ends] != expected:
        return f"{expected} were expected: {ends}"
    unsaid = [
        end for end in ends if end[0] == "invalid" and not end[1].startswith("changed during")
    ]
    return f"not said: {unsaid}" if unsaid else None


FAMILY = Family("meddling", attack, weight=1, needs=Needs.NAMESPACES)
