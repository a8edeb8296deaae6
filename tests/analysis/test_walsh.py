"""Averages of each two of many values by their rank: against all of them, made and sorted."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.analysis.statistics import walsh

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
COARSE = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=60)

DRAWN = {
    "normal": lambda draw, n: draw.normal(0.5, 0.04, n),
    "skew": lambda draw, n: draw.lognormal(0, 1, n),
    "wild": lambda draw, n: draw.standard_cauchy(n),
    "two kinds": lambda draw, n: np.where(draw.random(n) < 0.2, 0.7, 1) + draw.normal(0, 0.02, n),
    "coarse": lambda draw, n: np.round(draw.normal(5, 0.4, n), 2),
    "coarse, about zero": lambda draw, n: np.round(draw.normal(0, 0.4, n), 2),
    "two values": lambda draw, n: draw.integers(0, 2, n).astype(float),
    "all alike": lambda draw, n: np.full(n, 1 / 3),
    "one apart": lambda draw, n: np.append(np.zeros(n - 1), 1e9),
}


def averages(ordered: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(len(ordered))
    return np.sort((ordered[first] + ordered[second]) / 2)


@contextmanager
def small_steps() -> Iterator[None]:
    """As of hundreds of thousands of values: none are paired all, and few tell where to look."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("ALL", 0), ("STRIDE", 3)):
            patch.setattr(walsh, name, value)
        yield


@given(VALUES | COARSE)
def test_what_is_found_by_counting_is_what_sorting_finds(values: list[float]) -> None:
    ordered = np.sort(values)
    every = averages(ordered)
    alike = max(1e-300, 2e-11 * np.abs(ordered).max())
    places = [0, len(every) // 3, len(every) // 2, len(every) - 1]
    with small_steps():
        ranked = walsh.ranked(ordered, places)
    for place, average in zip(places, ranked, strict=True):
        assert np.abs(every - average).min() <= 1e-15 * abs(average), "it is one of them"
        assert average == pytest.approx(every[place], abs=alike)


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("count", [1, 2, 7, 800])
def test_ranks_of_many_values(kind: str, count: int) -> None:
    ordered = np.sort(DRAWN[kind](np.random.default_rng(count), count))
    every = averages(ordered)
    places = np.linspace(0, len(every) - 1, 7).astype(int).tolist()
    with small_steps():
        assert walsh.ranked(ordered, places) == pytest.approx(every[places], rel=1e-14)


def test_so_many_that_none_are_made() -> None:
    ordered = np.sort(np.random.default_rng(3).normal(0.5, 0.04, 40_000))
    pairs = len(ordered) * (len(ordered) + 1) // 2
    for place in (0, pairs // 2, pairs - 1):
        (average,) = walsh.ranked(ordered, [place])
        assert walsh.count_up_to(ordered, np.nextafter(average, -1)) <= place
        assert place < walsh.count_up_to(ordered, np.nextafter(average, 2))


def test_a_place_that_is_named_twice_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[int] = []
    monkeypatch.setattr(walsh, "_average", lambda _, place: sought.append(place) or float(place))
    many = np.zeros(walsh.ALL + 1)
    assert walsh.ranked(many, [7, 7, 2, 9]).tolist() == [7.0, 7.0, 2.0, 9.0]
    assert sorted(sought) == [2, 7, 9]


@given(VALUES | COARSE, st.floats(-10, 10))
def test_pairs_are_counted_as_they_are(values: list[float], t: float) -> None:
    ordered = np.sort(values)
    first, second = np.triu_indices(len(ordered))
    for side, least in (("right", np.less_equal), ("left", np.less)):
        within = least(ordered[second], 2 * t - ordered[first]) & least(ordered[first], t)
        assert walsh.count_up_to(ordered, t, side) == within.sum()


def test_of_few_values_all_averages_are_made() -> None:
    assert walsh.ranked(np.array([1.0, 2.0, 4.0]), [0, 5]).tolist() == [1.0, 4.0]
    assert walsh.ranked(np.array([1.0, 2.0, 4.0]), [2, 1, 2]).tolist() == [2.0, 1.5, 2.0]
