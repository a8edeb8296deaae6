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
    """Return the MiB that our control groups (such as a container's) allow; infinite if unlimited.

    The page cache counts as free, since the kernel reclaims it first.
    """
    free = float("inf")
    with suppress(OSError):
        for line in _OWN_GROUP.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                free = min(free, _least(_GROUPS, path, _Version2))
            elif "memory" in controllers.split(","):
                free = min(free, _least(_GROUPS / "memory", path, _Version1))
    return free


class _Version2:
    limit, used = "memory.max", "memory.current"
    reclaimable = ("inactive_file", "active_file", "slab_reclaimable")


class _Version1:
    limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
    reclaimable = ("total_inactive_file", "total_active_file")


def _least(root: Path, path: str, names: type[_Version1 | _Version2]) -> float:
    """Return the MiB that a group and its parents allow."""
    free = float("inf")
    folder = root / path.lstrip("/")
    while folder.is_relative_to(root):
        with suppress(OSError, ValueError):
            limit = int((folder / names.limit).read_text())
            used = int((folder / names.used).read_text())
            kept = _reclaimable(folder / "memory.stat", names.reclaimable)
            free = min(free, (limit - max(0, used - kept)) / 2**20)
        folder = folder.parent
    return free


def _reclaimable(stat: Path, names: tuple[str, ...]) -> int:
    """Return the bytes of a group that the kernel can reclaim."""
    try:
        rows = dict(line.split() for line in stat.read_text().splitlines())
        return sum(int(rows.get(name, 0)) for name in names)
    except (OSError, ValueError):
        return 0
