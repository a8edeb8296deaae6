"""What blocks, duets and meshes tell, on data of known truth: the figures of the manual.

    python benchmarks/simulations.py
    python benchmarks/simulations.py 60       # of so many, not 1,000

- Widths: a ratio of two configurations, 20 blocks, a CV of 2 %: how wide its interval is with and
  without blocks, where a machine is 50 % faster in its last quarter and where it is not (medians).
- Duets: ten blocks, a CV of 2 %, the same on both sides and a loss of 5 %, with and without a
  machine that grows 40 % slower meanwhile: the shares that are told.
- Meshes of 8 and 16 hosts without an outlier, of six blocks: the shares with a link and with a host
  named, where all runs differ by 3 %, where a fifth of them is 30 % slower, and where two hosts are
  noisier than the others. Of these a quarter as many.
- Comparisons of what is the same, in ways that the code does not make: sessions that differ,
  autocorrelated runs, a drift, heavy tails, slow runs that time out on one side, slow blocks in
  which runs fail. How many say better or worse, of two sessions, with a bound, with history, as a
  duet.

Seeds are fixed, so that all of it comes out the same. Exit status 1 where more than 5 % of those
that are the same are called better, or worse, give or take three standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import mesh
from netlimits.analysis.comparison import compare, duet
from netlimits.analysis.statistics import contrasts
from netlimits.experiment.mesh.pairs import mesh as shape

COUNT = 1000
FEWER = 4
"""So many times fewer meshes and comparisons, which take longer."""
WRONG = 5.0
"""Percent of comparisons of the same that may be called better, or worse."""
BLOCKS, DUET_BLOCKS = 20, 10
CV, MESH_CV = 0.02, 0.03
MESH_BLOCKS = 6


def widths(chance: np.random.Generator, count: int, faster: float) -> tuple[float, float]:
    """Half of an interval, as a logarithm, without blocks and within them: medians."""
    blocks = np.arange(BLOCKS)
    speed = np.where(blocks >= BLOCKS - BLOCKS // 4, faster, 1.0)
    halves = []
    for _ in range(count):
        top, bottom = (speed * np.exp(CV * chance.standard_normal(BLOCKS)) for _ in range(2))
        ways = contrasts.ratio(top, bottom), contrasts.ratio(top, bottom, (blocks, blocks))
        halves.append([np.log(each.high / each.low) / 2 for each in ways])
    apart, within = np.median(halves, axis=0)
    return float(apart), float(within)


def intervals(chance: np.random.Generator, count: int) -> Iterator[str]:
    """A ratio's interval with and without blocks, and what the difference is worth in runs."""
    for name, faster in (("a drift", 1.5), ("no drift", 1.0)):
        apart, within = widths(chance, count, faster)
        percents = " and ".join(f"±{100 * np.expm1(half):.1f} %" for half in (apart, within))
        yield (
            f"{name}: {percents} without and within blocks; {(apart / within) ** 2:.2f} times the "
            f"runs, {100 * (within / apart - 1):+.0f} % of width"
        )


def blocks_of_two(chance: np.random.Generator, loss: float, slower: float) -> pd.DataFrame:
    """Both sides in each block; the machine loses `slower` of its speed from first to last."""
    return pd.DataFrame(
        [
            {
                "config": side,
                "side": side,
                "block": block,
                "status": "ok",
                "throughput_mbps": 900
                * (1 - loss * (side == "after"))
                * (1 - slower * block / DUET_BLOCKS)
                * np.exp(chance.normal(0, CV)),
            }
            for block in range(1, DUET_BLOCKS + 1)
            for side in ("before", "after")
        ]
    )


def duets(chance: np.random.Generator, count: int) -> Iterator[str]:
    """How many duets say that nothing is better or worse, and how many that something is worse."""
    for slower in (0.0, 0.4):
        for loss in (0.0, 0.05):
            told = [
                duet(blocks_of_two(chance, loss, slower), "throughput")["verdict"].iloc[0]
                for _ in range(count)
            ]
            worse = told.count("worse")
            neither = count - worse - told.count("better")
            yield (
                f"duets, loss {100 * loss:g} %, machine {100 * slower:g} % slower: "
                f"{100 * neither / count:.1f} % neither better nor worse, "
                f"{100 * worse / count:.1f} % worse"
            )


def alike(
    chance: np.random.Generator, hosts: int, blocks: int, slow: float, noisy: int = 0
) -> pd.DataFrame:
    """The runs of a mesh without a slow host or link; a share of runs is 30 % slower.

    Runs of the `noisy` first hosts differ by 20 % more.
    """
    pairs = shape({"hosts": hosts}).pairs
    frame = pd.DataFrame(
        [(*pair, block) for block in range(1, blocks + 1) for pair in pairs],
        columns=["sender", "receiver", "block"],
    )
    noise = np.exp(MESH_CV * chance.standard_normal(len(frame)))
    odd = np.where(chance.random(len(frame)) < slow, 0.7, 1.0)
    names = [f"hosts-{number}" for number in range(1, noisy + 1)]
    theirs = (frame["sender"].isin(names) | frame["receiver"].isin(names)).to_numpy()
    odd = odd * np.exp(0.2 * theirs * chance.standard_t(5, len(frame)))
    return frame.assign(throughput_mbps=900 * noise * odd)


def meshes(chance: np.random.Generator, count: int) -> Iterator[str]:
    """How many meshes without an outlier have one named, and one that has is named."""
    count = max(20, count // FEWER)
    for slow, noisy in ((0.0, 0), (0.2, 0), (0.0, 2)):
        for hosts in (8, 16):
            links = ends = 0
            for _ in range(count):
                frame = alike(chance, hosts, MESH_BLOCKS, slow, noisy)
                named = mesh.outliers(frame, "throughput")
                links += any("→" in name for name in named)
                ends += any("→" not in name for name in named)
            judge(100 * max(links, ends) / count, count)
            yield (
                f"mesh of {hosts} hosts, {100 * slow:g} % of runs slow, {noisy} hosts noisy: "
                f"a link named in {100 * links / count:.1f} %, "
                f"a host in {100 * ends / count:.1f} %"
            )
    yield from _found(chance, count)


def _found(chance: np.random.Generator, count: int) -> Iterator[str]:
    told = 0
    for _ in range(count):
        frame = alike(chance, 8, MESH_BLOCKS, 0.0)
        slow = frame["receiver"] == "hosts-3"
        frame.loc[slow, "throughput_mbps"] *= 0.7
        told += any("hosts-3 as receiver" in name for name in mesh.outliers(frame, "throughput"))
    yield f"mesh of 8 hosts, one 30 % slower as receiver: named in {100 * told / count:.1f} %"


Draw = Callable[[np.random.Generator, int], np.ndarray]


def steady(chance: np.random.Generator, n: int) -> np.ndarray:
    """Logarithms of a session's speeds: runs with heavy tails, a CV of about 2 %."""
    return 0.015 * chance.standard_t(4, n)


def autocorrelated(chance: np.random.Generator, n: int) -> np.ndarray:
    """AR(1) of 0.7: what a run finds lasts for some runs."""
    values = 0.02 * chance.standard_normal(n)
    for place in range(1, n):
        values[place] = 0.7 * values[place - 1] + (1 - 0.7**2) ** 0.5 * values[place]
    return values


def walking(chance: np.random.Generator, n: int) -> np.ndarray:
    """A machine that drifts as it will."""
    return 0.015 * chance.standard_normal(n).cumsum() + steady(chance, n)


def contaminated(chance: np.random.Generator, n: int) -> np.ndarray:
    """A fifth of the runs is 30 % slower."""
    return steady(chance, n) + np.where(chance.random(n) < 0.2, np.log(0.7), 0.0)


def session(
    chance: np.random.Generator, draw: Draw, runs: int, differ: float = 0.0, limit: float = 0.0
) -> pd.DataFrame:
    """One session's campaign; runs below `limit` of the usual speed time out."""
    speed = np.exp(draw(chance, runs) + differ * chance.standard_normal())
    slow = speed < limit
    return pd.DataFrame(
        {
            "run": np.arange(1, runs + 1),
            "status": np.where(slow, "timeout", "ok"),
            "throughput_mbps": np.where(slow, np.nan, 900 * speed),
        }
    )


def history(chance: np.random.Generator, count: int, draw: Draw, differ: float) -> pd.DataFrame:
    """Several sessions as one side."""
    parts = (session(chance, draw, 10, differ).assign(campaign=str(n)) for n in range(count))
    return pd.concat(parts, ignore_index=True)


def of_duet(chance: np.random.Generator, draw: Draw, limit: float, fail: float) -> pd.DataFrame:
    """Both sides in twelve blocks that share what `draw` gives; a share of slow blocks' runs fails.

    Runs of the second side that are slower than `limit` time out.
    """
    shared = draw(chance, 12)
    parts = []
    for number, side in enumerate(("before", "after")):
        speed = np.exp(shared + 0.02 * chance.standard_normal(12))
        lost = (number == 1) & (speed < limit) | (speed < 0.85) & (chance.random(12) < fail)
        part = {"side": side, "block": np.arange(1, 13), "status": np.where(lost, "timeout", "ok")}
        parts.append(pd.DataFrame({**part, "throughput_mbps": np.where(lost, np.nan, 900 * speed)}))
    return pd.concat(parts, ignore_index=True)


def _two(chance: np.random.Generator, runs: int, draw: Draw, **how: Any) -> pd.DataFrame:
    """Compare two sessions; `limit` is that of the second side, or, with `turned`, the first."""
    differ, limit = how.get("differ", 0.0), how.get("limit", 0.0)
    limits = (limit, 0.0) if how.get("turned") else (0.0, limit)
    sides = [session(chance, draw, runs, differ, each) for each in limits]
    return compare(*sides, "throughput", sessions_differ_by=how.get("bound"))


def _several(
    chance: np.random.Generator, before: int, after: int, draw: Draw, differ: float
) -> pd.DataFrame:
    sides = [history(chance, count, draw, differ) for count in (before, after)]
    return compare(*sides, "throughput")


def _duet(chance: np.random.Generator, draw: Draw, limit: float, fail: float) -> pd.DataFrame:
    return duet(of_duet(chance, draw, limit, fail), "throughput")


LIMITS = ((10, contaminated, 0.8), (20, contaminated, 0.8), (20, steady, 0.99))
CASES: tuple[tuple[str, Callable[[np.random.Generator], pd.DataFrame]], ...] = (
    *(
        (
            f"two sessions that differ by 3 %, {runs} runs",
            partial(_two, runs=runs, draw=steady, differ=0.03),
        )
        for runs in (10, 40)
    ),
    ("two autocorrelated sessions, 20 runs", partial(_two, runs=20, draw=autocorrelated)),
    (
        "two sessions that differ by 3 %, bound 8 %",
        partial(_two, runs=10, draw=steady, differ=0.03, bound=0.08),
    ),
    (
        "two autocorrelated sessions, bound 3 %",
        partial(_two, runs=20, draw=autocorrelated, bound=0.03),
    ),
    ("a fifth of the runs slow, bound 3 %", partial(_two, runs=10, draw=contaminated, bound=0.03)),
    (
        "3 and 1 sessions that differ by 3 %",
        partial(_several, before=3, after=1, draw=steady, differ=0.03),
    ),
    (
        "4 and 3 autocorrelated sessions that differ by 3 %",
        partial(_several, before=4, after=3, draw=autocorrelated, differ=0.03),
    ),
    *(
        (
            f"slow runs of {draw.__name__} sessions time out {side}, {runs} runs, bound 0.1 %",
            partial(_two, runs=runs, draw=draw, limit=limit, bound=0.001, turned=side == "before"),
        )
        for side in ("after", "before")
        for runs, draw, limit in LIMITS
    ),
    ("autocorrelated duets", partial(_duet, draw=autocorrelated, limit=0.0, fail=0.0)),
    ("duets, a machine that drifts", partial(_duet, draw=walking, limit=0.0, fail=0.0)),
    (
        "duets, half of the runs in slow blocks fail",
        partial(_duet, draw=contaminated, limit=0.0, fail=0.5),
    ),
    ("duets, slow runs time out after", partial(_duet, draw=steady, limit=0.99, fail=0.0)),
)


def comparisons(chance: np.random.Generator, count: int) -> Iterator[str]:
    """How many comparisons of the same say what."""
    count = max(20, count // FEWER)
    for name, draw in CASES:
        told = [draw(chance)["verdict"].iloc[0] for _ in range(count)]
        shares = {verdict: 100 * told.count(verdict) / count for verdict in dict.fromkeys(told)}
        wrong = shares.get("better", 0.0), shares.get("worse", 0.0)
        judge(max(wrong), count)
        others = ", ".join(f"{share:.1f} % {of}" for of, share in shares.items() if of not in BAD)
        yield f"{name}: {wrong[0]:.1f} % better, {wrong[1]:.1f} % worse, {others}"


BAD = ("better", "worse")
above: list[float] = []
"""Shares of wrong verdicts that are more than chance makes of 5 %."""


def judge(percent: float, count: int) -> None:
    """Keep a share of wrong verdicts that is above 5 %, by more than three standard errors."""
    if percent > WRONG + 300 * (0.05 * 0.95 / count) ** 0.5:
        above.append(percent)


def main() -> int:
    """Simulate, and print a line for each case; 1 where too many verdicts are wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=COUNT, help="simulations of a case")
    count = parser.parse_args().count
    print(f"{count:,} simulations of each case")
    for seed, part in enumerate((intervals, duets, meshes, comparisons), 1):
        for line in part(np.random.default_rng(seed), count):
            print(line, flush=True)
    print(f"{len(above)} cases with more than {WRONG:g} % of wrong verdicts")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
