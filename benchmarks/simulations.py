"""What blocks, duets and meshes tell, on data of known truth: the figures of the manual.

    python benchmarks/simulations.py
    python benchmarks/simulations.py 60       # of so many, not 1,000

- Widths: a ratio of two configurations, 20 blocks, a CV of 2 %: how wide its interval is with and
  without blocks, where a machine is 50 % faster in its last quarter and where it is not (medians).
- Duets: ten blocks, a CV of 2 %, the same on both sides and a loss of 5 %, with and without a
  machine that grows 40 % slower meanwhile: the shares that are told.
- Meshes of 8 and 16 hosts whose runs differ by 3 %: the shares with a link and with a host named,
  where all are alike, and where a fifth of the runs is 30 % slower. Of these a quarter as many.

Seeds are fixed, so that all of it comes out the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd

from netlimits.analysis import contrasts, mesh
from netlimits.analysis.comparison import duet
from netlimits.experiment.mesh import mesh as shape

COUNT = 1000
FEWER = 4
"""So many times fewer meshes, which take longer."""
BLOCKS, DUET_BLOCKS = 20, 10
CV, MESH_CV = 0.02, 0.03


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


def alike(chance: np.random.Generator, hosts: int, blocks: int, slow: float) -> pd.DataFrame:
    """The runs of a mesh without a slow host or link; a share of runs is 30 % slower."""
    pairs = shape({"hosts": hosts}).pairs
    frame = pd.DataFrame(
        [(*pair, block) for block in range(1, blocks + 1) for pair in pairs],
        columns=["sender", "receiver", "block"],
    )
    noise = np.exp(MESH_CV * chance.standard_normal(len(frame)))
    odd = np.where(chance.random(len(frame)) < slow, 0.7, 1.0)
    return frame.assign(throughput_mbps=900 * noise * odd)


def meshes(chance: np.random.Generator, count: int) -> Iterator[str]:
    """How many meshes without an outlier have one named."""
    count = max(20, count // FEWER)
    for slow, lengths in ((0.0, (3,)), (0.2, (3, 6, 12))):
        for hosts in (8, 16):
            for blocks in lengths:
                links = ends = 0
                for _ in range(count):
                    named = mesh.outliers(alike(chance, hosts, blocks, slow), "throughput")
                    links += any("→" in name for name in named)
                    ends += any("→" not in name for name in named)
                yield (
                    f"mesh of {hosts} hosts, {blocks} blocks, {100 * slow:g} % of runs slow: "
                    f"a link named in {100 * links / count:.1f} %, "
                    f"a host in {100 * ends / count:.1f} %"
                )


def main() -> None:
    """Simulate, and print a line for each case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=COUNT, help="simulations of a case")
    count = parser.parse_args().count
    print(f"{count:,} simulations of each case")
    for seed, part in enumerate((intervals, duets, meshes), 1):
        for line in part(np.random.default_rng(seed), count):
            print(line, flush=True)


if __name__ == "__main__":
    main()
