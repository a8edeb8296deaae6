"""Facts of a host: read once per campaign, stored with it, and compared when it is resumed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from netlimits.errors import one_line
from netlimits.evidence import drops
from netlimits.model import Command, Completed, decoding


class CommandRunner(Protocol):
    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        """Run the commands and return their results."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A command whose output describes a host, and the parser of that output.

    The word INTERFACE in `argv` stands for the data interface. `identifies` is true for facts that
    change if the host is replaced or restarted.
    """

    name: str
    argv: tuple[str, ...]
    parse: Callable[[str], Any]
    identifies: bool = False

    def command(self, interface: str) -> Command:
        argv = tuple(interface if word == "INTERFACE" else word for word in self.argv)
        return Command(argv, deadline=10)


def _cpu(stdout: str) -> dict[str, Any]:
    models = re.findall(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", stdout, re.MULTILINE)
    count = len(re.findall(r"^processor\s*:", stdout, re.MULTILINE))
    return {"model": models[0].strip() if models else "", "count": count}


def _pairs(stdout: str) -> dict[str, str]:
    """Parse lines of the form `name: value` or `name = value`."""
    rows = (re.split(r"\s*[:=]\s*", line.strip(), maxsplit=1) for line in stdout.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def _link(stdout: str) -> dict[str, Any]:
    (link,) = decoding.parsed(stdout)
    keys = ("ifname", "mtu", "operstate", "address", "qdisc", "txqlen", "num_tx_queues")
    return {k: link[k] for k in keys if k in link} | {
        "addresses": [a["local"] for a in link.get("addr_info", ())]
    }


_LANE = {2.5: 0.8, 5.0: 0.8, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 0.98}
"""GT/s of a PCIe lane -> share of its rate that remains after the line code (64 GT/s: FLITs)."""


def _pcie(stdout: str) -> dict[str, Any]:
    """Return the current and maximum GT/s, lanes and Mbit/s of the NIC's PCIe link."""
    shown = _pairs(stdout)
    known: dict[str, Any] = {}
    for name in ("current", "max"):
        speed = re.match(r"[0-9.]+", shown.get(f"{name}_link_speed", ""))
        width = shown.get(f"{name}_link_width", "")
        if speed and width.isdigit() and int(width):
            rate = float(speed[0])
            known[f"{name}_gts"], known[f"{name}_lanes"] = rate, int(width)
            known[f"{name}_mbps"] = rate * 1000 * _LANE.get(rate, 0.8) * int(width)
    if not known:
        raise ValueError("no PCIe link")
    return known


def _nodes(stdout: str) -> dict[str, str]:
    """Return NUMA node -> its CPUs, "nic" -> the NIC's node, and "numactl" if it is installed."""
    return {name: cpus for name, cpus in _pairs(stdout).items() if cpus not in ("", "-1")}


def _mitigations(stdout: str) -> dict[str, str]:
    """Return vulnerability -> the mitigation that the kernel uses."""
    rows = (line.partition(":") for line in stdout.splitlines())
    return {path.rpartition("/")[2]: what for path, _, what in rows if what}


_PCIE = r"""d=/sys/class/net/$1/device
case $(readlink "$d/subsystem") in */virtio) d=$d/.. ;; esac
for n in current_link_speed current_link_width max_link_speed max_link_width; do
    [ ! -e "$d/$n" ] || echo "$n: $(cat "$d/$n")"
done"""

_NUMA = r"""for n in /sys/devices/system/node/node[0-9]*; do
    [ ! -e "$n/cpulist" ] || echo "${n##*/node}: $(cat "$n/cpulist")"
done
command -v numactl >/dev/null && echo "numactl: yes"
d=/sys/class/net/$1/device
for f in "$d/numa_node" "$d/../numa_node"; do
    [ ! -e "$f" ] || { echo "nic: $(cat "$f")"; break; }
done
:"""

_SERVICES = r"""grep -lsx irqbalance /proc/[0-9]*/comm | grep -q . && echo "irqbalance: running"
[ ! -s /etc/tuned/active_profile ] || echo "tuned: $(head -n 1 /etc/tuned/active_profile)"
:"""


def _rss(stdout: str) -> dict[str, Any]:
    """Return the table entries per ring and the hash functions, but not the key (a secret)."""
    entries: dict[str, int] = {}
    for row in re.findall(r"^\s*[0-9]+:((?:\s+[0-9]+)+)\s*$", stdout, re.MULTILINE):
        for ring in row.split():
            entries[ring] = entries.get(ring, 0) + 1
    functions = re.findall(r"^\s+(\w+): on$", stdout, re.MULTILINE)
    if not entries and not functions:
        raise ValueError("no indirection table")
    return {"entries_by_ring": entries, "hash": functions}


BOOT_ID = Fact("boot_id", ("cat", "/proc/sys/kernel/random/boot_id"), str.strip, identifies=True)

FACTS: tuple[Fact, ...] = (
    Fact("kernel", ("uname", "-srm"), str.strip, identifies=True),
    BOOT_ID,
    Fact("hostname", ("uname", "-n"), str.strip),
    Fact("uid", ("id", "-u"), str.strip),
    Fact("distribution", ("cat", "/etc/os-release"), _pairs),
    Fact("cpu", ("cat", "/proc/cpuinfo"), _cpu, identifies=True),
    Fact("governor", ("cat", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), str.strip),
    Fact("command_line", ("cat", "/proc/cmdline"), str.strip),
    Fact("mitigations", ("grep", "-r", ".", "/sys/devices/system/cpu/vulnerabilities"),
         _mitigations),
    Fact("numa", ("sh", "-c", _NUMA, "sh", "INTERFACE"), _nodes),
    Fact("pcie", ("sh", "-c", _PCIE, "sh", "INTERFACE"), _pcie),
    Fact("services", ("sh", "-c", _SERVICES), _pairs),
    Fact("link", ("ip", "-d", "-j", "addr", "show", "dev", "INTERFACE"), _link),
    Fact("driver", ("ethtool", "-i", "INTERFACE"), _pairs, identifies=True),
    Fact("link_settings", ("ethtool", "INTERFACE"), _pairs),
    Fact("offloads", ("ethtool", "-k", "INTERFACE"), _pairs),
    Fact("rings", ("ethtool", "-g", "INTERFACE"), str.strip),
    Fact("coalescing", ("ethtool", "-c", "INTERFACE"), str.strip),
    Fact("rss", ("ethtool", "-x", "INTERFACE"), _rss),
    Fact("channels", ("ethtool", "-l", "INTERFACE"), str.strip),
    Fact("qdiscs", ("tc", "-j", "qdisc", "show", "dev", "INTERFACE"), decoding.parsed),
    Fact("routes", ("ip", "-j", "route", "show", "dev", "INTERFACE"), decoding.parsed),
    Fact("sysctls", ("sysctl", "net.core", "net.ipv4.tcp_congestion_control",
                     "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_mem",
                     "net.ipv4.udp_mem", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack",
                     "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_tso_win_divisor",
                     "net.ipv4.tcp_min_tso_segs", "net.ipv4.tcp_mtu_probing"), _pairs),
    Fact("ethtool", ("ethtool", "--version"), str.strip),
    Fact("iproute2", ("ip", "-V"), str.strip),
    Fact(drops.FACT, drops.probe(), str.strip),
)  # fmt: skip
"""The facts, in the order in which they are stored. `read` stores a missing fact as `absent`."""


TOGETHER = 7
"""Number of facts to read in one round trip. If a fact hangs, the facts after it in the same round
trip are absent."""


def read(host: CommandRunner, interface: str) -> dict[str, dict[str, Any]]:
    """Return name -> {"value": parsed} or {"absent": why} for each fact, with its raw output."""
    answers: list[Completed] = []
    for n in range(0, len(FACTS), TOGETHER):
        some = [fact.command(interface) for fact in FACTS[n : n + TOGETHER]]
        answers += host.run_in_turn(some)
    return {f.name: _fact(f, answer) for f, answer in zip(FACTS, answers, strict=True)}


def _fact(fact: Fact, completed: Completed) -> dict[str, Any]:
    raw = {"command": " ".join(completed.command.argv), "printed": completed.stdout}
    try:
        value = fact.parse(completed.stdout)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"absent": f"its output cannot be parsed: {error}", **raw}
    # `sysctl` exits 255 if the kernel lacks one of many names; its output is valid
    if completed.status != 0 and not value:
        return {"absent": completed.stderr.strip() or f"exit status {completed.status}", **raw}
    return {"value": value, **raw}


def value(facts: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    """Return the parsed value of a fact; None if it is absent."""
    return facts.get(name, {}).get("value")


def mismatches(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return "NAME was OLD and is NEW" for each changed fact that identifies a host."""
    return tuple(
        f"{fact.name} was {value(before, fact.name)!r} and is {value(now, fact.name)!r}"
        for fact in FACTS
        if fact.identifies and value(before, fact.name) != value(now, fact.name)
    )


PASSING = frozenset(("boot_id", "hostname", "uid", "routes", "qdiscs", "link_settings", "link"))
"""Facts that depend on a boot, a login or an address, and may change with every campaign."""


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return changes of a host that may have changed figures, as "offloads: tso on, then off"."""
    lines = []
    for fact in FACTS:
        pair = value(before, fact.name), value(after, fact.name)
        if fact.name in PASSING or pair[0] == pair[1] or None in pair:
            continue
        if all(isinstance(side, dict) for side in pair):
            first, second = pair
            lines += [
                f"{fact.name}: {key} {first.get(key, 'none')}, then {second.get(key, 'none')}"
                for key in dict.fromkeys((*first, *second))
                if first.get(key) != second.get(key)
            ]
        else:
            lines.append(f"{fact.name}: {pair[0]}, then {pair[1]}")
    return tuple(one_line(line) for line in lines)


def one_kernel(hosts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return True if two of the hosts share a kernel, so that its CPUs would count twice."""
    ids = [value(facts, "boot_id") for facts in hosts.values()]
    boot_ids = [i for i in ids if i]
    return len(set(boot_ids)) < len(boot_ids)
