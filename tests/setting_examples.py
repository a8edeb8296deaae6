"""Examples of every setting: what an experiment asks for, and what a host may have stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Example:
    """An example of a setting.

    Attributes:
        state: A state that may be restored, as a journal or a note holds it.
        faulty: States that must not be restored, and a part of the reason.
        veth: Options that a veth in the lab accepts; () if a veth or the lab's kernel lacks it.
        others: Options that other interfaces accept.
    """

    state: Any
    faulty: tuple[tuple[Any, str], ...]
    veth: tuple[Any, ...]
    others: tuple[Any, ...] = ()

    @property
    def options(self) -> tuple[Any, ...]:
        return (*self.veth, *self.others)


IPV6 = {"addresses": [], "routes": {}, "behind": {}, "before": {}, "neighbours": [], "proxies": [],
        "conf": {}, "fading": [], "strange": [], "moving": []}  # fmt: skip
MTU = {"mtu": 1500, "least": 68, "most": 9000, "others": {}, "bridges": [], "away": [],
       "hidden": [], "exceptions": [], "ipv6": IPV6}  # fmt: skip
QDISC = {"kind": "pfifo", "handle": "8001:", "options": {"limit": 5}, "inner": [], "default": "",
         "classes": [], "filters": [], "within": [], "beside": {}, "mtu": 0, "queue": 0,
         "nanoseconds": False}  # fmt: skip
LOAD = {"cpus": 2, "missing": [], "workers_per_cpu": 1, "cpu_load": 50, "method": "all",
        "seconds_left": 60, "running": 2}  # fmt: skip
C_STATES = {"device": True, "driver": "intel_idle", "missing": [], "latency_us": None,
            "seconds_left": 0, "kernel_us": 2_000_000_000}  # fmt: skip
NUMBERS = {"most": {"rx": 10}, "now": {"rx": 5}}
SWITCH = {"verify": ["cat", "/etc/mode"], "position": "old",
          "command": {"old": ["set-mode", "old"], "new": ["set-mode", "new"]}}  # fmt: skip
LINK = {
    "speed": 1000,
    "duplex": "full",
    "autoneg": "on",
    "supported": ["100baseT/Full", "1000baseT/Full"],
    "advertised": ["1000baseT/Full"],
}
CHANNELS = {
    "most": {"combined": 4},
    "now": {"combined": 2},
    "queues": {"rx-1/rps_cpus": "3"},
    "rss": "0 0 1 1",
}
RSS = {"table": "0 1 0 1", "rings": 2, "function": "toeplitz"}
INGRESS = {"qdiscs": [], "filters": 0, "rate": 0, "burst": 0}
TUNNEL = {"mtu": 1500, "has": ["vxlan"], "tunnel": {}}
ECN = "net.ipv4.tcp_ecn"

EXAMPLES: Mapping[str, Example] = {
    "switch": Example(
        state={"cat /etc/mode": SWITCH},
        faulty=(
            ({"cat /etc/mode": {**SWITCH, "position": "gone"}}, "no command leads to 'gone'"),
            ({"cat /etc/mode": {**SWITCH, "verify": ["id"]}}, "is no command of a switch"),
            ({"cat /etc/mode": {**SWITCH, "command": {"old": "id"}}}, "is no command of a switc"),
            ({"cat /etc/mode": {**SWITCH, "command": {"a\nb": ["id"]}}}, "a position is one line"),
        ),
        veth=(
            {
                "verify": ["sysctl", "-n", ECN],
                "command": {n: ["sysctl", "-qw", f"{ECN}={n}"] for n in ("0", "1", "2")},
                "to": 0,
            },
        ),
        others=(
            {
                "verify": ["sysctl", "-n", "net.ipv4.tcp_congestion_control"],
                "command": {"bbr": ["true"], "reno": ["sysctl", "-qw", "x=reno"]},
                "to": "reno",
            },
        ),
    ),
    "sysctl": Example(
        state={"net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.core.rmem_max": "212992"},
        faulty=(
            ({"net.ipv4.ip_forward": "1"}, "net.ipv4.ip_forward changes more than itself"),
            ({"net.ipv6.conf.all.disable_ipv6": "1"}, "changes more than itself"),
            ({"kernel.core_pattern": "|x"}, "is no sysctl under net."),
            ({"net.core.rmem_max": "-w kernel.x=1\n"}, "cannot be"),
            ({"net.core.rmem_max": 1}, "is not one of"),
        ),
        veth=({"net.ipv4.tcp_sack": 0, "net.ipv4.tcp_rmem": "4096 131072 6291456"},),
        others=(
            {"net.core.rmem_max": 8388608},
            {"net.ipv4.tcp_rmem": "4096 1 2"},
        ),
    ),
    "link": Example(
        state=LINK,
        faulty=(
            ({**LINK, "advertised": ["1000baseT/Full; x"]}, "is no link mode"),
            ({**LINK, "speed": "-x"}, "is no speed"),
        ),
        veth=(),
        others=({"speed": 100, "duplex": "full", "autoneg": "on"},),
    ),
    "pause": Example(
        state={"autoneg": "on", "rx": "off", "tx": "off"},
        faulty=(({"autoneg": "on; x"}, "cannot be"),),
        veth=(),
        others=({"autoneg": "off", "rx": "on"},),
    ),
    "channels": Example(
        state=CHANNELS,
        faulty=(
            ({"most": {}, "now": {"combined": "x"}}, "cannot be"),
            ({**CHANNELS, "queues": {"rx-1/../x": "3"}}, "cannot be"),
            ({**CHANNELS, "queues": {"interrupt a b": "3"}}, "cannot be"),
            ({**CHANNELS, "queues": {"rx-1/rps_cpus": "3; x"}}, "cannot be"),
        ),
        veth=(
            {"tx": 2},
            {"rx": 3, "tx": 1},
        ),
        others=({"combined": 2},),
    ),
    "ring": Example(
        state=NUMBERS,
        faulty=(({"most": {}, "now": {"-x": 1}}, "cannot be"),),
        veth=(),
        others=({"rx": 256},),
    ),
    "coalesce": Example(
        state={"adaptive-rx": "off", "rx-usecs": 3},
        faulty=(({"adaptive-rx": "on; x"}, "cannot be"),),
        veth=(),
        others=({"adaptive-rx": "off", "rx-usecs": 0},),
    ),
    "irq": Example(
        state={"online": "0-3", "24": "0,2"},
        faulty=(
            ({"../../x": "0"}, "cannot have the CPUs"),
            ({"24": "0; x"}, "cannot have the CPUs"),
        ),
        veth=(),
        others=(
            {"spread": "cpus"},
            {"spread": "local-node"},
        ),
    ),
    "rps": Example(
        state={"online": "0-3", "rx-0": "00000000,00000005"},
        faulty=(
            ({"../../x": "3"}, "cannot have the CPUs"),
            ({"rx-0": "3; x"}, "cannot have the CPUs"),
            ({"online": "x", "rx-0": "3"}, "cannot have the CPUs"),
        ),
        veth=(
            {"cpus": 1},
            {"cpus": "off"},
        ),
    ),
    "xps": Example(
        state={"online": "0-3", "tx-0": "00000000,00000005"},
        faulty=(
            ({"tx-0/../x": "3"}, "cannot have the CPUs"),
            ({"tx-0": "3; x"}, "cannot have the CPUs"),
        ),
        veth=({"spread": "cpus"},),
        others=(
            {"spread": "cpus"},
            {"cpus": "off"},
        ),
    ),
    "rfs": Example(
        state={"entries": 0, "rx-0": 0},
        faulty=(
            ({"rx-0/../x": 1}, "cannot be"),
            ({"entries": "1; x"}, "cannot be"),
        ),
        veth=({"per_queue": 100},),
        others=(
            {"entries": 1000},
            {"per_queue": 5},
        ),
    ),
    "rss": Example(
        state=RSS,
        faulty=(
            ({**RSS, "table": "0 1; x"}, "is no RSS table"),
            ({**RSS, "function": "-x"}, "is no hash"),
            ({**RSS, "key": "00 -x"}, "the key is no hash key"),
        ),
        veth=(),
        others=(
            {"equal": 2},
            {"weights": [3, 1]},
        ),
    ),
    "ntuple": Example(
        state={"rings": 2, "rules": {}},
        faulty=(({"rings": 2, "rules": {"1": {}}}, "are not written again"),),
        veth=(),
        others=({"flows": [{"port": 5001, "queue": 0}]},),
    ),
    "mtu": Example(
        state={
            **MTU,
            "ipv6": {
                **IPV6,
                "proxies": ["fe80::3 router"],
                "routes": {"inet6 fe80::/64 proto kernel metric 256 pref medium": {"mtu": "1400"}},
                "addresses": [{"local": "fe80::1", "prefixlen": 64, "scope": "link"}],
                "neighbours": ["fe80::2 lladdr 02:00:00:00:00:02"],
                "conf": {"conf/mtu": "1500"},
            },
        },
        faulty=(
            ({**MTU, "mtu": "9000 up"}, "is no MTU"),
            ({**MTU, "others": {"-x": 1500}}, "is no interface"),
            (
                {**MTU, "ipv6": {**IPV6, "routes": {"inet6 ::/0 via fe80::1 dev mgmt0": {}}}},
                "is no route",
            ),
            ({**MTU, "ipv6": {**IPV6, "conf": {"conf/../x": "1"}}}, "is no sysctl"),
            ({**MTU, "ipv6": {**IPV6, "neighbours": ["fe80::1 dev lo"]}}, "is no neighbour"),
            ({}, "is not one of"),
        ),
        veth=(
            68,
            1279,
            1280,
        ),
        others=(
            1000,
            9000,
        ),
    ),
    "offload": Example(
        state={"features": {"tx-udp-segmentation": "off [requested on]"}, "groups": {}},
        faulty=(
            ({"features": {"-x": "on"}, "groups": {}}, "is no feature"),
            ({"features": {"gro": "on x"}, "groups": {}}, "is no feature"),
        ),
        veth=(
            {"sg": "off", "gro": "on"},
            {"tx": "off", "rx": "off"},
        ),
        others=({"tso": "on", "gro": "off"},),
    ),
    "gso": Example(
        state={"max": 65536, "gro_max": 65536, "most": 524280},
        faulty=(({"max": "1 up"}, "cannot be"),),
        veth=(
            {"max": 100_000, "gro_max": 100_000},
            {"max": 30_000},
        ),
        others=({"max": 100000, "ipv4_max": 65536},),
    ),
    "napi": Example(
        state={"gro_flush_timeout": 0},
        faulty=(
            ({"../carrier": 1}, "cannot be"),
            ({"gro_flush_timeout": "1\n2"}, "cannot be"),
        ),
        veth=({"gro_flush_timeout": 20000, "defer_hard_irqs": 2},),
    ),
    "qdisc": Example(
        state=QDISC,
        faulty=(
            ({**QDISC, "kind": "ingress; x"}, "is no qdisc"),
            ({**QDISC, "options": {"limit": "5 x"}}, "is not one of"),
            ({**QDISC, "kind": "cake"}, "could not be restored"),
            ({**QDISC, "kind": "hfsc"}, "could not be restored"),
        ),
        veth=(
            {"kind": "pfifo", "limit": 10},
            {"kind": "htb", "rate": "1gbit", "burst": "100kb"},
            {
                "kind": "tbf",
                "rate": "1gbit",
                "burst": "64kb",
                "latency": "10ms",
                "child": {"kind": "pfifo", "limit": 9},
            },
        ),
        others=(
            {"kind": "tbf", "rate": "1gbit", "burst": "128kb", "latency": "50ms"},
            {"kind": "htb", "rate": "100mbit", "burst": "15kb"},
            {"kind": "fq", "maxrate": "1gbit"},
            {
                "kind": "tbf",
                "rate": "1gbit",
                "burst": "128kb",
                "latency": "50ms",
                "child": {"kind": "fq_codel"},
            },
        ),
    ),
    "ingress": Example(
        state=INGRESS,
        faulty=(({**INGRESS, "qdiscs": ["x"]}, "is not written again"),),
        veth=(),
        others=({"rate": "100mbit", "burst": "256kb"},),
    ),
    "route": Example(
        state={
            "routes": {"192.0.2.0/24 proto kernel scope link src 192.0.2.1": {"quickack": "1"}},
            "behind": {},
        },
        faulty=(
            ({"routes": {"default dev mgmt0": {}}, "behind": {}}, "is no route"),
            ({"routes": {"192.0.2.0/24": {"via": "192.0.2.9"}}, "behind": {}}, "is no metric"),
            ({"routes": {"192.0.2.0/24": {"mtu": "9 dev x"}}, "behind": {}}, "is no metric"),
        ),
        veth=(
            {"quickack": 1, "initcwnd": 20},
            {"mtu": 600, "rto_min": "5ms"},
        ),
        others=(
            {"quickack": 1},
            {"to": "198.19.0.0/24", "initcwnd": 20, "rto_min": "1500ms"},
        ),
    ),
    "tunnel": Example(
        state=TUNNEL,
        faulty=(({**TUNNEL, "tunnel": {"kind": "x"}}, "is not created again"),),
        veth=(
            {
                "kind": "vxlan",
                "local": "198.51.100.1",
                "remote": "198.51.100.2",
                "address": "198.19.255.1/30",
                "peer": "198.19.255.2/30",
            },
        ),
        others=(
            {"kind": "vxlan"},
            {"kind": "gre", "id": 5},
        ),
    ),
    "governor": Example(
        state={"available": "performance powersave", "cpu0": "powersave"},
        faulty=(
            ({"cpu0": "x y"}, "cannot be"),
            ({"cpu0/../x": "performance"}, "cannot be"),
        ),
        veth=(),
        others=("performance",),
    ),
    "c_states": Example(
        state=C_STATES,
        faulty=(
            ({**C_STATES, "latency_us": -1}, "is no latency"),
            ({**C_STATES, "latency_us": 0, "seconds_left": 10**9}, "is no number of seconds"),
        ),
        veth=(),
        others=({"latency_us": 0},),
    ),
    "load": Example(
        state=LOAD,
        faulty=(
            ({**LOAD, "workers_per_cpu": 10**9}, "is no number of workers"),
            ({**LOAD, "method": "$(x)"}, "is no method"),
        ),
        veth=({"workers_per_cpu": 1, "cpu_load": 1, "hours": 0.02},),
    ),
}
