"""Test whether runs depend on one another: neighbours are alike, or slow blocks have failures.

A run's score is its distance from its configuration's mean in standard deviations (at most CLIP); a
block's score is the mean of its runs' scores. The first test compares the sum of products of
neighbouring blocks' scores with its distribution over all orders of the blocks (Wald and Wolfowitz
1943). The second test does the same with the products of blocks' scores and numbers of failed runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from netlimits.analysis import frames, wording
from netlimits.analysis.sources import streams
from netlimits.analysis.statistics.cells import Grid, Streamed
from netlimits.metrics import Metric

ENOUGH = 10
"""Minimum number of blocks with which the tests have power."""
MOST = 20_000
"""Maximum number of blocks used: enough for the weakest dependence that matters."""
LEVEL = 0.05
CLIP = 2.5


class Blocks(NamedTuple):
    """The mean score of each block's ok runs (NaN for none), and its number of failed runs.

    `single` is True if each block has one run.
    """

    score: np.ndarray
    failed: np.ndarray
    single: bool


class RunOrder(NamedTuple):
    """The block of each run (from 0, -1 beyond MOST), and the number of blocks.

    `single` is True if each block has one run. `failed` is the number of failed runs of each block.
    """

    codes: np.ndarray
    blocks: int
    single: bool
    failed: np.ndarray


def order(runs: pd.DataFrame) -> RunOrder:
    """Return the blocks of runs that have an outcome; `runs` has a row for each."""
    names = [name for name in ("campaign", "run", "block") if name in runs.columns]
    blocks = frames.blocks(runs[names])
    if blocks is None and names == ["run"]:
        blocks = runs["run"]
    values = np.arange(len(runs)) if blocks is None else blocks.to_numpy()
    early = values < (values.min() if len(values) else 0) + MOST
    codes = np.full(len(runs), -1)
    codes[early], kept = pd.factorize(values[early], sort=True)
    count = len(kept)
    ok = runs["status"] == "ok" if "status" in runs.columns else np.ones(len(runs), bool)
    failed = np.bincount(codes[early & ~np.asarray(ok, bool)], minlength=count)
    return RunOrder(codes, count, count == int(early.sum()), failed.astype(float))


def by_block(order: RunOrder, cells: Iterable[tuple[np.ndarray, np.ndarray]]) -> Blocks:
    """Return the scores of the blocks.

    `cells` has two arrays for each cell: the block codes of its ok runs, and their values.
    """
    sums, runs = np.zeros(order.blocks), np.zeros(order.blocks)
    for codes, values in cells:
        known = ~np.isnan(values) & (codes >= 0)
        codes, values = codes[known], values[known]
        if len(values) < 2 or not (deviation := float(np.std(values, ddof=1))) > 0:
            continue
        scores = np.clip((values - values.mean()) / deviation, -CLIP, CLIP)
        sums += np.bincount(codes, scores, order.blocks)
        runs += np.bincount(codes, minlength=order.blocks)
    return _blocks(sums, runs, order.failed, order.single)


def by_place(series: Sequence[np.ndarray]) -> Blocks:
    """Return the blocks' scores if blocks are unknown: the k-th runs of all series are block k."""
    most = max(map(len, series))
    codes = np.arange(most)
    order = RunOrder(codes, most, len(series) == 1, np.zeros(most))
    return by_block(order, ((codes[: len(values)], values) for values in series))


def _blocks(sums: np.ndarray, runs: np.ndarray, failed: np.ndarray, single: bool) -> Blocks:
    score = np.divide(sums, runs, out=np.full(len(sums), np.nan), where=runs > 0)
    return Blocks(score, failed, single)


def of_grid(grid: Grid | Streamed, metric: Metric, known: RunOrder | None) -> Blocks | None:
    """Return the blocks with their scores for a metric; None for a relation without blocks."""
    if isinstance(grid, Streamed):
        if not grid.relation.in_blocks:
            return None
        sums = streams.by_block(grid.relation, grid.keys, metric.column, CLIP, MOST)
        return _blocks(*sums, single=bool((sums[1] + sums[2]).max(initial=0) < 2))
    assert known
    values = grid.tried[metric.column].to_numpy(dtype=float, na_value=np.nan)
    places = (places for _, places in grid.ok.values())
    return by_block(known, ((known.codes[rows], values[rows]) for rows in places))


def autocorrelation(blocks: Blocks) -> tuple[float, float]:
    """Return the correlation of consecutive blocks, and its one-sided p-value."""
    score = blocks.score[~np.isnan(blocks.score)]
    n = len(score)
    score = score - score.mean() if n else score
    squares, fourths = float((score**2).sum()), float((score**4).sum())
    if n < ENOUGH or not squares > 0:
        return float("nan"), float("nan")
    product = float((score[1:] * score[:-1]).sum())
    # mean of the product, and of its square, over all orders
    mean = -squares / n
    square = (squares**2 - fourths) / n
    square += 2 * (2 * fourths - squares**2) / (n * (n - 1))
    square += (3 * squares**2 - 6 * fourths) / (n * (n - 1))
    p = float(ndtr(-(product - mean) / (square - mean**2) ** 0.5))
    return product / squares + 1 / n, p


def slow_failures(blocks: Blocks, better: str) -> float:
    """Return the one-sided p-value of the test that blocks with more failed runs are worse.

    If each block has one run, a block's score is compared with the failed runs of both neighbours,
    because a block whose only run failed has no score.
    """
    lost = blocks.failed
    if blocks.single:
        padded = np.pad(lost, 1)
        lost = padded[2:] + padded[:-2]
    known = ~np.isnan(blocks.score)
    score, lost = blocks.score[known], lost[known]
    if len(score) < ENOUGH or not lost.any():
        return float("nan")
    score, lost = score - score.mean(), lost - lost.mean()
    variance = float((score**2).sum() * (lost**2).sum()) / (len(score) - 1)
    if not variance > 0:
        return float("nan")
    worse = -1 if better == "lower" else 1
    return float(ndtr(worse * float((score * lost).sum()) / variance**0.5))


def notes(blocks: Blocks, metric: Metric, of: str = "a mean's interval") -> Iterator[str]:
    """Yield notes on intervals that assume independent runs."""
    correlation, p = autocorrelation(blocks)
    if p <= LEVEL:
        yield (
            f"{metric.title}: {of} is too narrow, because consecutive runs are alike (lag-1 "
            f"correlation {correlation:.2f}, {wording.p_value(p)}); ratios within blocks are not "
            "affected"
        )
    if (p := slow_failures(blocks, metric.better)) <= LEVEL:
        yield (
            f"{metric.title}: means are too good, because slow runs fail: in blocks with failed "
            f"runs the other runs are worse ({wording.p_value(p)}); ratios within blocks are not "
            "affected"
        )
