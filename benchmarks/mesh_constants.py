"""How the constants of a mesh's dispatch change the time of simulated meshes.

Each constant of `netlimits/experiment/mesh/` gets half its value and twice its value, while the
others keep theirs. Each value is measured with the same meshes, whose runs have lengths from fixed
seeds.

    .venv/bin/python benchmarks/mesh_constants.py [--constant NAME] [--factors 0.5 2] [--all]

Prints the time of the meshes relative to the value in the code: the mean over all meshes, and the
meshes with the largest loss and gain. `looked at` is the change of the number of jobs that the
dispatch looks at, a measure of its CPU time; `held` is the largest change of the number of jobs in
memory. The last lines are the error of the estimated time of a mesh, by the number of runs that it
is estimated from (`SAMPLE`). `--all` prints every mesh that a value changes.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

from netlimits.campaign.mesh import schedule
from netlimits.experiment.mesh import dispatch, lengths, pairs, rounds, waiting
from netlimits.experiment.mesh.workload import Job, bound

CONSTANTS: tuple[tuple[ModuleType, str], ...] = (
    (waiting, "ALIKE"),
    (waiting, "ALL_ALIKE"),
    (waiting, "CLOSE"),
    (waiting, "WORTH"),
    (waiting, "WHOLE"),
    (waiting, "BROKEN"),
    (waiting, "LEARNED"),
    (lengths, "ALIKE"),
    (lengths, "MOST"),
    (dispatch, "LOOK"),
    (dispatch, "MOST_LOOK"),
    (dispatch, "HELD"),
)

FAILED = 5.0
"""Second after which hosts that become unreachable fail at the end of a run."""


class _Counted(dict[int, Job]):
    """The jobs of a dispatch; counts how often one is looked at."""

    looked_at = 0

    def __getitem__(self, number: int) -> Job:
        self.looked_at += 1
        return super().__getitem__(number)


class Measured(NamedTuple):
    """The time of a mesh over its lower bound, jobs looked at, and most jobs in memory."""

    time: float
    looked_at: int
    held: int


@dataclass(frozen=True)
class Situation:
    """A mesh: its pairs, `times` each, in an order of rounds for each length of `planned` seconds.

    A run's length differs from the planned one by `spread` (of the logarithm), and is `more`
    seconds longer. The share `odd` of the runs takes `factor` times as long, as do the first `cold`
    runs and the runs of the first `slow` hosts. `share` of the runs is left in a resumed mesh. The
    first `lost` hosts are lost from the start. The next `away` hosts are unreachable until the
    second `back`, and then lost if they `gives_up`. Only the first `runs` runs count.
    """

    name: str
    hosts: int
    times: int = 1
    spread: float = 0.0
    planned: tuple[float, ...] = (1.0,)
    shape: str | list[list[int]] = "all"
    more: float = 0.0
    racks: int = 0
    at_once: int = 0
    odd: float = 0.0
    factor: float = 1.0
    cold: int = 0
    slow: int = 0
    lost: int = 0
    away: int = 0
    back: float = 0.0
    gives_up: bool = False
    runs: int | None = None
    share: float = 1.0
    seeds: int = 6

    @property
    def groups(self) -> dict[str, str] | None:
        names = enumerate(pairs.names(self.hosts))
        return {host: f"rack{n % self.racks}" for n, host in names} if self.racks else None

    def jobs(self, chance: random.Random) -> list[Job]:
        """Return the runs in the order of their rounds, with their planned lengths."""
        shape = pairs.mesh({"hosts": self.hosts, "pairs": self.shape}).pairs
        jobs = []
        for _ in range(self.times):
            parted = [(s, r) for s in self.planned for r in rounds.matchings(shape, chance.random)]
            chance.shuffle(parted)
            jobs += [Job(shape[n], seconds) for seconds, chosen in parted for n in chosen]
        return [job for job in jobs[: self.runs] if self.share == 1 or chance.random() < self.share]

    def lengths(self, jobs: Sequence[Job], chance: random.Random) -> list[float]:
        """Return the seconds that the runs take."""
        slow = {*pairs.names(self.hosts)[: self.slow]}
        taken = []
        for number, job in enumerate(jobs):
            seconds = (job.seconds + self.more) * chance.lognormvariate(0, self.spread)
            if chance.random() < self.odd or number < self.cold or slow & {*job.hosts}:
                seconds *= self.factor
            taken.append(seconds)
        return taken

    def measure(self, seed: int) -> Measured:
        """Simulate the mesh."""
        chance = random.Random(seed)
        jobs = self.jobs(chance)
        taken = self.lengths(jobs, chance)
        going = dispatch.Dispatch(jobs, self.groups, self.at_once)
        going.jobs = counted = _Counted(going.jobs)
        took, held = self._carry_out(going, jobs, taken)
        return Measured(took / self._bound(jobs, taken), counted.looked_at, held)

    def _bound(self, jobs: Sequence[Job], taken: Sequence[float]) -> float:
        names = pairs.names(self.hosts)
        away = {*names[self.lost : self.lost + self.away]}
        gone = {*names[: self.lost], *(away if self.gives_up else ())}
        left = [(j, s) for j, s in zip(jobs, taken, strict=True) if not gone & {*j.hosts}]
        least = bound((Job(j.hosts, s) for j, s in left), self.groups, self.at_once)
        for host in away - gone:
            least = max(least, self.back - FAILED + sum(s for j, s in left if host in j.hosts))
        return least

    def _carry_out(
        self, going: dispatch.Dispatch, jobs: Sequence[Job], taken: Sequence[float]
    ) -> tuple[float, int]:
        """Return the seconds until the last run ends, and the most jobs in memory."""
        names = pairs.names(self.hosts)
        for host in names[: self.lost]:
            going.lose(host)
        to_fail = {*names[self.lost : self.lost + self.away]}
        away: set[str] = set()
        ends: list[tuple[float, int]] = []
        now, held = 0.0, 0
        while True:
            for number in going.ready(now):
                heapq.heappush(ends, (now + taken[number], number))
            held = max(held, len(going.jobs))
            if not ends and not away:
                return now, held
            if away and (not ends or self.back <= ends[0][0]):
                now = max(now, self.back)
                for host in sorted(away):
                    (going.lose if self.gives_up else going.back)(host)
                away.clear()
                continue
            now, number = heapq.heappop(ends)
            failed = sorted(to_fail & {*jobs[number].hosts}) if now >= FAILED else []
            to_fail -= {*failed}
            away |= {*failed}
            going.over(number, now, unreachable=failed, repeat=bool(failed))


def some_pairs(hosts: int, count: int) -> list[list[int]]:
    """Return `count` of all pairs of the hosts, chosen at random."""
    every = [[a, b] for a in range(1, hosts + 1) for b in range(a + 1, hosts + 1)]
    return sorted(random.Random(9).sample(every, count))


HUB = [[1, n] for n in range(2, 22)] + [[n, n + 1] for n in range(2, 21)]
"""Pairs of one host with all others, and of each other host with the next."""

ANY = tuple(round(0.5 + 0.5 * n, 1) for n in range(1, 20))
"""Planned seconds from 1 to 10."""

SITUATIONS = (
    Situation("6 hosts, 5 %", 6, 1, 0.05, seeds=20),
    Situation("6 hosts, 20 %", 6, 3, 0.2, seeds=20),
    Situation("7 hosts, 10 %", 7, 3, 0.1, seeds=20),
    Situation("10 hosts, 5 %", 10, 1, 0.05, seeds=20),
    Situation("10 hosts, 10 %", 10, 2, 0.1, seeds=20),
    Situation("10 hosts 3 times, 20 %", 10, 3, 0.2, seeds=10),
    Situation("15 hosts, 10 %", 15, 1, 0.1, seeds=10),
    Situation("16 hosts, 3 %", 16, 3, 0.03),
    Situation("16 hosts, 7 %", 16, 1, 0.07, seeds=10),
    Situation("16 hosts, 15 %", 16, 1, 0.15, seeds=10),
    Situation("16 hosts 20 times, 2 %", 16, 20, 0.02, seeds=2),
    Situation("16 hosts 20 times, 5 %", 16, 20, 0.05, seeds=2),
    Situation("6 hosts 60 times, 3 %", 6, 60, 0.03),
    Situation("6 hosts 60 times, 8 %", 6, 60, 0.08),
    Situation("6 hosts 60 times, 15 %", 6, 60, 0.15),
    Situation("6 hosts 16 times, 20 %", 6, 16, 0.2, seeds=10),
    Situation("10 hosts 16 times, 15 %", 10, 16, 0.15),
    Situation("10 hosts 60 times, 4 %", 10, 60, 0.04, seeds=2),
    Situation("10 hosts 60 times, 7 %", 10, 60, 0.07, seeds=2),
    Situation("15 hosts 20 times, 1.5 %", 15, 20, 0.015, seeds=2),
    Situation("15 hosts 20 times, 3 %", 15, 20, 0.03, seeds=2),
    Situation("40 hosts 12 times, 2 %", 40, 12, 0.02, seeds=1),
    Situation("40 hosts 12 times, 4 %", 40, 12, 0.04, seeds=1),
    Situation("40 hosts, 4 %", 40, 1, 0.04),
    Situation("40 hosts, 7 %", 40, 1, 0.07),
    Situation("40 hosts, 20 %", 40, 1, 0.2),
    Situation("40 hosts 3 times, 3 %", 40, 3, 0.03, seeds=2),
    Situation("40 hosts 3 times, 10 %", 40, 3, 0.1, seeds=2),
    Situation("64 hosts, 5 %", 64, 1, 0.05, seeds=2),
    Situation("150 hosts, 10 %", 150, 1, 0.1, seeds=1),
    Situation("all runs 1.4 times as long, 16 hosts", 16, 1, 0.05, more=0.4),
    Situation("2, 5 and 10 s, 10 hosts", 10, 3, 0.02, (2, 5, 10)),
    Situation("2, 5 and 10 s, 40 hosts", 40, 1, 0.02, (2, 5, 10), seeds=2),
    Situation("2, 5 and 10 s and 1 s each, 16 hosts", 16, 1, 0.03, (2, 5, 10), more=1),
    Situation("1 to 10 s, 8 hosts", 8, 1, 0.02, planned=ANY),
    Situation("1 to 10 s and 2 s each, 12 hosts", 12, 1, 0.02, planned=ANY, more=2, seeds=2),
    Situation("1 and 10 s, 24 hosts", 24, 2, 0.02, planned=(1, 10)),
    Situation("16 hosts in 4 racks", 16, 2, 0.05, racks=4),
    Situation("24 hosts in 3 racks", 24, 2, 0.05, racks=3, seeds=12),
    Situation("20 hosts in 5 racks, 20 %", 20, 2, 0.2, racks=5),
    Situation("12 hosts in 4 racks, 2 %", 12, 3, 0.02, racks=4),
    Situation("12 hosts in 4 racks, 10 %", 12, 3, 0.1, racks=4),
    Situation("30 hosts in 3 racks, 2 %", 30, 1, 0.02, racks=3, seeds=12),
    Situation("32 hosts in 16 racks", 32, 1, 0.03, racks=16),
    Situation("200 hosts in 10 racks", 200, 1, 0.02, racks=10, runs=3000, seeds=1),
    Situation("600 hosts in 25 racks", 600, 1, 0.02, racks=25, runs=4000, seeds=1),
    Situation("24 hosts, 4 pairs at once", 24, 1, 0.05, at_once=4),
    Situation("40 hosts, 15 pairs at once", 40, 1, 0.1, at_once=15, seeds=2),
    Situation("400 hosts, 20 pairs at once", 400, 1, 0.1, at_once=20, runs=3000, seeds=1),
    Situation("2, 5 and 10 s, 9 hosts", 9, 2, 0.02, (2, 5, 10)),
    Situation("2, 5 and 10 s, 80 pairs of 24 hosts", 24, 1, 0.02, (2, 5, 10), some_pairs(24, 80)),
    Situation("ring of 40", 40, 20, 0.05, shape="ring", seeds=2),
    Situation("ring of 5", 5, 40, 0.05, shape="ring", seeds=10),
    Situation("ring of 9, 15 %", 9, 10, 0.15, shape="ring"),
    Situation("bipartite, 20 hosts", 20, 3, 0.05, shape="bipartite"),
    Situation("100 pairs of 30 hosts", 30, 3, 0.05, shape=some_pairs(30, 100)),
    Situation("a host in half the pairs", 21, 3, 0.05, shape=HUB),
    Situation("resumed, 20 % left, 24 hosts, 5 %", 24, 3, 0.05, share=0.2),
    Situation("resumed, 80 % left, 10 hosts, 5 %", 10, 3, 0.05, share=0.8, seeds=10),
    Situation("resumed, 98 % left, 16 hosts, 3 %", 16, 2, 0.03, share=0.98, seeds=10),
    Situation("5 lengths and 1 s each, 12 hosts", 12, 1, 0.02, (1, 1.2, 1.5, 2, 3), more=1),
    Situation("resumed, 95 % left, 2, 5 and 10 s", 12, 2, 0.02, (2, 5, 10), share=0.95, seeds=12),
    Situation("1 of 150 hosts lost", 150, 1, 0.02, lost=1, seeds=1),
    Situation("4 of 16 hosts lost", 16, 4, 0.02, lost=4),
    Situation("3 of 10 hosts lost", 10, 3, 0.05, lost=3, seeds=10),
    Situation("2 of 16 hosts away for 20 runs", 16, 4, 0.03, away=2, back=25),
    Situation("1 of 6 hosts away for 500 runs", 6, 200, 0.02, away=1, back=505, seeds=2),
    Situation(
        "3 of 6 hosts away for 500 runs, then lost",
        6,
        200,
        0.02,
        (1,),
        away=3,
        back=505,
        gives_up=True,
        seeds=2,
    ),
    Situation("a run in 200 hangs, 16 hosts", 16, 3, 0.02, odd=0.005, factor=20),
    Situation(
        "a run in 20 takes twice as long, 16 hosts", 16, 3, 0.02, odd=0.05, factor=2, seeds=20
    ),
    Situation("a run in 20 fails at once, 16 hosts", 16, 3, 0.02, odd=0.05, factor=0.05),
    Situation("the first 8 runs take twice as long", 16, 3, 0.02, cold=8, factor=2, seeds=10),
    Situation("a host is 1.5 times slower, 10 hosts", 10, 3, 0.02, slow=1, factor=1.5, seeds=10),
    Situation("a run in 1,000 takes 3 times as long, 8 hosts", 8, 40, 0.003, odd=0.001, factor=3),
    Situation("3 of 12 hosts are twice as slow", 12, 100, 0.1, slow=3, factor=2, seeds=1),
)


SAMPLED = (
    Situation("40 hosts", 40, 30, planned=(2, 5, 10)),
    Situation("200 hosts", 200, 2),
    Situation("200 hosts in 20 racks", 200, 1, racks=20),
    Situation("100 hosts, 20 pairs at once", 100, 8, at_once=20),
    Situation("ring of 40", 40, 800, shape="ring"),
    Situation("40 hosts, resumed with half of the runs", 40, 50, share=0.5),
)


def measured() -> Iterator[tuple[str, Measured]]:
    """Yield each situation's name and the means of what was measured."""
    for each in SITUATIONS:
        shares, looked_at, held = zip(*map(each.measure, range(each.seeds)), strict=True)
        yield each.name, Measured(statistics.mean(shares), sum(looked_at), max(held))


def differ(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return the differences in percent."""
    return [100 * (new / old - 1) for old, new in zip(before, after, strict=True)]


def constants(only: Sequence[str], factors: Sequence[float], *, every: bool) -> None:
    """Print the table of constants."""
    names, before = zip(*measured(), strict=True)
    over = [100 * (one.time - 1) for one in before]
    print(f"{len(names)} meshes: {statistics.mean(over):.1f} % over the lower bound on average,")
    print(f"the longest {max(over):.1f} %, {sum(one.looked_at for one in before):,} jobs looked at")
    if every:
        for name, share, one in zip(names, over, before, strict=True):
            print(f"  {name}: {share:.1f} %, {one.looked_at:,} looked at, {one.held} held")
    print("\n| constant | value | mean | longest | shortest | looked at | held |")
    print("|---|---|---|---|---|---|---|")
    for module, name in CONSTANTS:
        label = f"{module.__name__.rpartition('.')[2]}.{name}"
        if only and label not in only:
            continue
        is_now = getattr(module, name)
        for factor in factors:
            # ALIKE is a factor itself, and a number of jobs is a whole number
            value = is_now**factor if module is lengths and name == "ALIKE" else is_now * factor
            setattr(module, name, int(value) if isinstance(is_now, int) else value)
            _, after = zip(*measured(), strict=True)
            setattr(module, name, is_now)
            times, _, held = map(differ, zip(*before, strict=True), zip(*after, strict=True))
            at = sorted(zip(times, names, strict=True))
            cells = [f"× {factor:g}", f"{statistics.mean(times):+.2f} %"]
            cells += [f"{change:+.1f} %: {where}" for change, where in (at[-1], at[0])]
            cells[2] = cells[2] if at[-1][0] > 0.05 else "same"
            cells[3] = cells[3] if at[0][0] < -0.05 else "same"
            looked = 100 * (sum(a.looked_at for a in after) / sum(b.looked_at for b in before) - 1)
            cells += [f"{looked:+.0f} %", f"{max(held, key=abs):+.0f} %"]
            print(f"| `{label}` ({is_now})", *cells, "", sep=" | ", flush=True)
            for change, where in at if every else ():
                if abs(change) > 0.05:
                    print(f"    {change:+.1f} % {where}")


def sample() -> None:
    """Print how good the estimate of a mesh's time is, by the number of runs that it looks at."""
    sizes = [schedule.SAMPLE // 10, schedule.SAMPLE // 2, schedule.SAMPLE, 2 * schedule.SAMPLE]
    errors, seconds = dict.fromkeys(sizes, 0.0), dict.fromkeys(sizes, 0.0)
    for each in SAMPLED:
        jobs = each.jobs(random.Random(1))
        whole = _share(jobs, each)
        for size in sizes:
            began = time.process_time()
            error = abs(100 * (_share(jobs[:size], each) / whole - 1))
            seconds[size] = max(seconds[size], time.process_time() - began)
            errors[size] = max(errors[size], error)
    print()
    for size in sizes:
        wrong, took = f"up to {errors[size]:.1f} % wrong", f"up to {seconds[size]:.1f} s"
        print(f"estimated from {size:,} runs: {wrong}, takes {took} of CPU time")


def _share(jobs: Sequence[Job], situation: Situation) -> float:
    took = dispatch.makespan(jobs, situation.groups, situation.at_once)
    return took / sum(job.seconds for job in jobs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--constant", nargs="*", default=[], help="only these: waiting.WHOLE ...")
    parser.add_argument("--factors", type=float, nargs="*", default=[0.5, 2.0])
    parser.add_argument("--all", action="store_true", help="print every mesh that a value changes")
    asked = parser.parse_args()
    constants(asked.constant, asked.factors, every=asked.all)
    if not asked.constant:
        sample()


if __name__ == "__main__":
    main()
