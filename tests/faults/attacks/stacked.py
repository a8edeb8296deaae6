"""Data interfaces that are stacked on others, such as bonds, VLANs and VXLANs, on machines.

Some settings are changed on the interface on top, or on one below it; at times the controller is killed
in the middle. What must hold: whatever cannot be set or measured there is said in a line, and everything
on the host, on the interfaces below and beside too, is as found.
"""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

from faults.attacks.base import Family, Held, Needs
from faults.attacks.kills import done, moment
from faults.ground import wait
from faults.guest_ground import GuestGround

BOND = """
modprobe bonding max_bonds=0; ip addr flush dev data0; ip link set data0 down
ip link add bond0 type bond mode active-backup miimon 100; ip link set data0 master bond0
ip link set bond0 up mtu 8896; ip addr add $address dev bond0
"""
VLAN = (
    "ip addr flush dev data0; ip link add link data0 name data0.7 type vlan id 7; "
    "ip link set data0.7 up; ip addr add $address dev data0.7"
)
BRIDGE = (
    "ip addr flush dev data0; ip link add br0 type bridge; ip link set data0 master br0; "
    "ip link set br0 up; ip addr add $address dev br0"
)
MACVLAN = (
    "ip addr flush dev data0; ip link add link data0 name mac0 type macvlan mode bridge; "
    "ip link set mac0 up; ip addr add $address dev mac0"
)
BESIDE = (
    "ip link add link data0 name mac0 type macvlan mode bridge; ip link set mac0 up; "
    "ip link add link data0 name data0.7 type vlan id 7; ip link set data0.7 up mtu 8000"
)
_MODE = """
socket my $kernel, 16, 3, 16;
sub nested { my ($kind, $data) = @_; pack "S2 a* x![L]", 4 + length $data, $kind, $data }
sub asked {
    my ($family, $command, $body) = @_;
    send $kernel, pack("L S2 L2 C2 x2", 20 + length $body, $family, 5, 1, 0, $command, 1) . $body, 0;
    recv $kernel, my $got, 65536, 0;
    $got;
}
my ($family) = asked(16, 3, nested(2, "team\\0")) =~ /\\x06\\x00\\x01\\x00(..)/s;
my $option = nested(1, "mode\\0") . nested(3, pack "C", 5) . nested(4, "roundrobin\\0");
my $got = asked(unpack("S", $family), 1, nested(1, pack "L", $ARGV[0]) . nested(2, nested(1, $option)));
exit -unpack "x16 l", $got;
"""
TEAM = f"""
modprobe team; modprobe team_mode_roundrobin; ip addr flush dev data0; ip link set data0 down
ip link add team0 type team; perl -e '{_MODE}' "$(cat /sys/class/net/team0/ifindex)"
ip link set data0 master team0; ip link set data0 up; ip link set team0 up mtu 8896
ip addr add $address dev team0
"""
"""Its mode is set as teamd does it."""
VXLAN = """
n=${address%/24}; n=${n##*.}; ip addr flush dev data0; ip addr add 198.18.77.$n/24 dev data0
ip link add vxlan0 type vxlan id 7 remote 198.18.77.$((3 - n)) dstport 4789 dev data0
ip link set vxlan0 up; ip addr add $address dev vxlan0
"""
IPVLAN = (
    "ip addr flush dev data0; ip link add link data0 name ipvl0 type ipvlan mode l2; "
    "ip link set ipvl0 up; ip addr add $address dev ipvl0"
)
VRF = """
sysctl -qw net.ipv4.tcp_l3mdev_accept=1 net.ipv4.udp_l3mdev_accept=1
ip link add vrf0 type vrf table 10; ip link set vrf0 up; ip link set data0 master vrf0
ip route add $network dev data0
"""
STACKS = (
    ("bond", BOND, "bond0"),
    ("vrf", VRF, "data0"),
    ("a bond's slave", BOND, "data0"),
    ("vlan", VLAN, "data0.7"),
    ("bridge", BRIDGE, "br0"),
    ("macvlan", MACVLAN, "mac0"),
    ("vlan over a bond", BOND.replace("ip addr add $address dev bond0", "") + VLAN.replace("data0", "bond0"),
     "bond0.7"),
    ("below others", BESIDE, "data0"),
    ("the vrf itself", VRF, "vrf0"),
    ("team", TEAM, "team0"),
    ("vxlan", VXLAN, "vxlan0"),
    ("ipvlan", IPVLAN, "ipvl0"),
    ("a team's port", TEAM, "data0"),
    ("below a vxlan", VXLAN, "data0"),
)  # fmt: skip

SETTINGS = (
    "mtu: 1400", "mtu: 1200", "offload: {tso: off}", "offload: {gro: off, tx: off}", "qdisc: {kind: fq}",
    "qdisc: {kind: tbf, rate: 8mbit, burst: 64kb, latency: 50ms}", "route: {quickack: 1}",
    "sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}", "napi: {gro_flush_timeout: 20000}",
)  # fmt: skip
TEXT = """\
experiment: stacked
settings:
  - roles: [sender, receiver]
    {settings}
measure:
  netperf: {{seconds: 1, test: TCP_RR}}
repeat: {{replicates: 1, order: listed}}
"""
UNDONE = """
ip link set data0 nomaster
n=${address%/24}; ip addr del 198.18.77.${n##*.}/24 dev data0 2>/dev/null || true
for each in data0.7 bond0.7 mac0 ipvl0 vxlan0 bond0 team0 br0 vrf0; do ip link del "$each" 2>/dev/null || true; done
ip link set data0 mtu $mtu up; ip addr replace $address dev data0
sysctl -qw net.ipv4.tcp_l3mdev_accept=0 net.ipv4.udp_l3mdev_accept=0
"""


def attack(held: Held) -> str | None:
    """A campaign on a stacked interface."""
    ground, chance = held.ground, held.chance
    assert isinstance(ground, GuestGround)
    name, script, interface = STACKS[held.number % len(STACKS)]
    kinds = chance.sample(SETTINGS, chance.randint(2, 4))
    kinds = [*{kind.partition(":")[0]: kind for kind in kinds}.values()]
    held.says(f"{name}, {interface}: {', '.join(kinds)}")
    before = ground.original
    try:
        _shell(ground, script)
        wait(lambda: "state DOWN" not in "".join(ground.leaves()), "the links are up")
        ground.original = ground.leaves()
        return _campaign(held, interface, TEXT.format(settings="\n    ".join(kinds)))
    finally:
        ground.end()
        _shell(ground, UNDONE)
        ground.original = before
        try:
            wait(lambda: ground.leaves() == before, seconds=5)
        except AssertionError:  # something of it stays until they boot
            with ThreadPoolExecutor() as pool:
                list(pool.map(ground.guests.reboot, ground.lab.hosts))
            wait(lambda: ground.leaves() == before, "the machines are as built")


def _shell(ground: GuestGround, script: str) -> None:
    """Have both machines run a script that knows their address and MTU."""
    for host in ground.lab.hosts:
        address = ground.lab.data(host)
        known = (
            f"address={address}/24 network={address.rpartition('.')[0]}.0/24 mtu={ground.lab.mtu}"
        )
        ground.guests.sh(host, f"{known}\n{script}")


def _campaign(held: Held, interface: str, text: str) -> str | None:
    ground, out, chance = held.ground, held.folder / "out", held.chance
    lab = ground.lab
    entries = {
        host: {"ssh": lab.login(host), "interface": interface, "address": lab.data(host)}
        for host in lab.hosts
    }
    path = held.folder / "hosts.yaml"
    path.write_text(json.dumps({"ssh_config": str(lab.ssh_config), **entries}))
    hosts = ("--hosts", path)
    process = ground.start("run", ground.experiment(text), *hosts, "--out", out)
    if chance.random() < 0.3:
        try:
            moment(process, out, chance)
        except subprocess.TimeoutExpired:
            process.kill()
            held.says("killed")
    told = ground.ended(process, None)
    held.says(f"exit status {process.returncode}: {told.strip()[-800:]}")
    if process.returncode not in (-9, 0, 1, 2):
        return f"exit status {process.returncode}: {told}"
    if process.returncode == -9:
        ground("restore", *hosts)
    ground.hosts_are_as_found()
    if (out / "campaign.json").exists() and not done(out):
        held.says(f"resume: {ground('resume', out, status=None).stderr[-400:]}")
        ground.hosts_are_as_found()
    return None


FAMILY = Family("stacked", attack, weight=0.5, needs=Needs.MACHINES)
