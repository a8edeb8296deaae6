"""Packets that the NIC or its driver dropped before the kernel's stack saw them, and delays.

Many drivers count one packet under several names of `ethtool -S`. Names that differ only in the
number of a queue form a group. A figure is the sum of the group with the largest sum, so no packet
counts twice.
"""

from __future__ import annotations

import re

from netlimits.errors import ToolFailure
from netlimits.evidence.counted._base import growth
from netlimits.model import Command, Completed, Scalar

_PERL = r"""
my (undef, $interface) = @_;
my (@names, @values);
eval {
    my $driver = Kept::driver($interface);
    my $count = @names = Kept::strings($driver, 1);
    my $values = pack "L2 x" . 8 * (2 * $count + 128), 0x1d, $count;
    my $same = $driver->($values) && unpack("x4 L", $values) == $count;
    @values = unpack "x8 Q$count", $values if $same;
};
return Kept::ran(qw(ethtool -S), $interface) unless @names && @values == @names;
print "NIC statistics:\n", map "     $names[$_]: $values[$_]\n", 0 .. $#names;
0;
"""
"""Print the same as `ethtool -S`. If the request to the driver fails, run `ethtool`."""

_LOST = re.compile(
    r"rx.*(drop|discard|miss|overrun|overflow|over_err|fifo_err"
    r"|no_?buf|no_(dma_res|desc|mem)|out_of_buf|oob|alloc_fail|empty_rx_ring)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\s*[0-9]{1,20}\s*")
_ON_PURPOSE = re.compile(r"xdp|filter|steer_missed", re.IGNORECASE)
"""Names of intended drops, by an XDP program or an address filter. mlx5 counts frames for other
hosts on the link as `rx_steer_missed_packets`."""

_KINDS = {
    "nic_rx_drops": _LOST,
    "nic_tx_stops": re.compile(
        r"(tx_queue_stop(ped)?|tx_timeouts?|tx_stop\[\d+\]|^(tx\d+_)?stop(ped|_queue)|^tx\d*_stopped)$"
    ),
    "nic_pauses": re.compile(
        r"^[rt]x_(pause_ctrl_phy|prio\d_pause|pause_frames|flow_control_xo.*)$"
    ),
    "nic_pause_us": re.compile(r"^[rt]x_(global|prio\d)_pause_duration$"),
    "nic_pcie_stalls": re.compile(r"^outbound_pci_(stalled_wr_events|buffer_overflow)$"),
}
_STALLED = "outbound_pci_stalled_wr"
"""mlx5's name for the % of time in which PCIe delayed writes. It is not a counter."""

_NUMBER = re.compile(r"(?<!prio)\d")
_ALLOWANCE = "_allowance_exceeded"
"""Suffix of ENA's counters of packets that AWS queued or dropped because of its limits."""


class Nic:
    name = "nic"

    def read(self, interface: str) -> Command:
        return Command(("ethtool", "-S", interface), deadline=10, perl=_PERL)

    def figures(self, before: Completed, after: Completed) -> dict[str, Scalar]:
        """Return the figures of drops and delays. `nic_rx_drops` is a lower bound in packets."""
        first, second = counters(before), counters(after)
        figures: dict[str, Scalar] = {}
        for figure, pattern in _KINDS.items():
            named = {n: v for n, v in first.items() if pattern.search(n)}
            if counts := _groups(named, second):
                figures[figure] = max(counts.values())
            queues = {n: v for n, v in named.items() if _NUMBER.search(n) and _group(n) in counts}
            if figure == "nic_rx_drops" and queues:
                figures["nic_rx_drops_busiest"] = max(second[n] - v for n, v in queues.items())
        if (share := second.get(_STALLED)) is not None:
            figures["nic_pcie_stalled_pct"] = share
        allowances = {n: v for n, v in first.items() if n.endswith(_ALLOWANCE)}
        if counts := _groups(allowances, second):
            figures["nic_allowance_exceeded"] = sum(counts.values())
        for kind in ("bw", "pps"):
            if own := [count for name, count in counts.items() if name.startswith(kind)]:
                figures[f"nic_{kind}_allowance_exceeded"] = sum(own)
        return figures


def _group(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _groups(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    """Return each group's growth; omit a group if one of its counters was reset or vanished."""
    groups: dict[str, int] = {}
    restarted = set()
    for name, value in first.items():
        group = _group(name)
        try:
            groups[group] = groups.get(group, 0) + growth(name, value, second[name])
        except (KeyError, ToolFailure):
            restarted.add(group)
    return {group: grown for group, grown in groups.items() if group not in restarted}


def counters(completed: Completed) -> dict[str, int]:
    """Return name -> value of the counters of lost or delayed packets in `ethtool -S`."""
    counts = {}
    for line in completed.stdout.splitlines():
        name, _, value = line.strip().rpartition(":")
        counted = (
            name == _STALLED
            or name.endswith(_ALLOWANCE)
            or any(p.search(name) for p in _KINDS.values())
        )
        if counted and not _ON_PURPOSE.search(name) and _WHOLE.fullmatch(value):
            counts[name] = int(value)
    return counts
