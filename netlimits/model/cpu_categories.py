"""The categories of CPU time in a profile: what the CPU did."""

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
"""Samples of an idle CPU: no part of a service demand."""
