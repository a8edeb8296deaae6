"""The whole tree of network sysctls: read from a host, and what moved between two readings."""

from __future__ import annotations

import subprocess

from netlimits.model import sysctl_tree

PRINTED = """\
/proc/sys/net/ipv4/tcp_rmem:4096\t131072\t6291456
/proc/sys/net/ipv4/neigh/eth0.100/base_reachable_time_ms:30000
/proc/sys/net/ipv4/conf/eth0:1/forwarding:0
/proc/sys/net/ipv4/ip_local_reserved_ports:
/proc/sys/net/core/warnings:a:b
/proc/sys/net/netfilter/nf_conntrack_count:7
grep: something
"""


def test_names_are_as_sysctl_writes_them():
    assert sysctl_tree.values(PRINTED) == {
        "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
        "net.ipv4.neigh.eth0/100.base_reachable_time_ms": "30000",
        "net.ipv4.conf.eth0:1.forwarding": "0",
        "net.ipv4.ip_local_reserved_ports": "",
        "net.core.warnings": "a:b",
        "net.netfilter.nf_conntrack_count": "7",
    }


def test_what_moved_is_what_both_readings_have_and_does_not_move_by_itself():
    before = sysctl_tree.values(PRINTED)
    after = before | {
        "net.ipv4.tcp_rmem": "1\t2\t3",
        "net.netfilter.nf_conntrack_count": "9",
        "net.new": "1",
    }
    del after["net.core.warnings"]
    assert sysctl_tree.moved(before, after) == {
        "net.ipv4.tcp_rmem": ("4096\t131072\t6291456", "1\t2\t3")
    }


def test_this_machine_has_the_tree():
    printed = subprocess.run(sysctl_tree.READ, capture_output=True, text=True, check=False)
    tree = sysctl_tree.values(printed.stdout)
    shown = subprocess.run(
        ["sysctl", "-n", "net.core.somaxconn"], capture_output=True, text=True, check=True
    )
    assert tree["net.core.somaxconn"] == shown.stdout.strip()
    assert len(tree) == len(printed.stdout.splitlines())
