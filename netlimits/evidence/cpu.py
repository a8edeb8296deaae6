"""CPU utilization and service demand from /proc/stat, for every tool by the same rule.

A CPU's time is wall − Δidle − Δiowait and not the sum of its busy ticks: ticks are samples, and
traffic paced by a timer can hide between them (25 µs/KiB of work showed as 8), while tickless
kernels measure idle time. The wall time is by the host's clock, else by /proc/uptime (10 ms).

netperf's own formula (netlib.c's calc_service_demand: by ticks, iowait is busy) has columns with
`ticks` in their names: the mean of the CPUs' shares. Ticks that the kernel misses were busy ones;
for each CPU, 1 - util = (1 - util by ticks) x (1 - lost share).
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

HZ = 100
"""Ticks per second in /proc/stat, whatever the kernel's own timer: USER_HZ."""

CLOCK_S = 0.05
"""Seconds by which the clock may differ from the uptime, which is truncated to 10 ms."""

IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL = 3, 4, 5, 6, 7
"""Columns of a CPU's line in /proc/stat, after `user nice system`."""


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """A reading of /proc/stat: each CPU's ticks since boot; `clock_s` is None without fractions."""

    uptime_s: float
    cpus: tuple[int, ...]
    ticks: tuple[tuple[int, ...], ...]
    clock_s: float | None = None
    host: str = ""


@dataclass(frozen=True, slots=True)
class CpuUse:
    """The CPU use of one or several machines between two readings.

    Attributes:
        util_pct: Of the whole machine, without the sampler.
        peak_pct: Of the busiest CPU.
        busy_s: CPU seconds of all CPUs, without the sampler, in `seconds`.
        irq_pct: Share of ticks; so are `softirq_pct` and `steal_pct`.
        peak_softirq_pct: Share of ticks of the CPU with the most softirq, `peak_softirq_cpu`.
        ticks_pct: netperf's busy time: all ticks but idle; in seconds `ticks_s`.
        own_pct: What the sampler used.
        lost_ticks_pct: Share of the time that no tick counts.
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
    """Parse the counters that READ prints. Raises ToolFailure if there are none."""
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
        fields = rest.split()[:8]  # guest times are in user's already
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
    """Return seconds between two readings, by the clock unless it was set meanwhile."""
    uptime = after.uptime_s - before.uptime_s
    if before.clock_s is None or after.clock_s is None:
        return uptime
    clock = after.clock_s - before.clock_s
    return clock if abs(clock - uptime) <= CLOCK_S else uptime


def went(before: Collection[int], after: Collection[int]) -> str:
    """Return which CPUs went offline and online: "CPU 3 went offline"."""
    changes = (("offline", {*before} - {*after}), ("online", {*after} - {*before}))
    return "; ".join(
        f"CPU {', '.join(map(str, sorted(cpus)))} went {how}" for how, cpus in changes if cpus
    )


def use(before: CpuTimes, after: CpuTimes, *, own_s: float = 0.0) -> CpuUse:
    """Return the CPU use between two readings, without `own_s` seconds of the sampler."""
    if before.cpus != after.cpus:
        raise ToolFailure(
            f"{before.host}: {went(before.cpus, after.cpus)} during the run", status="invalid"
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
    """Return the CPU use of several machines as if they were one; their CPUs weight percentages."""
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
    """Return µs of CPU for each unit (KiB or transaction) done in the same window."""
    return busy_s * 1e6 / units


def figures(end: str, used: CpuUse, work: Work | None) -> dict[str, Scalar]:
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
