"""CPU utilization and service demand from /proc/stat, by netperf's formula, for every tool.

The two counters are read right before and right after the client runs. Utilization is
100 − idle of all CPUs, so that iowait, steal and everybody else's load count as busy, as in
netperf's own figure. Service demand follows netlib.c's calc_service_demand:

    sd [µs/KiB] = cpu_util [%] × 10⁴ × CPUs / (KiB per second)

With the rate taken over the window between the two readings this is the CPU time in the window
over the KiB (1024 bytes) in it, which does not depend on how much longer than the transfer the
window is. The window is the host's own, from /proc/uptime, and not the sum of ticks: a guest loses
ticks while its host has the CPU (an eighth of them on the machines that this was written on), so
that busy ticks alone come out too few. Both ends divide by what was *sent*, as netperf's do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Scalar

READ = Command(("cat", "/proc/uptime", "/proc/stat"), deadline=10)


IDLE, IRQ, SOFTIRQ, STEAL = 3, 5, 6, 7
"""Columns of a CPU's line in /proc/stat, after `user nice system idle iowait`."""


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds since boot, and each CPU's ticks since then: a row of 8 columns of /proc/stat."""

    uptime_s: float
    cpus: tuple[int, ...]
    ticks: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> tuple[int, ...]:
        """Ticks of each CPU."""
        return tuple(map(sum, self.ticks))

    @property
    def busy(self) -> tuple[int, ...]:
        """Ticks of each CPU that were not idle."""
        return tuple(sum(row) - row[IDLE] for row in self.ticks)

    def column(self, index: int) -> tuple[int, ...]:
        """One kind of ticks of each CPU."""
        return tuple(row[index] for row in self.ticks)


@dataclass(frozen=True, slots=True)
class CpuUse:
    """What the CPUs of a machine, or of several, did between two readings.

    `util_pct` of the whole machine, `peak_pct` of the busiest CPU, `busy_s` CPU seconds of all.
    `irq_pct`, `softirq_pct` and `steal_pct` are parts of `util_pct`, `peak_softirq_pct` of
    `peak_pct`.
    """

    util_pct: float
    peak_pct: float
    peak_cpu: int
    busy_s: float
    count: int
    irq_pct: float = 0.0
    softirq_pct: float = 0.0
    steal_pct: float = 0.0
    peak_softirq_pct: float = 0.0


def times(completed: Completed) -> CpuTimes:
    """The counters that READ prints. Raises ToolFailure when it shows none."""
    cpus, ticks = [], []
    uptime, *stat = completed.stdout.splitlines() or [""]
    for line in stat:
        name, _, rest = line.partition(" ")
        if not re.fullmatch("cpu[0-9]{1,6}", name):
            continue
        fields = rest.split()[:8]  # guest times are in user's already
        if len(fields) < 8 or not all(re.fullmatch("[0-9]{1,20}", f) for f in fields):
            raise ToolFailure(f"{completed.host}: /proc/stat is not whole: {line[:80]!r}")
        cpus.append(int(name[3:]))
        ticks.append(tuple(map(int, fields)))
    if not cpus:
        raise ToolFailure(f"{completed.host}: /proc/stat shows no CPU")
    if not re.fullmatch(r"[0-9]{1,15}\.[0-9]+ .*", uptime):
        raise ToolFailure(f"{completed.host}: no /proc/uptime: {uptime[:80]!r}")
    return CpuTimes(float(uptime.split()[0]), tuple(cpus), tuple(ticks))


def use(before: CpuTimes, after: CpuTimes) -> CpuUse:
    """What was done between two readings. Raises ToolFailure when no time passed or CPUs changed.

    A counter that went back (the kernel corrects idle time now and then) counts as no change.
    """
    if before.cpus != after.cpus:
        raise ToolFailure("CPUs went on- or offline during the run", status="invalid")
    busy, total = _more(before.busy, after.busy), _more(before.total, after.total)
    if not sum(total):
        raise ToolFailure("no CPU time passed between two readings of /proc/stat")
    irq, softirq, steal = (
        _more(before.column(kind), after.column(kind)) for kind in (IRQ, SOFTIRQ, STEAL)
    )
    loads = [min(100.0, 100 * b / t) if t else 0.0 for b, t in zip(busy, total, strict=True)]
    peak = max(range(len(loads)), key=loads.__getitem__)
    util = sum(busy) / sum(total)
    return CpuUse(
        util_pct=100 * util,
        peak_pct=loads[peak],
        peak_cpu=before.cpus[peak],
        busy_s=util * len(loads) * (after.uptime_s - before.uptime_s),
        count=len(loads),
        irq_pct=100 * sum(irq) / sum(total),
        softirq_pct=100 * sum(softirq) / sum(total),
        steal_pct=100 * sum(steal) / sum(total),
        peak_softirq_pct=min(100.0, 100 * softirq[peak] / total[peak]) if total[peak] else 0.0,
    )


def pooled(uses: Sequence[CpuUse]) -> CpuUse:
    """Several machines of one end as if they were one.

    CPU seconds and CPUs add up, percentages are weighted by the machines' CPUs, and the busiest
    CPU is the busiest of all (its number is that on its own machine).
    """
    count = sum(used.count for used in uses)
    peak = max(uses, key=lambda used: used.peak_pct)

    def mean(percentages: Sequence[float]) -> float:
        return sum(p * u.count for p, u in zip(percentages, uses, strict=True)) / count

    return CpuUse(
        util_pct=mean([used.util_pct for used in uses]),
        peak_pct=peak.peak_pct,
        peak_cpu=peak.peak_cpu,
        busy_s=sum(used.busy_s for used in uses),
        count=count,
        irq_pct=mean([used.irq_pct for used in uses]),
        softirq_pct=mean([used.softirq_pct for used in uses]),
        steal_pct=mean([used.steal_pct for used in uses]),
        peak_softirq_pct=peak.peak_softirq_pct,
    )


def _more(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """How much each of some counters grew, at least 0."""
    return [max(0, b - a) for a, b in zip(before, after, strict=True)]


def service_demand(busy_s: float, units: float) -> float:
    """µs of CPU for each unit (KiB or transaction): netlib.c's formula over one window."""
    return busy_s * 1e6 / units


def figures(end: str, used: CpuUse, measured: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The columns of one end (`local` or `remote`), from its CPU use and a tool's figures.

    `measured` holds `throughput_mbps` (10⁶ bit/s) or `transaction_rate_tps`, and `elapsed_s`.
    """
    columns: dict[str, Scalar] = {
        f"{end}_cpu_pct": used.util_pct,
        f"{end}_cpu_peak_pct": used.peak_pct,
        f"{end}_cpu_peak_cpu": used.peak_cpu,
        f"{end}_cpu_peak_softirq_pct": used.peak_softirq_pct,
        f"{end}_irq_pct": used.irq_pct,
        f"{end}_softirq_pct": used.softirq_pct,
        f"{end}_steal_pct": used.steal_pct,
    }
    elapsed = float(measured["elapsed_s"] or 0)
    if "throughput_mbps" not in measured:  # request/response: the unit of work is a transaction
        transactions = float(measured["transaction_rate_tps"] or 0) * elapsed
        columns[f"{end}_sd_us_per_tran"] = service_demand(used.busy_s, transactions)
        return columns
    senders = ("local_send_throughput_mbps", "remote_send_throughput_mbps")  # both when both send
    sent = sum(float(measured.get(name) or 0) for name in senders)
    rate = sent or float(measured["throughput_mbps"] or 0)
    kib = rate * 1e6 / 8 / 1024 * elapsed
    columns[f"{end}_sd_us_per_kib"] = service_demand(used.busy_s, kib)
    return columns
