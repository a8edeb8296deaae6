"""What a run cost here: this process, and how busy the machine that it runs on was.

A controller that is busy is late with what it does around a run, never with the run itself; but
where it is a test host too, what it takes is in that host's CPU. So each run says it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import psutil

from netlimits.archive.raw import CONTROLLER, RawEntry
from netlimits.model import Command, Completed, Scalar, decoding


class _Reading(msgspec.Struct):
    """What `Controller.entry` prints."""

    seconds: float
    cpu_s: float
    idle_s: float
    cpus: int
    memory_bytes: int


class Controller:
    """This process and its machine, from when it is made until it is read."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._begin = self._times()

    def entry(self) -> RawEntry:
        """What both used since then, as an entry of raw output.

        Seconds of the clock, of the process and of idle CPUs, the number of CPUs, and the memory
        that the process holds.
        """
        seconds, cpu, idle = (
            round(now - then, 6) for now, then in zip(self._times(), self._begin, strict=True)
        )
        cpus, memory = psutil.cpu_count() or 1, self._process.memory_info().rss
        printed = msgspec.json.encode(_Reading(seconds, cpu, idle, cpus, memory)).decode()
        command = Command(("netlimits",))
        return RawEntry(CONTROLLER, Completed("", command, 0, f"{printed}\n", "", seconds))

    def _times(self) -> tuple[float, float, float]:
        mine, machine = self._process.cpu_times(), psutil.cpu_times()
        idle = machine.idle + getattr(machine, "iowait", 0.0)
        return time.monotonic(), mine.user + mine.system, idle


def figures(entries: Sequence[RawEntry]) -> dict[str, Scalar]:
    """`controller_cpu_pct` of one CPU, `controller_memory_mib`, `controller_busy_pct` of all CPUs.

    The last is wall − idle, as a host's CPU is; a run of an older netlimits has none of them.
    """
    for entry in entries:
        if entry.step == CONTROLLER:
            return _figures(entry.stdout)
    return {}


def _figures(printed: str) -> dict[str, Scalar]:
    try:
        reading = decoding.typed(printed, _Reading)
    except ValueError:
        return {}
    if not (reading.seconds > 0 and reading.cpus > 0):
        return {}
    idle = reading.idle_s / (reading.seconds * reading.cpus)
    return {
        "controller_cpu_pct": 100 * reading.cpu_s / reading.seconds,
        "controller_memory_mib": reading.memory_bytes / 2**20,
        "controller_busy_pct": 100 * max(0.0, 1 - idle),
    }
