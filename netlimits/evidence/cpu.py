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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Scalar

READ = Command(("cat", "/proc/uptime", "/proc/stat"), deadline=10)


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds and ticks since boot: of each CPU, busy and total, in the order of /proc/stat."""

    uptime_s: float
    cpus: tuple[int, ...]
    busy: tuple[int, ...]
    total: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CpuUse:
    """What a machine's CPUs did between two readings.

    `util_pct` of the whole machine, `peak_pct` of the busiest CPU, `busy_s` CPU seconds of all.
    """

    util_pct: float
    peak_pct: float
    peak_cpu: int
    busy_s: float
    count: int


def times(completed: Completed) -> CpuTimes:
    """The counters that READ prints. Raises ToolFailure when it shows none."""
    cpus, busy, total = [], [], []
    uptime, *stat = completed.stdout.splitlines() or [""]
    for line in stat:
        name, _, rest = line.partition(" ")
        if not (name.startswith("cpu") and name[3:].isdigit()):
            continue
        ticks = [int(field) for field in rest.split()[:8]]  # guest times are in user's already
        cpus.append(int(name[3:]))
        total.append(sum(ticks))
        busy.append(sum(ticks) - ticks[3])
    if not cpus:
        raise ToolFailure(f"{completed.host}: /proc/stat shows no CPU")
    return CpuTimes(float(uptime.split()[0]), tuple(cpus), tuple(busy), tuple(total))


def use(before: CpuTimes, after: CpuTimes) -> CpuUse:
    """What was done between two readings. Raises ToolFailure when no time passed or CPUs changed.

    A counter that went back (the kernel corrects idle time now and then) counts as no change.
    """
    if before.cpus != after.cpus:
        raise ToolFailure("CPUs went on- or offline during the run", status="invalid")
    pairs = zip(before.busy, after.busy, strict=True), zip(before.total, after.total, strict=True)
    busy, total = ([max(0, b - a) for a, b in pair] for pair in pairs)
    if not sum(total):
        raise ToolFailure("no CPU time passed between two readings of /proc/stat")
    loads = [min(100.0, 100 * b / t) if t else 0.0 for b, t in zip(busy, total, strict=True)]
    peak = max(range(len(loads)), key=loads.__getitem__)
    util = sum(busy) / sum(total)
    return CpuUse(
        util_pct=100 * util,
        peak_pct=loads[peak],
        peak_cpu=before.cpus[peak],
        busy_s=util * len(loads) * (after.uptime_s - before.uptime_s),
        count=len(loads),
    )


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


def pooled(uses: Sequence[CpuUse]) -> CpuUse:
    """Several machines of one end as one: CPU seconds add up, the busiest CPU is the busiest."""
    busiest = max(uses, key=lambda used: used.peak_pct)
    count = sum(used.count for used in uses)
    return CpuUse(
        util_pct=sum(used.util_pct * used.count for used in uses) / count,
        peak_pct=busiest.peak_pct,
        peak_cpu=busiest.peak_cpu,
        busy_s=sum(used.busy_s for used in uses),
        count=count,
    )
