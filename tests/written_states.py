"""A valid state of every setting, as a journal or a note holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
GOOD: Mapping[str, Any] = {
    "switch": {"cat /etc/mode": SWITCH},
    "sysctl": {"net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.core.rmem_max": "212992"},
    "channels": {"most": {"combined": 4}, "now": {"combined": 2}, "queues": {"rx-1/rps_cpus": "3"},
                 "rss": "0 0 1 1"},
    "ring": NUMBERS,
    "coalesce": {"adaptive-rx": "off", "rx-usecs": 3},
    "irq": {"online": "0-3", "24": "0,2"},
    "rps": {"online": "0-3", "rx-0": "00000000,00000005"},
    "xps": {"online": "0-3", "tx-0": "00000000,00000005"},
    "rfs": {"entries": 0, "rx-0": 0},
    "rss": {"table": "0 1 0 1", "rings": 2, "function": "toeplitz"},
    "ntuple": {"rings": 2, "rules": {}},
    "pause": {"autoneg": "on", "rx": "off", "tx": "off"},
    "gso": {"max": 65536, "gro_max": 65536, "most": 524280},
    "ingress": {"qdiscs": [], "filters": 0, "rate": 0, "burst": 0},
    "tunnel": {"mtu": 1500, "has": ["vxlan"], "tunnel": {}},
    "governor": {"available": "performance powersave", "cpu0": "powersave"},
    "c_states": C_STATES,
    "mtu": {**MTU, "ipv6": {**IPV6, "proxies": ["fe80::3 router"],
            "routes": {"inet6 fe80::/64 proto kernel metric 256 pref medium": {"mtu": "1400"}},
            "addresses": [{"local": "fe80::1", "prefixlen": 64, "scope": "link"}],
            "neighbours": ["fe80::2 lladdr 02:00:00:00:00:02"], "conf": {"conf/mtu": "1500"}}},
    "offload": {"features": {"tx-udp-segmentation": "off [requested on]"}, "groups": {}},
    "napi": {"gro_flush_timeout": 0},
    "qdisc": QDISC,
    "route": {"routes": {"192.0.2.0/24 proto kernel scope link src 192.0.2.1": {"quickack": "1"}},
              "behind": {}},
    "load": LOAD,
    "link": {
        "speed": 1000,
        "duplex": "full",
        "autoneg": "on",
        "supported": ["100baseT/Full", "1000baseT/Full"],
        "advertised": ["1000baseT/Full"],
    },
}  # fmt: skip
