from __future__ import annotations

import numpy as np
import pytest

from netlimits.analysis.statistics.changes import change_points


def noisy(*levels: tuple[float, int], cv: float = 0.01) -> np.ndarray:
    means = np.concatenate([np.full(count, level) for level, count in levels])
    return means * (1 + cv * np.random.default_rng(3).standard_normal(len(means)))


def test_a_step_is_found_where_it_is():
    assert change_points(noisy((100, 20), (95, 20))) == [20]
    assert change_points(noisy((100, 12), (90, 12), (100, 12))) == [12, 24]


def test_a_small_step_beside_a_large_one_is_found():
    assert change_points(noisy((100, 15), (500, 15), (480, 15))) == [15, 30]


@pytest.mark.parametrize("series", [[], [1, 2, 3], [5] * 20, [1, 9, 1, 9, 1]])
def test_nothing_is_found_in_few_or_equal_values(series: list[float]):
    assert change_points(series) == []


def test_one_outlier_is_no_level():
    series = noisy((100, 30))
    series[11] = 70
    assert change_points(series) == []


def test_a_flat_series_below_zero_is_one_level():
    assert change_points(noisy((-5, 30))) == []


@pytest.mark.parametrize("seed", [17, 70, 84, 150])
def test_a_step_whose_smallest_squares_are_far_off_is_placed_near(seed: int):
    means = 1 + 0.02 * np.random.default_rng(seed).standard_normal(60)
    means[30:] *= 0.95
    (place,) = change_points(means)
    assert abs(place - 30) <= 1
