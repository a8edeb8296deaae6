"""Checks that run before a campaign.

Each check is one module, and one line in CHECKS or AFTERWARDS.
"""

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
"""The checks, in the order in which their findings are listed. No check disturbs another."""

AFTERWARDS: tuple[Check, ...] = (PathMtu(),)
"""Checks that run after the trials of the tools. The kernel learns the path's MTU from trials."""

__all__ = ["AFTERWARDS", "CHECKS", "Check", "Finding", "Severity", "Site", "error"]
