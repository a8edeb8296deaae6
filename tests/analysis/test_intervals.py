"""The intervals of one sample: against scipy, against brute force, and where there are none."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from netlimits.analysis.statistics import intervals, walsh


def test_a_mean_is_scipy_s() -> None:
    sample = np.array([9.0, 10.0, 10.5, 11.0])
    interval = intervals.mean(sample, 0.9)
    assert interval[:3] == pytest.approx(
        (10.125, *stats.t.interval(0.9, 3, sample.mean(), stats.sem(sample)))
    )
    assert interval.p == pytest.approx(stats.ttest_1samp(sample, 0).pvalue)
    assert np.isnan(intervals.mean(sample[:1]).low)


def averages_of(differences: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2)


@pytest.mark.parametrize(("n", "rank", "covered"), [(6, 1, 96.9), (7, 3, 95.3), (10, 9, 95.1)])
def test_wilcoxon_s_interval_is_of_walsh_averages(n: int, rank: int, covered: float) -> None:
    """The ranks of published tables (Hollander and Wolfe, table A.4)."""
    differences = np.random.default_rng(n).normal(size=n)
    averages = averages_of(differences)
    interval = intervals.hodges_lehmann(differences)
    assert interval.value == pytest.approx(np.median(averages))
    assert (interval.low, interval.high) == pytest.approx((averages[rank - 1], averages[-rank]))
    assert interval.p == pytest.approx(stats.wilcoxon(differences).pvalue)


def test_a_median_has_an_interval_from_six_runs_on() -> None:
    sample = np.arange(1.0, 21.0)
    interval = intervals.median(sample)
    assert interval.value == 10.5
    whole = [(sample[d - 1], sample[20 - d]) for d in (6, 7)]  # 95.9 and 88.5 %
    assert whole[0][0] < interval.low < whole[1][0]
    assert whole[1][1] < interval.high < whole[0][1]
    assert np.isnan(intervals.median(sample[:5]).low)
    assert not np.isnan(intervals.median(sample[:6]).low)


def test_a_jackknife_of_a_mean_is_student_s_t() -> None:
    sample = np.array([9.0, 10.0, 10.5, 11.0, 8.0])
    without = np.array([np.delete(sample, i).mean() for i in range(5)])
    interval = intervals.jackknife(sample.mean(), without)
    assert interval[:3] == pytest.approx(intervals.mean(sample)[:3])


def told(draw: Callable[[int], np.ndarray], n: int) -> float:
    return float(np.mean([intervals.of_several_kinds(draw(n)) for _ in range(1500)]))


@pytest.mark.long
@pytest.mark.parametrize("n", [6, 7, 8, 10, 14, 20, 40])
def test_runs_of_one_kind_seldom_look_like_several(n):
    draw = np.random.default_rng(n)
    for cv in (0.001, 0.05, 0.2):
        assert told(lambda n, cv=cv: 1 + cv * draw.standard_normal(n), n) < 0.065
    assert told(lambda n: np.exp(0.2 * draw.standard_normal(n)), n) < 0.075
    for cv in (0.03, 0.1):  # 0.12 as a tool prints it, with two digits
        assert (
            told(lambda n, cv=cv: np.round(0.12 * (1 + cv * draw.standard_normal(n)), 2), n) < 0.065
        )


@pytest.mark.parametrize(("n", "least"), [(6, 0.62), (7, 0.7), (8, 0.75), (10, 0.84), (14, 0.9)])
def test_a_fifth_of_the_runs_that_is_slower_is_seen(n, least):
    draw = np.random.default_rng(n)

    def slower(n: int) -> np.ndarray:
        return np.where(draw.random(n) < 0.2, 0.7, 1) * np.exp(0.03 * draw.standard_normal(n))

    assert told(slower, n) > least


def test_fewer_than_six_and_all_alike_are_of_one_kind():
    assert not intervals.of_several_kinds(np.array([1.0, 1.0, 1.0, 1.0, 9.0]))
    assert not intervals.of_several_kinds(np.full(9, 1 / 3))
    assert not intervals.of_several_kinds(np.array([0.12] * 8 + [0.13]))


@pytest.mark.parametrize("count", [6, 61, 400, 3000])
@pytest.mark.parametrize("digits", [1, 15])
def test_wilcoxons_sum_is_that_of_the_ranks(count: int, digits: int) -> None:
    differences = np.round(np.random.default_rng(count).normal(0.05, 1, count), digits)
    known = differences[differences != 0]
    ranks = stats.rankdata(np.abs(known))
    plus = float(ranks[known > 0].sum())
    total = len(known) * (len(known) + 1) / 2
    ordered = np.sort(known)
    assert total - walsh.count_up_to(ordered, 0.0) <= plus
    assert plus <= total - walsh.count_up_to(ordered, 0.0, side="left")
    exact = "exact" if len(known) <= intervals._EXACT and digits > 1 else "asymptotic"
    right = stats.wilcoxon(known, correction=True, method=exact).pvalue
    assert intervals._signed_rank_p(np.sort(differences)) == pytest.approx(right, rel=0.2)
    above = total - walsh.count_up_to(ordered, 0.0)
    assert (above + total - walsh.count_up_to(ordered, 0.0, side="left")) / 2 == plus


@pytest.mark.parametrize("count", [6, 7, 59, 1000])
def test_a_medians_ranks_are_those_of_all_of_the_binomial(count: int) -> None:
    sample = np.random.default_rng(count).normal(size=count)
    below = stats.binom.cdf(np.arange(count), count, 0.5)
    rank = max(1, int(np.searchsorted(below, 0.025)))
    ordered = np.sort(sample)
    interval = intervals.median(sample)
    assert ordered[rank - 1] <= interval.low <= ordered[rank]
    assert ordered[-rank - 1] <= interval.high <= ordered[-rank]
