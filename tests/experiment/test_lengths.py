"""What runs took beside what was planned, against NumPy's mean and standard deviation."""

from __future__ import annotations

import random

import numpy as np
import pytest

from netlimits.experiment.mesh.lengths import Lengths


def test_of_what_nobody_has_seen_the_plan_is_expected():
    lengths = Lengths(100)
    assert (lengths.expected(7.0), lengths.spread) == (7.0, 0.0)


@pytest.mark.parametrize("planned", [(3.0,), (2.0, 5.0, 10.0), (0.0,)])
def test_what_all_runs_of_a_length_have_in_common_is_no_difference(planned):
    lengths = Lengths(100)
    for seconds in planned * 20:
        lengths.add(seconds, seconds + 1.0)
    assert lengths.spread == pytest.approx(0, abs=1e-9)
    assert [lengths.expected(seconds) for seconds in planned] == pytest.approx(
        [seconds + 1.0 for seconds in planned], abs=1e-6
    )


def test_what_is_left_is_their_coefficient_of_variation():
    chance, lengths = random.Random(1), Lengths(1000)
    took = {2.0: [], 10.0: []}
    for _ in range(400):
        for planned, times in took.items():
            times.append((planned + 1) * chance.lognormvariate(0, 0.1))
            lengths.add(planned, times[-1])
    spreads = [np.std(times) / np.mean(times) for times in took.values()]
    assert lengths.spread == pytest.approx(np.sqrt(np.mean(np.square(spreads))), rel=0.03)
    for planned, times in took.items():
        assert lengths.expected(planned) == pytest.approx(np.mean(times))


def test_what_nobody_has_seen_yet_is_as_the_nearest_length():
    lengths = Lengths(100)
    lengths.add(1.0, 2.0)
    lengths.add(100.0, 110.0)
    assert lengths.expected(80.0) == pytest.approx(88.0)
    assert lengths.expected(1.5) == pytest.approx(3.0)


def test_runs_of_ever_other_lengths_are_still_compared():
    chance, lengths = random.Random(2), Lengths(2000)
    for _ in range(2000):
        planned = chance.uniform(1, 10)
        lengths.add(planned, planned * chance.lognormvariate(0, 0.2))
    assert lengths.spread == pytest.approx(0.2, rel=0.1)


def test_one_run_that_hangs_is_no_spread_and_many_are():
    lengths = Lengths(100)
    for number in range(100):
        lengths.add(1.0, 30.0 if number == 50 else 1.0)
    assert lengths.spread < 0.06
    assert lengths.expected(1.0) < 1.01
    for number in range(100):
        lengths.add(1.0, 30.0 if number % 2 else 1.0)
    assert lengths.spread > 0.25


def test_nor_is_it_where_it_is_the_first():
    lengths = Lengths(100)
    for seconds in (30.0, *[1.0] * 200):
        lengths.add(1.0, seconds)
    assert lengths.expected(1.0) < 1.5
    for _ in range(400):
        lengths.add(1.0, 1.0)
    assert lengths.spread < 0.05


def test_what_was_long_ago_is_forgotten():
    chance, lengths = random.Random(3), Lengths(100)
    for spread in (0.3, 0.01):
        for _ in range(1500):
            lengths.add(1.0, chance.lognormvariate(0, spread))
        assert lengths.spread == pytest.approx(spread, rel=0.4)
