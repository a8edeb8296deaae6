"""The cost of a run on the controller: this process's CPU and memory, and the use of all CPUs."""

from __future__ import annotations

import math
import time
from dataclasses import astuple

import psutil

from netlimits.model import ControllerCost, Scalar


class Controller:
    """Measures this process and its machine, from the creation of the object until `cost`."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._begin = self._times()

    def cost(self) -> ControllerCost:
        """Return the cost since this object was created."""
        seconds, cpu, idle = (
            round(now - then, 6) for now, then in zip(self._times(), self._begin, strict=True)
        )
        memory = self._process.memory_info().rss
        return ControllerCost(seconds, cpu, idle, psutil.cpu_count() or 1, memory)

    def _times(self) -> tuple[float, float, float]:
        mine, machine = self._process.cpu_times(), psutil.cpu_times()
        idle = machine.idle + getattr(machine, "iowait", 0.0)
        return time.monotonic(), mine.user + mine.system, idle


def controller_figures(cost: ControllerCost | None) -> dict[str, Scalar]:
    """Return the process's CPU use (in % of one CPU), its memory, and the use of all CPUs."""
    if cost is None or not (cost.seconds > 0 and cost.cpus > 0):
        return {}
    if not all(map(math.isfinite, astuple(cost))):
        return {}
    idle = cost.idle_s / (cost.seconds * cost.cpus)
    return {
        "controller_cpu_pct": 100 * cost.cpu_s / cost.seconds,
        "controller_memory_mib": cost.memory_bytes / 2**20,
        "controller_busy_pct": 100 * max(0.0, 1 - idle),
    }
