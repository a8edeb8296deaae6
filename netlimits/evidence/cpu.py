"""CPU utilization and service demand from /proc/stat, by the same rule for every tool.

A CPU's busy time is wall − Δidle − Δiowait, not the sum of its busy ticks. Busy ticks are samples,
and work that a timer starts can fall between them (25 µs/KiB of work showed as 8). Idle time is
measured, because kernels are tickless when idle. Wall time is taken from the host's clock, or from
/proc/uptime (10 ms) if the clock is not usable.

Columns with `ticks` in their names follow netperf's own formula (calc_service_demand of netlib.c).
It counts ticks, takes iowait as busy, and averages the shares of the CPUs. The kernel misses only
busy ticks. So for each CPU without iowait: 1 - util = (1 - util by ticks) x (1 - lost share).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from netlimits.errors import ToolFailure
from netlimits.model import Command, Completed, Scalar, Work

SCRIPT = "date +%s.%N; cat /proc/uptime /proc/stat; date +%s.%N"
PERL = """
my $clock = sub { printf "%.9f\\n", Time::HiRes::time() };
$clock->();
for my $path ("/proc/uptime", "/proc/stat") {
    open(my $file, "<", $path) or print(STDERR "cat: $path: $!\\n"), next;
    print <$file>;
}
$clock->();
0;
"""
READ = Command(("sh", "-c", SCRIPT), deadline=10, perl=PERL)
"""Command that prints /proc/uptime and /proc/stat, with the clock before and after them."""

HZ = 100
"""Ticks per second in /proc/stat (USER_HZ), whatever the kernel's own timer."""

CLOCK_S = 0.05
"""Maximum difference in seconds between the wall times by the clock and by the uptime. A larger
difference means that the clock was set. A smaller one is normal: the uptime is truncated to 10
ms."""

IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL = 3, 4, 5, 6, 7
"""Columns of a CPU's line in /proc/stat, counted from 0; before them come user, nice and system."""


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """A reading of /proc/stat: for each CPU its ticks since boot, in the order of the columns.

    `clock_s` is the time of the reading; None if the host's `date` prints no fractions.
    """

    uptime_s: float
    cpus: tuple[int, ...]
    ticks: tuple[tuple[int, ...], ...]
    clock_s: float | None = None
    host: str = ""


@dataclass(frozen=True, slots=True)
class CpuUse:
    """The CPU use of one or several machines between two readings.

    Attributes:
        util_pct: CPU use of the whole machine, without the sampler.
        peak_pct: CPU use of the busiest CPU, `peak_cpu`.
        busy_s: CPU seconds used on all CPUs during `seconds`, without the sampler.
        count: Number of CPUs.
        irq_pct: Share of ticks that interrupts used, as the mean of all CPUs. `softirq_pct` and
            `steal_pct` are defined in the same way.
        peak_softirq_pct: Share of ticks that softirq used on the CPU with the largest share, which
            is `peak_softirq_cpu`.
        ticks_pct: CPU use of the whole machine by netperf's formula.
        ticks_s: The same use in CPU seconds.
        own_pct: CPU use of the sampler, as a share of the whole machine.
        lost_ticks_pct: Share of the wall time for which the kernel counted no tick.
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
    ticks_pct: float = 0.0
    ticks_s: float = 0.0
    peak_softirq_cpu: int = 0
    seconds: float = 0.0
    own_pct: float = 0.0
    lost_ticks_pct: float = 0.0


_CLOCK = re.compile(r"[0-9]{9,12}\.[0-9]{9}")
_UPTIME = re.compile(r"[0-9]{1,15}\.[0-9]{1,8}")
_CPU, _TICKS = re.compile("cpu[0-9]{1,6}"), re.compile("[0-9]{1,20}")


def times(completed: Completed) -> CpuTimes:
    """Parse the output of READ. Raises ToolFailure if it is incomplete."""
    cpus, ticks, clock = [], [], []
    uptime = ""
    for line in completed.stdout.splitlines():
        name, _, rest = line.partition(" ")
        if _CLOCK.fullmatch(line):
            clock.append(float(line))
        elif _UPTIME.fullmatch(name):
            uptime = uptime or name
        if not _CPU.fullmatch(name):
            continue
        fields = rest.split()[:8]  # later columns are guest times, which user time includes
        if len(fields) < 8 or not all(map(_TICKS.fullmatch, fields)):
            raise ToolFailure(f"{completed.host}: /proc/stat is incomplete: {line[:80]!r}")
        cpus.append(int(name[3:]))
        ticks.append(tuple(map(int, fields)))
    if not cpus:
        raise ToolFailure(f"{completed.host}: /proc/stat shows no CPU")
    if not uptime:
        raise ToolFailure(f"{completed.host}: no /proc/uptime: {completed.stdout[:80]!r}")
    middle = sum(clock) / 2 if len(clock) == 2 else None
    return CpuTimes(float(uptime), tuple(cpus), tuple(ticks), middle, completed.host)


def wall(before: CpuTimes, after: CpuTimes) -> float:
    """Return the seconds between two readings by the clock; by the uptime if the clock was set."""
    uptime = after.uptime_s - before.uptime_s
    if before.clock_s is None or after.clock_s is None:
        return uptime
    clock = after.clock_s - before.clock_s
    return clock if abs(clock - uptime) <= CLOCK_S else uptime


def hotplugged(before: Collection[int], after: Collection[int]) -> str:
    """Describe which CPUs went offline or online, such as "CPU 3 went offline"."""
    changes = (("offline", {*before} - {*after}), ("online", {*after} - {*before}))
    return "; ".join(
        f"CPU {', '.join(map(str, sorted(cpus)))} went {how}" for how, cpus in changes if cpus
    )


def use(before: CpuTimes, after: CpuTimes, *, own_s: float = 0.0) -> CpuUse:
    """Return the CPU use between two readings, without the sampler's `own_s` CPU seconds.

    Raises ToolFailure if CPUs went offline or online, or if no time passed.
    """
    if before.cpus != after.cpus:
        raise ToolFailure(
            f"{before.host}: {hotplugged(before.cpus, after.cpus)} during the run", status="invalid"
        )
    seconds = wall(before, after)
    if seconds <= 0:
        raise ToolFailure("no time passed between two readings of /proc/stat")
    grown = [
        [max(0, now - then) for then, now in zip(*rows, strict=True)]
        for rows in zip(before.ticks, after.ticks, strict=True)
    ]
    busy = [min(seconds, max(0.0, seconds - (g[IDLE] + g[IOWAIT]) / HZ)) for g in grown]
    count = len(grown)
    peak = max(range(count), key=busy.__getitem__)

    def shares(ticks: Callable[[list[int]], int]) -> list[float]:
        return [100 * ticks(g) / sum(g) if sum(g) else 0.0 for g in grown]

    by_ticks = sum(shares(lambda g: sum(g) - g[IDLE])) / count / 100
    softirq = shares(lambda g: g[SOFTIRQ])
    counted = sum(map(sum, grown)) / HZ / count / seconds
    own_s = min(own_s, sum(busy))
    busy_s = sum(busy) - own_s
    return CpuUse(
        util_pct=100 * busy_s / count / seconds,
        peak_pct=100 * busy[peak] / seconds,
        peak_cpu=before.cpus[peak],
        busy_s=busy_s,
        count=count,
        irq_pct=sum(shares(lambda g: g[IRQ])) / count,
        softirq_pct=sum(softirq) / count,
        steal_pct=sum(shares(lambda g: g[STEAL])) / count,
        peak_softirq_pct=max(softirq),
        peak_softirq_cpu=before.cpus[max(range(count), key=softirq.__getitem__)],
        ticks_pct=100 * by_ticks,
        ticks_s=by_ticks * count * seconds,
        seconds=seconds,
        own_pct=100 * own_s / count / seconds,
        lost_ticks_pct=max(0.0, 100 * (1 - counted)),
    )


def pooled(uses: Sequence[CpuUse]) -> CpuUse:
    """Return the CPU use of several machines as if they were one, each weighted by its CPUs."""
    count = sum(used.count for used in uses)
    peak = max(uses, key=lambda used: used.peak_pct)
    softirqs = max(uses, key=lambda used: used.peak_softirq_pct)
    means = {
        f"{name}_pct": sum(getattr(used, f"{name}_pct") * used.count for used in uses) / count
        for name in ("util", "irq", "softirq", "steal", "ticks", "own", "lost_ticks")
    }
    return CpuUse(
        **means,
        peak_pct=peak.peak_pct,
        peak_cpu=peak.peak_cpu,
        busy_s=sum(used.busy_s for used in uses),
        count=count,
        peak_softirq_pct=softirqs.peak_softirq_pct,
        peak_softirq_cpu=softirqs.peak_softirq_cpu,
        ticks_s=sum(used.ticks_s for used in uses),
        seconds=max(used.seconds for used in uses),
    )


def service_demand(busy_s: float, units: float) -> float:
    """Return the CPU time in µs per unit of work (KiB or transaction)."""
    return busy_s * 1e6 / units


def figures(end: str, used: CpuUse, work: Work | None) -> dict[str, Scalar]:
    """Return the columns of an end: its CPU use and, with `work`, its service demand."""
    columns: dict[str, Scalar] = {
        f"{end}_cpu_pct": used.util_pct,
        f"{end}_cpu_peak_pct": used.peak_pct,
        f"{end}_cpu_peak_cpu": used.peak_cpu,
        f"{end}_cpu_peak_softirq_pct": used.peak_softirq_pct,
        f"{end}_cpu_peak_softirq_cpu": used.peak_softirq_cpu,
        f"{end}_irq_pct": used.irq_pct,
        f"{end}_softirq_pct": used.softirq_pct,
        f"{end}_steal_pct": used.steal_pct,
        f"{end}_cpu_ticks_pct": used.ticks_pct,
        f"{end}_lost_ticks_pct": used.lost_ticks_pct,
    }
    if work is not None and work.units > 0:
        unit = "tran" if work.transactions else "kib"
        columns[f"{end}_sd_us_per_{unit}"] = service_demand(used.busy_s, work.units)
        columns[f"{end}_sd_ticks_us_per_{unit}"] = service_demand(used.ticks_s, work.units)
    return columns
