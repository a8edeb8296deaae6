"""The checks before a campaign. Each is one small file and one line in a table below."""

from __future__ import annotations

from netlimits.checks._base import Check, Finding, Severity, Site, error
from netlimits.checks.clock import Clock
from netlimits.checks.congestion import Congestion
from netlimits.checks.cpus import Cpus
from netlimits.checks.disk import Disk
from netlimits.checks.drops import Drops
from netlimits.checks.family import Families
from netlimits.checks.fragments import Fragments
from netlimits.checks.irqbalance import Irqbalance
from netlimits.checks.kernel import Kernels
from netlimits.checks.link import Links
from netlimits.checks.memory import Memory
from netlimits.checks.path_mtu import PathMtu
from netlimits.checks.pcie import Pcie
from netlimits.checks.profile import Profiles
from netlimits.checks.qdiscs import Qdiscs
from netlimits.checks.sampler import Sampler
from netlimits.checks.sudo import Sudo
from netlimits.checks.trace import Traces

CHECKS: tuple[Check, ...] = (
    Links(),
    Families(),
    Fragments(),
    Sudo(),
    Qdiscs(),
    Kernels(),
    Congestion(),
    Clock(),
    Cpus(),
    Irqbalance(),
    Pcie(),
    Disk(),
    Memory(),
    Traces(),
    Profiles(),
    Sampler(),
    Drops(),
)
"""In the order of findings; no check disturbs another."""

AFTERWARDS: tuple[Check, ...] = (PathMtu(),)
"""Checks that run after the tools' trials, from which the kernel learns the MTU of the path."""

__all__ = ["AFTERWARDS", "CHECKS", "Check", "Finding", "Severity", "Site", "error"]
