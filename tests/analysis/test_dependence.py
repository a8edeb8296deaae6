"""Runs that depend on one another, against orders that were put into them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from netlimits.analysis.comparison import compare
from netlimits.analysis.cost import cost
from netlimits.analysis.statistics import dependence
from netlimits.analysis.statistics.dependence import LEVEL, Blocks
from netlimits.analysis.summary import summary

ALIKE, SLOW = "because consecutive runs are alike", "slow runs fail"


def following(chance: np.random.Generator, n: int, correlation: float) -> np.ndarray:
    """Return a series in which each value is so much like the one before."""
    values = chance.normal(size=n)
    for place in range(1, n):
        values[place] *= (1 - correlation**2) ** 0.5
        values[place] += correlation * values[place - 1]
    return values


def alarms(draw, n: int, count: int = 400) -> float:
    told = [dependence.autocorrelation(Blocks(draw(n), np.zeros(n), True))[1] for _ in range(count)]
    return float(np.mean(np.array(told) <= LEVEL))


def test_runs_that_are_alike_are_told_and_independent_ones_hardly_ever():
    chance = np.random.default_rng(41)
    assert alarms(lambda n: following(chance, n, 0.6), 10) > 0.3
    assert alarms(lambda n: following(chance, n, 0.6), 20) > 0.65
    assert alarms(lambda n: following(chance, n, 0.6), 40) > 0.9
    for draw in (chance.normal, chance.standard_cauchy, chance.exponential, chance.random):
        assert alarms(lambda n, draw=draw: draw(size=n), 10) < 0.11
        assert alarms(lambda n, draw=draw: draw(size=n), 30) < 0.09


def test_the_p_value_is_that_of_all_orders():
    chance = np.random.default_rng(42)
    score = np.exp(chance.normal(size=12))
    correlation, p = dependence.autocorrelation(Blocks(score, np.zeros(12), True))
    centred = score - score.mean()
    shuffled = np.array([chance.permutation(centred) for _ in range(20_000)])
    products = (shuffled[:, 1:] * shuffled[:, :-1]).sum(axis=1)
    product = (centred[1:] * centred[:-1]).sum()
    z = (product - products.mean()) / products.std()
    assert ndtr(-z) == pytest.approx(p, abs=0.01)
    assert correlation == pytest.approx(product / (centred**2).sum() + 1 / 12)
    assert np.isnan(dependence.autocorrelation(Blocks(score[:9], np.zeros(9), True))[1])


def campaign(blocks: int, values: np.ndarray, lost: np.ndarray | None = None) -> pd.DataFrame:
    """Return a campaign of a block a row and a size a column; `lost` runs failed."""
    sizes = values.shape[1]
    frame = pd.DataFrame(
        {
            "block": np.repeat(np.arange(1, blocks + 1), sizes),
            "send_size": np.tile(2 ** np.arange(6, 6 + sizes), blocks),
            "status": "ok",
            "throughput_mbps": values.ravel(),
        }
    )
    frame["config"] = frame["send_size"].astype(str)
    if lost is not None:
        frame.loc[lost.ravel(), "status"] = "timeout"
        frame.loc[lost.ravel(), "throughput_mbps"] = np.nan
    return frame


def notes_of(frame: pd.DataFrame, about: str) -> list[str]:
    notes = summary(frame, "throughput", "send_size").attrs["notes"]
    return [note for note in notes if about in note]


def test_a_table_says_that_its_means_are_of_runs_that_are_alike():
    chance = np.random.default_rng(43)
    drawn = 900 + 20 * following(chance, 30, 0.8)[:, None] + 5 * chance.normal(size=(30, 3))
    (note,) = notes_of(campaign(30, drawn), ALIKE)
    assert note.startswith("Throughput: a mean's interval is too narrow")
    assert not notes_of(campaign(30, chance.permutation(drawn)), ALIKE)
    lone = campaign(30, drawn[:, 2:]).drop(columns="block")
    assert notes_of(lone, ALIKE), "runs without blocks stand in their own order"


@pytest.mark.parametrize("sizes", [1, 3])
def test_a_table_says_that_slow_runs_fail(sizes: int):
    """Of one configuration only its neighbours tell, where slow times last."""
    chance = np.random.default_rng(44)
    slow = np.repeat(chance.random(12) < 0.4, 4 if sizes == 1 else 1)
    n = len(slow)
    values = 900 * np.where(slow, 0.7, 1.0)[:, None] * np.exp(0.02 * chance.normal(size=(n, sizes)))
    lost = slow[:, None] & (chance.random((n, sizes)) < 0.5)
    (note,) = notes_of(campaign(n, values, lost), SLOW)
    assert note.startswith("Throughput: means are too good, because slow runs fail")
    anyhow = chance.random((n, sizes)) < 0.2
    assert not notes_of(campaign(n, values, anyhow), SLOW)


def test_a_comparison_and_a_cost_say_it_too():
    chance = np.random.default_rng(45)
    drawn = 900 + 30 * following(chance, 40, 0.8)[:, None] + 5 * chance.normal(size=(40, 3))
    alike, mixed = campaign(40, drawn), campaign(40, chance.permutation(drawn))
    notes = [n for n in compare(mixed, alike, "throughput").attrs["notes"] if ALIKE in n]
    assert [note.split(" the interval of a ratio")[0] for note in notes] == ["Throughput: after:"]

    def costs(frame: pd.DataFrame) -> bool:
        frame = frame.assign(local_sd_us_per_kib=1e4 / frame["throughput_mbps"])
        notes = cost(frame, "local_sd").attrs["notes"]
        return any("consecutive blocks are alike" in note for note in notes)

    assert costs(alike)
    assert not costs(mixed)
