"""Check that this machine has enough memory for a lab's machines."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from netlimits.errors import LabError
from netlimits.lab.guests.qemu import OVERHEAD
from netlimits.lab.layout import Guest

_MEMORY = Path("/proc/meminfo")
_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")


def check(hosts: int, guest: Guest) -> None:
    needed = hosts * (guest.memory + OVERHEAD)
    available = min(_machine(), _group())
    if needed > available:
        raise LabError(
            f"{hosts} machines of {guest.memory} MiB need {needed} MiB and {available:.0f} MiB are "
            "free: use fewer --hosts, or less --memory"
        )


def _machine() -> float:
    match = re.search(r"^MemAvailable:\s+(\d+) kB$", _MEMORY.read_text(), re.MULTILINE)
    return int(match[1]) / 1024 if match else float("inf")


def _group() -> float:
    """Return the MiB that our control group (such as a container's) and its parents allow, or inf.

    The page cache counts as free, since the kernel reclaims it first.
    """
    free = float("inf")
    with suppress(OSError):
        match = re.search(r"^0::/(.*)$", _OWN_GROUP.read_text(), re.MULTILINE)
        folder = _GROUPS / (match[1] if match else "")
        while folder.is_relative_to(_GROUPS):
            with suppress(OSError, ValueError):
                limit = int((folder / "memory.max").read_text())
                used = int((folder / "memory.current").read_text())
                free = min(free, (limit - max(0, used - _reclaimable(folder))) / 2**20)
            folder = folder.parent
    return free


def _reclaimable(group: Path) -> int:
    try:
        rows = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return sum(int(rows.get(name, 0)) for name in _RECLAIMABLE)
    except (OSError, ValueError):
        return 0
