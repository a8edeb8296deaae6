"""The categories of CPU time in a profile, with their names for people."""

from __future__ import annotations

from collections.abc import Mapping

CATEGORIES: Mapping[str, str] = {
    "copy": "copying data",
    "checksum": "checksums",
    "memory": "memory of packets",
    "tcpip": "TCP/IP",
    "segmentation": "GRO, GSO and TSO",
    "qdisc": "qdisc",
    "driver": "driver and DMA",
    "netfilter": "netfilter and BPF",
    "socket": "sockets and system calls",
    "scheduling": "scheduling and wake-ups",
    "locking": "locks",
    "interrupts": "interrupts and softirq",
    "crypto": "cryptography",
    "program": "the program itself",
    "other": "other",
}

IDLE = "idle"
"""Category for samples of an idle CPU, which do not count in service demand."""
