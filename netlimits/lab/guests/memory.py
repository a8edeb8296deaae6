"""Whether this machine has the memory that a lab's machines will take."""

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
    """Raise LabError if the memory is not enough."""
    needed = hosts * (guest.memory + OVERHEAD)
    available = min(_machine(), _group())
    if needed > available:
        raise LabError(
            f"{hosts} machines of {guest.memory} MiB take {needed} MiB and {available:.0f} MiB are "
            "free: fewer --hosts, or less --memory"
        )


def _machine() -> float:
    """MiB that this machine could give out."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB$", _MEMORY.read_text(), re.MULTILINE)
    return int(match[1]) / 1024 if match else float("inf")


def _group() -> float:
    """MiB that our control groups leave us, a container's say; infinite without a limit."""
    free = float("inf")
    with suppress(OSError, ValueError):
        path = next(p[3:] for p in _OWN_GROUP.read_text().splitlines() if p.startswith("0::"))
        folder = _GROUPS / path.lstrip("/")
        while folder.is_relative_to(_GROUPS):
            with suppress(OSError, ValueError):
                limit = int((folder / "memory.max").read_text())
                used = int((folder / "memory.current").read_text())
                free = min(free, (limit - used) / 2**20)
            folder = folder.parent
    return free
