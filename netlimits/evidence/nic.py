"""What the NIC and its driver dropped on reception before the kernel's stack saw it.

The names of `ethtool -S` are each driver's own (`rx_missed_errors`, `rx_queue_0_drops`,
`rx_out_of_buffer`), and many drivers count one packet under several: for the device, for the port
and for the queue. So the names that speak of lost received packets are gathered in groups that
differ by a queue's number alone, each group is added up, and the figure is the largest group: at
least so many packets were lost, and none is counted twice.
"""

from __future__ import annotations

import re

from netlimits.errors import ToolFailure
from netlimits.evidence.difference import growth
from netlimits.model import Command, Completed, Scalar

_LOST = re.compile(
    r"rx.*(drop|discard|miss|overrun|overflow|over_err|fifo_err"
    r"|no_?buf|no_(dma_res|desc|mem)|out_of_buf|oob|alloc_fail)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\s*[0-9]{1,20}\s*")
_ON_PURPOSE = re.compile(r"xdp|filter", re.IGNORECASE)
"""Dropped because somebody asked for it: a program in the driver, an address filter."""


class Nic:
    """Evidence of a ring that ran over: the driver's own counters."""

    name = "nic"

    def read(self, interface: str) -> Command:
        """The driver's counters; needs no root."""
        return Command(("ethtool", "-S", interface), deadline=10)

    def figures(self, before: Completed, after: Completed) -> dict[str, Scalar]:
        """`nic_rx_drops` in packets, at least; nothing where no counter speaks of them.

        A group of which a counter went back is passed over: some drivers start again by themselves.
        """
        first, second = counters(before), counters(after)
        groups: dict[str, int] = {}
        restarted = set()
        for name, value in first.items():
            group = re.sub(r"\d+", "#", name)
            try:
                groups[group] = groups.get(group, 0) + growth(name, value, second[name])
            except (KeyError, ToolFailure):
                restarted.add(group)
        known = [lost for group, lost in groups.items() if group not in restarted]
        return {"nic_rx_drops": max(known)} if known else {}


def counters(completed: Completed) -> dict[str, int]:
    """The counters of lost received packets, under the driver's names."""
    found = {}
    for line in completed.stdout.splitlines():
        name, _, value = line.strip().rpartition(":")
        if _LOST.search(name) and not _ON_PURPOSE.search(name) and _WHOLE.fullmatch(value):
            found[name] = int(value)
    return found
