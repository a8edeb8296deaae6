"""What is looked at before a campaign: each check a small file, in the order of the table."""

from __future__ import annotations

from netlimits.checks.base import Asked, Check, Finding, Site
from netlimits.checks.clock import Clock
from netlimits.checks.cpus import Cpus
from netlimits.checks.disk import Disk
from netlimits.checks.fragments import Fragments
from netlimits.checks.kernel import Kernel
from netlimits.checks.link import Link
from netlimits.checks.path_mtu import PathMtu
from netlimits.checks.qdiscs import Qdiscs
from netlimits.checks.sudo import Sudo
from netlimits.checks.trace import Traces

CHECKS: tuple[Check, ...] = (
    Link(),
    Fragments(),
    Sudo(),
    Qdiscs(),
    Kernel(),
    Clock(),
    Cpus(),
    Disk(),
    Traces(),
)
"""In any order: none of them disturbs another."""

AFTERWARDS: tuple[Check, ...] = (PathMtu(),)
"""After the trial of each tool, whose packets have told the kernel how large they may be."""

__all__ = ["AFTERWARDS", "CHECKS", "Asked", "Check", "Finding", "Site"]
