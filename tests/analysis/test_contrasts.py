"""Two configurations compared: within blocks, without them, and where no ratio can be had."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from netlimits.analysis import frames
from netlimits.analysis.statistics import contrasts
from netlimits.analysis.summary import summary


def campaign(blocks: int, drift: bool = False, seed: int = 1) -> pd.DataFrame:
    """Two sizes, each once a block; the second 4 times the first, CV 2 %."""
    draw = np.random.default_rng(seed)
    speed = np.where(np.arange(blocks) >= 0.75 * blocks, 1.5, 1.0) if drift else np.ones(blocks)
    rows = [
        {"block": block, "send_size": size, "throughput_mbps": rate * speed[block] * noise}
        for block in range(blocks)
        for size, rate, noise in zip(
            (1, 8), (100.0, 400.0), np.exp(0.02 * draw.standard_normal(2)), strict=True
        )
    ]
    return pd.DataFrame(rows)


def improvement(frame: pd.DataFrame) -> pd.Series:
    table = summary(frame, "throughput", "send_size", improvement="8 over 1")
    return table[table["statistic"] == "improvement"].iloc[0]


def test_fewer_than_six_blocks_are_the_two_way_model() -> None:
    frame = campaign(4).assign(log=lambda f: np.log(f["throughput_mbps"]))
    fitted = smf.ols("log ~ C(send_size) + C(block)", frame).fit()
    name = "C(send_size)[T.8]"
    row = improvement(frame)
    assert np.log(row["value"]) == pytest.approx(fitted.params[name])
    assert np.log([row["low"], row["high"]]) == pytest.approx(fitted.conf_int().loc[name].to_list())


def test_a_drift_that_meets_both_alike_widens_nothing() -> None:
    steady, drifting = improvement(campaign(20)), improvement(campaign(20, drift=True))
    assert drifting["value"] == pytest.approx(steady["value"])
    assert drifting["high"] - drifting["low"] == pytest.approx(steady["high"] - steady["low"])
    loose = improvement(campaign(20, drift=True).drop(columns="block"))
    assert loose["high"] - loose["low"] > 5 * (drifting["high"] - drifting["low"])


def test_an_outlier_does_not_move_six_blocks() -> None:
    frame = campaign(12)
    frame.loc[3, "throughput_mbps"] /= 2
    row = improvement(frame)
    assert row["low"] < 4 < row["high"]
    assert row["high"] / row["low"] < 1.06


def test_runs_without_blocks_are_welch_s() -> None:
    draw = np.random.default_rng(3)
    top, bottom = draw.lognormal(0.4, 0.1, 8), draw.lognormal(0, 0.3, 14)
    contrast = contrasts.ratio(top, bottom)
    test = stats.ttest_ind(np.log(top), np.log(bottom), equal_var=False)
    interval = test.confidence_interval()
    assert contrast.method == contrasts.WELCH
    assert (contrast.low, contrast.high) == pytest.approx(
        (np.exp(interval.low), np.exp(interval.high))
    )
    assert contrast.p == pytest.approx(test.pvalue)


def test_coin_flips_shuffles_and_files_stand_in_no_blocks() -> None:
    frame = campaign(6)
    assert frames.blocks(frame) is not None
    assert frames.blocks(frame.assign(block=1)) is None
    assert frames.blocks(frame.drop(columns="block")) is None
    two = pd.concat([frame.assign(campaign="a"), frame.assign(campaign="b")])
    assert frames.blocks(two).nunique() == 12, "block 1 of two campaigns is two blocks"
    numbered = frame.assign(run=range(1, len(frame) + 1))
    assert frames.blocks(numbered) is not None
    nameless = pd.concat([numbered, numbered])
    assert frames.blocks(nameless) is None, "nothing tells whose block 1 a run is of"


@given(st.lists(st.integers(1, 9), max_size=12), st.lists(st.integers(1, 9), max_size=12))
def test_pairs_are_of_the_blocks_that_hold_both(first: list[int], second: list[int]) -> None:
    sides = [np.array(blocks, float) for blocks in (first, second)]
    values = [10 * sides[0] + np.arange(len(first)), sides[1] + np.arange(len(second))]
    means = [
        {block: v[blocks == block].mean() for block in np.unique(blocks)}
        for v, blocks in zip(values, sides, strict=True)
    ]
    pairs = contrasts.within_blocks((values[0], values[1]), (sides[0], sides[1]))
    both = sorted(means[0].keys() & means[1].keys())
    assert pairs.tolist() == pytest.approx([means[0][b] - means[1][b] for b in both])


def test_a_block_that_lacks_one_side_is_left_out() -> None:
    frame = campaign(8).drop(index=[0, 3])
    row = improvement(frame)
    whole = improvement(frame[~frame["block"].isin([0, 1])])
    assert (row["value"], row["low"]) == (
        pytest.approx(whole["value"]),
        pytest.approx(whole["low"]),
    )


def test_figures_of_zero_have_a_ratio_and_no_interval() -> None:
    frame = campaign(8)
    frame.loc[0, "throughput_mbps"] = 0.0
    row = improvement(frame)
    assert row["value"] > 4
    assert np.isnan(row["low"])


def test_many_comparisons_say_how_many_are_more_than_chance() -> None:
    parts = [campaign(8, seed=s).assign(tool=str(s)) for s in range(5)]
    frame = pd.concat(parts)
    same = frame[frame["send_size"] == 1].assign(send_size=8, tool="none")
    frame = pd.concat([frame, same[same.index < 4], same.assign(send_size=1)[same.index < 4]])
    table = summary(frame, "throughput", "send_size", "tool", "8 over 1")
    assert any("5 of 6 improvements are more than chance" in n for n in table.attrs["notes"])


@pytest.mark.parametrize("seed", range(20))
def test_discoveries_are_those_of_benjamini_and_hochberg(seed: int) -> None:
    draw = np.random.default_rng(seed)
    chances = list(np.round(draw.uniform(size=draw.integers(1, 40)) ** 3, 3))
    adjusted = stats.false_discovery_control(chances)
    right = [p for p, q in zip(chances, adjusted, strict=True) if q <= 0.05]
    most = contrasts.significance_threshold(chances, 0.05)
    assert [chance for chance in chances if chance <= most] == [c for c in chances if c in right]
    assert contrasts.significance_threshold([], 0.05) == -1.0
