"""Planted drops: the reason that a host's kernel gives, and its count, against the counters.

Datagrams from one host to the other meet one planted cause each time: netfilter, a shaper's queue,
a socket's buffer, the backlog, a tc filter, a closed port, a wrong checksum; and none. Printed: the
share of the counted drops that have the right reason, and their number over that of the counter.
With `--cost`: the receiver's CPU time a drop, with drops counted and without, in pairs.

    sudo .venv/bin/python benchmarks/drops.py [--machines] [--datagrams 20000] [--rounds 3] [--cost]
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from netlimits.analysis.statistics import intervals
from netlimits.errors import CommandFailed, ToolFailure
from netlimits.evidence import drops
from netlimits.experiment import hosts_file
from netlimits.hosts.base import Host, must
from netlimits.hosts.connect import connect_all
from netlimits.lab import labs
from netlimits.model import Command

PORT = 40123
IPTABLES = "$(command -v iptables-legacy || echo iptables)"
"""The lab's machines have modules of the older tables only."""

SEND = r"""
use Socket; use Time::HiRes qw(time sleep);
my ($to, $port, $count, $pace, $bad) = @ARGV;
my $raw = $bad ? 17 : 0;
socket(my $s, AF_INET, $raw ? SOCK_RAW : SOCK_DGRAM, $raw) or die $!;
setsockopt($s, SOL_SOCKET, SO_SNDBUF, pack("l", 1 << 20));
my $place = sockaddr_in($raw ? 0 : $port, inet_aton($to));
my $data = "x" x 100;
$data = pack("n4", 40000, $port, 108, 1) . $data if $raw;
my ($began, $sent) = (time, 0);
for my $n (1 .. $count) {
    send($s, $data, 0, $place) and $sent++;
    if ($pace && $n % 20 == 0) { my $rest = $began + $n / $pace - time; sleep $rest if $rest > 0 }
}
printf "sent %d in %.6f\n", $sent, time - $began;
"""
"""Send datagrams, at `pace` a second; with a wrong checksum if `bad`."""

TAKE = r"""
use Socket;
my ($port, $reads) = @ARGV;
socket(my $s, AF_INET, SOCK_DGRAM, 0) or die $!;
setsockopt($s, SOL_SOCKET, SO_RCVBUF, pack("l", $reads ? 1 << 21 : 2304));
bind($s, sockaddr_in($port, INADDR_ANY)) or die $!;
$| = 1;
if ($reads) { while (1) { recv($s, my $data, 2000, 0) } }
sleep 600;
"""
"""Take datagrams at a port; without `reads` they stay in a small buffer."""


def sh(host: Host, script: str, *words: str) -> str:
    """The output of a script on a host."""
    return must(host.run(Command(("sh", "-c", script, "sh", *words), deadline=60))).stdout


def snmp(name: str) -> Callable[[Host, str], int]:
    """A counter of UDP in /proc/net/snmp."""

    def read(host: Host, interface: str) -> int:
        del interface
        heads, values = re.findall(r"^Udp: (.*)$", sh(host, "cat /proc/net/snmp"), re.MULTILINE)
        return int(dict(zip(heads.split(), values.split(), strict=True))[name])

    return read


def by_tc(what: str) -> Callable[[Host, str], int]:
    """The drops that `tc -s WHAT show` prints."""

    def read(host: Host, interface: str) -> int:
        text = sh(host, f"tc -s {what.replace('DEV', interface)}")
        return max([int(count) for count in re.findall(r"dropped (\d+)", text)], default=0)

    return read


def of_netfilter(host: Host, interface: str) -> int:
    """The packets of the dropping rule."""
    del interface
    text = sh(host, f"{IPTABLES} -t raw -nvxL PREROUTING 2>/dev/null || true")
    return sum(int(count) for count in re.findall(r"^\s*(\d+)\s+\d+\s+DROP", text, re.MULTILINE))


def softnet(host: Host, interface: str) -> int:
    """The packets that found the backlog full."""
    del interface
    rows = sh(host, "cat /proc/net/softnet_stat").splitlines()
    return sum(int(row.split()[1], 16) for row in rows)


@dataclass(frozen=True)
class Cause:
    """A planted cause: at which role, how it is made and removed, its reasons and its counter.

    `takes` is whether the receiver has a socket: "" for none, `full` for one that nobody reads.
    """

    role: str
    plant: str
    remove: str
    reasons: tuple[str, ...]
    counter: Callable[[Host, str], int] | None
    takes: str = "reads"
    bad: bool = False
    pace: int = 0


TC = (
    "tc qdisc add dev DEV clsact && tc filter add dev DEV ingress protocol ip u32 "
    f"match ip protocol 17 0xff match ip dport {PORT} 0xffff action drop"
)
CAUSES: Mapping[str, Cause] = {
    "netfilter": Cause(
        "receiver",
        f"{IPTABLES} -t raw -A PREROUTING -p udp --dport {PORT} -j DROP",
        f"{IPTABLES} -t raw -D PREROUTING -p udp --dport {PORT} -j DROP",
        ("NETFILTER_DROP",),
        of_netfilter,
    ),
    "shaper's queue": Cause(
        "sender",
        "tc qdisc replace dev DEV root tbf rate 1mbit burst 4kb limit 8kb",
        "tc qdisc del dev DEV root",
        ("QDISC_DROP", "QDISC_OVERLIMIT"),
        by_tc("qdisc show dev DEV root"),
    ),
    "socket buffer": Cause(
        "receiver", "true", "true", ("SOCKET_RCVBUFF",), snmp("RcvbufErrors"), takes="full"
    ),
    "backlog": Cause(
        "receiver",
        "sysctl -qw net.core.netdev_max_backlog=1 && "
        "for q in /sys/class/net/DEV/queues/rx-*/rps_cpus; do echo 1 >$q; done",
        "sysctl -qw net.core.netdev_max_backlog=1000 && "
        "for q in /sys/class/net/DEV/queues/rx-*/rps_cpus; do echo 0 >$q; done",
        ("CPU_BACKLOG",),
        softnet,
    ),
    "tc filter": Cause(
        "receiver", TC, "tc qdisc del dev DEV clsact", ("TC_INGRESS",),
        by_tc("filter show dev DEV ingress"),
    ),
    "closed port": Cause(
        "receiver", "true", "true", ("NO_SOCKET",), snmp("NoPorts"), takes=""
    ),
    "wrong checksum": Cause(
        "receiver", "true", "true", ("UDP_CSUM",), snmp("InCsumErrors"), bad=True
    ),
    "nothing": Cause("receiver", "true", "true", (), None, pace=2000),
}  # fmt: skip


def counted(host: Host, act: Callable[[], None]) -> drops.CountedDrops:
    """What the host's kernel drops while `act` goes on."""
    server = host.background(drops.command(120))
    until = time.monotonic() + 60
    while server.alive() and not drops.begun(server.stderr) and time.monotonic() < until:
        time.sleep(0.02)
    act()
    completed = server.stop()
    counted_drops = drops.read(completed)
    if counted_drops is None:
        raise ToolFailure(f"{host.name} counts no drops: {completed.complaint}")
    return counted_drops


def sent(host: Host, to: str, count: int, cause: Cause) -> float:
    """Seconds that sending so many datagrams took."""
    words = (to, str(PORT), str(count), str(cause.pace), "1" if cause.bad else "")
    text = must(host.run(Command(("perl", "-e", SEND, *words), deadline=300))).stdout
    return float(text.split()[-1])


def planted(
    hosts: Mapping[str, Host], machines: Mapping[str, hosts_file.Machine], cause: Cause, count: int
) -> tuple[drops.CountedDrops, int | None]:
    """What the host counted while a cause was there, and the growth of the cause's counter."""
    host = hosts[cause.role]
    interface = machines[cause.role].interface or ""
    to = machines["receiver"].address or ""
    sh(host, cause.plant.replace("DEV", interface))
    take = None
    try:
        if cause.takes:
            words = (str(PORT), "1" if cause.takes == "reads" else "")
            take = hosts["receiver"].serve(Command(("perl", "-e", TAKE, *words)))
            time.sleep(0.5)
        before = cause.counter(host, interface) if cause.counter else 0
        counted_drops = counted(
            host, lambda: (sent(hosts["sender"], to, count, cause), time.sleep(0.5))[1]
        )
        after = cause.counter(host, interface) if cause.counter else None
        return counted_drops, None if after is None else after - before
    finally:
        if take:
            take.stop()
        sh(host, cause.remove.replace("DEV", interface))


def main() -> None:
    """Plant each cause and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", action="store_true", help="QEMU machines, not namespaces")
    parser.add_argument("--datagrams", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=CAUSES)
    parser.add_argument("--cost", action="store_true")
    arguments = parser.parse_args()
    lab = labs.up(f"dr{os.getpid()}", guest=labs.Guest() if arguments.machines else None)
    try:
        machines = hosts_file.machines(lab.hosts_file, ("sender", "receiver"))
        with connect_all(machines) as hosts:
            if arguments.cost:
                cost(hosts, machines, arguments)
                return
            for name in arguments.only or CAUSES:
                if name == "backlog" and not arguments.machines:
                    print("backlog: left out, its limit is the whole kernel's", flush=True)
                    continue
                for _ in range(arguments.rounds):
                    try:
                        counts = planted(hosts, machines, CAUSES[name], arguments.datagrams)
                    except CommandFailed as error:
                        print(f"{name}: cannot be planted here: {error}", flush=True)
                    else:
                        report(name, *counts)
    finally:
        labs.down(lab.name)


def report(name: str, counted_drops: drops.CountedDrops, counter: int | None) -> None:
    """Print one line on what was counted."""
    lost = [drop for drop in counted_drops.drops if drop.reason not in drops.NO_LOSS]
    total = sum(drop.count for drop in lost)
    right = sum(drop.count for drop in counted_drops.drops if drop.reason in CAUSES[name].reasons)
    share = f"{100 * right / total:.1f} %" if total else "–"
    ratio = f"{right / counter:.4f}" if counter else "–"
    places = ", ".join(f"{d.reason} at {d.place} {d.count}" for d in counted_drops.drops[:3])
    print(f"{name}: {total} drops, right reason {share}, over the counter {ratio} of {counter}; "
          f"elsewhere {counted_drops.elsewhere}; {places}", flush=True)  # fmt: skip


def cost(
    hosts: Mapping[str, Host],
    machines: Mapping[str, hosts_file.Machine],
    arguments: argparse.Namespace,
) -> None:
    """Print the receiver's CPU time a datagram to a closed port, with drops counted and without."""
    to, count, cause = (
        machines["receiver"].address or "",
        arguments.datagrams,
        CAUSES["closed port"],
    )

    def once() -> tuple[float, float]:
        """Datagrams/s, and the receiver's CPU microseconds for each."""
        before = busy(hosts["receiver"])
        seconds = sent(hosts["sender"], to, count, cause)
        return count / seconds, 1e6 * (busy(hosts["receiver"]) - before) / count

    costs = []
    for number in range(arguments.rounds):
        pair: dict[bool, tuple[float, float]] = {}
        for counting in (True, False) if number % 2 else (False, True):
            if counting:
                counted(hosts["receiver"], lambda pair=pair: pair.update({True: once()}))
            else:
                pair[False] = once()
        costs.append(pair[True][1] - pair[False][1])
        for counting, (rate, each) in sorted(pair.items()):
            how = "with drops counted" if counting else "without"
            print(f"{how}: {rate:,.0f} datagrams/s, {each:.2f} us each", flush=True)
    estimate, low, high = intervals.mean(np.array(costs))[:3]
    print(f"counting costs {estimate:.2f} [{low:.2f}, {high:.2f}] us a drop")
    print(f"of 100,000 drops/s that is {10 * estimate:.1f} % of one CPU")


def busy(host: Host) -> float:
    """Return the seconds that the host's CPUs have been busy."""
    ticks = [int(word) for word in sh(host, "head -n 1 /proc/stat").split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / 100


if __name__ == "__main__":
    main()
